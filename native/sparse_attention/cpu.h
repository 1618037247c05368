// native/sparse_attention/cpu.h
// The instruction sets that kernels are written for, and which of them this process uses.
#pragma once

namespace opwright::sparse {

enum class Isa { kBase, kAvx2, kAvx512, kAvx512Bf16, kAmxBf16 };

// The best that the CPU has and that ATEN_CPU_CAPABILITY (default, avx2, avx512), PyTorch's own switch, allows.
// OPWRIGHT_CPU_ISA (base, avx2, avx512, avx512_bf16, amx_bf16) lowers it further; both are read once.
Isa isa();

}  // namespace opwright::sparse
