// native/opapi/ops/reduction/sorting.cpp
// Sorting, the largest k, binary search, unique values.
#include "opapi/ops/reduction/total.h"

namespace {

constexpr int64_t kNoDim = 1000;  // UniqueConsecutive: over the flattened tensor

at::Tensor none() { return at::empty({0}, at::kLong); }

// No shape is documented for the inverse along a dim: in CANN's example it has as many elements as self, of which the
// first are written.
void write_inverse(at::Tensor& out, const at::Tensor& inverse) {
  if (inverse.dim() == 1 && out.dim() > 1 && out.numel() >= inverse.numel() && out.is_contiguous()) {
    out.view(-1).narrow(0, 0, inverse.numel()).copy_(inverse);
  } else {
    assign(out, inverse);
  }
}

// The inverse is written only on demand; callers allocate it for the counts alone, too.
void unique(const std::tuple<at::Tensor, at::Tensor, at::Tensor>& result, bool return_inverse, bool return_counts,
            at::Tensor& values, at::Tensor& inverse, at::Tensor& counts) {
  values = std::get<0>(result);
  if (return_inverse) write_inverse(inverse, std::get<1>(result));
  counts = return_counts ? std::get<2>(result) : none();
}

}  // namespace

ACLNN(Sort, (In, self)(Bool, stable)(Int, dim)(Bool, descending)(Out, valuesOut)(OutIndex, indicesOut),
      at::sort_out(valuesOut, indicesOut, self, stable, dim, descending))
ACLNN(Topk, (In, self)(Int, k)(Int, dim)(Bool, largest)(Bool, sorted)(Out, valuesOut)(OutIndex, indicesOut),
      at::topk_out(valuesOut, indicesOut, self, k, dim, largest, sorted))

ACLNN(Argsort, (In, self)(Int, dim)(Bool, descending)(OutIndex, out),
      assign(out, at::argsort(self, /*stable=*/true, dim, descending)))

// sortPolicy is a hint about speed.
ACLNN(TopkV2,
      (In, self)(Int, k)(Int, dim)(Bool, largest)(Bool, sorted)(Int, sortPolicy)(Out, valuesOut)(OutIndex, indicesOut),
      at::topk_out(valuesOut, indicesOut, self, k, dim, largest, sorted))

// The output's dtype decides about int32.
ACLNN(SearchSorteds, (In, sortedSequence)(Scalar, self)(Bool, outInt32)(Bool, right)(OptIndex, sorter)(Out, out),
      write_total(out, [&](at::Tensor& to) {
        at::searchsorted_out(to, sortedSequence, self, to.scalar_type() == at::kInt, right, std::nullopt, sorter);
      }))
ACLNN(SearchSorted, (In, sortedSequence)(In, self)(Bool, outInt32)(Bool, right)(OptIndex, sorter)(Out, out),
      at::searchsorted_out(out, sortedSequence, self, out.scalar_type() == at::kInt, right, std::nullopt, sorter))
ACLNN(Bucketize, (In, self)(In, boundaries)(Bool, outInt32)(Bool, right)(Out, out),
      at::bucketize_out(out, self, boundaries, out.scalar_type() == at::kInt, right))

ACLNN(Unique, (In, self)(Bool, sorted)(Bool, returnInverse)(DynamicOut, valueOut)(Out, inverseOut),
      unique(at::_unique2(self, sorted, returnInverse, false), returnInverse, false, valueOut, inverseOut, NoTensor{}))
#define UNIQUE_OUTPUTS (DynamicOut, valueOut)(Out, inverseOut)(DynamicOut, countsOut)
ACLNN(Unique2, (In, self)(Bool, sorted)(Bool, returnInverse)(Bool, returnCounts)UNIQUE_OUTPUTS,
      unique(at::_unique2(self, sorted, returnInverse, returnCounts), returnInverse, returnCounts, valueOut, inverseOut,
             countsOut))
ACLNN(UniqueConsecutive, (In, self)(Bool, returnInverse)(Bool, returnCounts)(Int, dim)UNIQUE_OUTPUTS,
      unique(at::unique_consecutive(self, returnInverse, returnCounts,
                                    dim == kNoDim ? std::nullopt : std::optional<int64_t>(dim)),
             returnInverse, returnCounts, valueOut, inverseOut, countsOut))
// Callers have no flag for the counts and expect them.
ACLNN(UniqueDim, (In, self)(Bool, sorted)(Bool, returnInverse)(Int, dim)UNIQUE_OUTPUTS,
      unique(at::unique_dim(self, dim, sorted, /*return_inverse=*/true, /*return_counts=*/true), true, true, valueOut,
             inverseOut, countsOut))

#undef UNIQUE_OUTPUTS
