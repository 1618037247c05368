// native/sparse_attention/cpu.h
// The instruction sets that kernels are written for, and which of them this process uses.
#pragma once

namespace opwright::sparse {

enum class Isa { kBase, kAvx2, kAvx512, kAvx512Bf16, kAmxBf16 };

// The best that the CPU has and that ATEN_CPU_CAPABILITY (default, avx2, avx512), PyTorch's own switch, allows.
// OPWRIGHT_CPU_ISA (base, avx2, avx512, avx512_bf16, amx_bf16) lowers it further; both are read once.
Isa isa();

// Where an instruction set has kernels: for some of what they are asked for, else null.
template <class Kernel, class Wanted>
struct Choice {
  Isa isa;
  const Kernel* (*kernel)(Wanted);
};

// The first kernel, of choices with the best instruction set first, that this process can use; `base` if there is none.
template <class Kernel, class Wanted, int kCount>
const Kernel& first_of(const Choice<Kernel, Wanted> (&choices)[kCount], const Kernel* (*base)(Wanted), Wanted wanted) {
  for (const Choice<Kernel, Wanted>& choice : choices) {
    if (isa() < choice.isa) continue;
    if (const Kernel* const kernel = choice.kernel(wanted)) return *kernel;
  }
  return *base(wanted);
}

}  // namespace opwright::sparse
