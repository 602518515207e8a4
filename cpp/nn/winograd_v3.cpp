// Kernels for x86-64-v3 (AVX2).
#include "nn/winograd_kernels.h"

namespace selfmate {

extern const Kernels AVX2_KERNELS;
const Kernels AVX2_KERNELS = {
    .name = "avx2", .convolve = VectorKernels<8, 4, 2>::convolve, .multiply = VectorKernels<8, 4, 2>::multiply};

}  // namespace selfmate
