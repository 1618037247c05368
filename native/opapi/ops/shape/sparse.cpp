// native/opapi/ops/shape/sparse.cpp
// Sparse COO tensors.
#include "opapi/opapi.h"

// Adds the values of equal indices. uniqueIndices is the place of each old entry among the new ones.
ACLNN(CoalesceSparse,
      (In, uniqueLen)(Index, uniqueIndices)(In, indices)(In, values)(Out, newIndicesOut)(Out, newValuesOut), {
        newIndicesOut.index_copy_(0, uniqueIndices, indices);
        newValuesOut.zero_().index_add_(0, uniqueIndices, values);
      })
