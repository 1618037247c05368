// native/sparse_attention/attention/kernel_amx.cpp
#include <ATen/Context.h>
#include <ATen/native/CPUBlas.h>

#include "sparse_attention/attention/kernels.h"

namespace opwright::sparse {

void tile_product(int64_t rows, int64_t columns, int64_t depth, int64_t a_stride, int64_t c_stride, bool adds,
                  const void* a, const void* b, float* c) {
  at::native::cpublas::brgemm(rows, columns, depth, a_stride, columns, c_stride, adds,
                              static_cast<const at::BFloat16*>(a), static_cast<const at::BFloat16*>(b), c);
}

void end_tile_products() { at::native::cpublas::brgemm_release(); }

const AttentionKernel* attention_amx(Element element) {
  // Without oneDNN, which a program may switch off, ATen has no such product.
  const bool available = at::hasMKLDNN() && at::globalContext().userEnabledMkldnn();
  return element == Element::kBfloat16 && available ? attention_tiles() : nullptr;
}

}  // namespace opwright::sparse
