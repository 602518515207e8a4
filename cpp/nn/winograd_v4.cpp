// Kernels for x86-64-v4 (AVX-512). `find_kernels` checks the CPU before anything here runs.
#include "nn/winograd_kernels.h"

namespace selfmate {

extern const Kernels AVX512_KERNELS;
const Kernels AVX512_KERNELS = {
    .name = "avx512", .convolve = VectorKernels<16, 8, 2>::convolve, .multiply = VectorKernels<16, 8, 2>::multiply};

}  // namespace selfmate
