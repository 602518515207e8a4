// Which builds of the core this CPU can run, and which is fastest: for the module `_cpu`, and for CMake, which asks
// before it compiles (cpp/tools/best_core.c).
#pragma once

#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>

// __builtin_cpu_supports also checks that the operating system saves the AVX registers.
static bool runs_v2(void) {
    return __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("sse4.2") &&
           __builtin_cpu_supports("popcnt");
}

static bool runs_v3(void) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    const unsigned f16c = 1u << 29, movbe = 1u << 22, lzcnt = 1u << 5;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & f16c) || !(c & movbe)) return false;
    if (!__get_cpuid(0x80000001u, &a, &b, &c, &d) || !(c & lzcnt)) return false;
    return runs_v2() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

// AMD before Zen 3 (family 0x19) and Hygon execute pext in microcode, ten times slower than a magic multiplication.
static bool has_slow_pext(void) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(0, &a, &b, &c, &d)) return true;
    char vendor[13] = {0};
    memcpy(vendor, &b, 4);
    memcpy(vendor + 4, &d, 4);
    memcpy(vendor + 8, &c, 4);
    if (strcmp(vendor, "AuthenticAMD") != 0 && strcmp(vendor, "HygonGenuine") != 0) return false;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return true;
    unsigned family = (a >> 8) & 0xf;
    if (family == 0xf) family += (a >> 20) & 0xff;
    return family < 0x19;
}
#else
static bool runs_v2(void) { return true; }
static bool runs_v3(void) { return false; }
static bool has_slow_pext(void) { return true; }
#endif

static const char* best_core(void) { return runs_v3() && !has_slow_pext() ? "v3" : "v2"; }
