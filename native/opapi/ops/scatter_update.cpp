// native/opapi/ops/scatter_update.cpp
// Updates at indices that torch_npu has beside ATen's scatter functions.
#include "opapi/opapi.h"

namespace {

// The last dimension of `indices` holds the leading coordinates of each update.
void scatter_nd_update(at::Tensor& var, const at::Tensor& indices, const at::Tensor& updates) {
  require(indices.dim() > 0 && indices.size(-1) <= var.dim(), ACLNN_ERR_PARAM_INVALID, "indices has shape ",
          indices.sizes(), "; its last dimension must be at most the ", var.dim(), " dimensions of varRef");
  c10::List<std::optional<at::Tensor>> coordinates;
  for (const at::Tensor& coordinate : indices.unbind(-1)) coordinates.push_back(coordinate);
  var.index_put_(coordinates, updates);
}

// In batch b, `updates` goes to the positions of `axis` that begin at indices[b].
void scatter_update(at::Tensor& data, const at::Tensor& indices, const at::Tensor& updates, int64_t axis) {
  const int64_t dim = at::maybe_wrap_dim(axis, data.dim());
  require(indices.dim() == 1 && indices.size(0) == data.size(0), ACLNN_ERR_PARAM_INVALID, "indices has shape ",
          indices.sizes(), "; available is one index for each of the ", data.size(0), " batches of data");
  require(dim != 0, ACLNN_ERR_PARAM_INVALID, "axis is the batch dimension");
  require(updates.dim() == data.dim(), ACLNN_ERR_PARAM_INVALID, "updates has ", updates.dim(), " dimensions, data has ",
          data.dim());
  for (int64_t batch = 0; batch < data.size(0); ++batch) {
    data.select(0, batch)
        .narrow(dim - 1, indices[batch].item<int64_t>(), updates.size(dim))
        .copy_(updates.select(0, batch));
  }
}

}  // namespace

ACLNN(ScatterNdUpdate, (Ref, varRef)(Index, indices)(In, updates), scatter_nd_update(varRef, indices, updates))
ACLNN(InplaceScatterUpdate, (Ref, data)(Index, indices)(In, updates)(Int, axis),
      scatter_update(data, indices, updates, axis))
