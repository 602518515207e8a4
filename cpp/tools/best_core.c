// Prints the build of the core that is fastest on this machine, as `selfmate._cpu.best()` returns it.
#include <stdio.h>

#include "util/cpu_level.h"

int main(void) { return puts(best_core()) < 0; }
