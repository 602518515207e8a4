// For x86-64-v4 (AVX-512): nothing here may run before somebody has looked whether the processor has it.
#include "nn/winograd_kernels.h"

namespace selfmate {

extern const Kernels AVX512_KERNELS;
const Kernels AVX512_KERNELS = {"avx512", Machine<16, 8, 2>::convolve, Machine<16, 8, 2>::multiply};

}  // namespace selfmate
