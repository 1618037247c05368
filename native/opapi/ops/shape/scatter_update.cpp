// native/opapi/ops/shape/scatter_update.cpp
// Updates at indices that torch_npu has beside ATen's scatter functions.
#include "opapi/opapi.h"

namespace {

// The last dimension of `indices` holds the leading coordinates of each update.
void scatter_nd_update(at::Tensor& var, const at::Tensor& indices, const at::Tensor& updates) {
  require(indices.dim() > 0 && indices.size(-1) <= var.dim(), ACLNN_ERR_PARAM_INVALID, "indices has shape ",
          indices.sizes(), "; its last dimension must be at most the ", var.dim(), " dimensions of varRef");
  at::DimVector result_sizes(indices.sizes().begin(), indices.sizes().end() - 1);
  for (int64_t dim = indices.size(-1); dim < var.dim(); ++dim) result_sizes.push_back(var.size(dim));
  require_expandable(updates, result_sizes, "updates");
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

// Each tensor of the list gets its part of `updates`, from its index along `axis` on.
void scatter_list(std::vector<at::Tensor>& list, const at::Tensor& indices, const at::Tensor& updates,
                  const std::optional<at::Tensor>& mask, const std::string& reduce, int64_t axis) {
  const auto count = static_cast<int64_t>(list.size());
  require(reduce.empty() || reduce == "update", ACLNN_ERR_PARAM_INVALID, "reduceOptional is '", reduce,
          "'; allowed: update");
  require(indices.sizes() == at::IntArrayRef({count}), ACLNN_ERR_PARAM_INVALID, "indice has the shape ",
          indices.sizes(), "; allowed: [", count, "], one position for each tensor of varRef");
  require(updates.dim() > 0 && updates.size(0) == count, ACLNN_ERR_PARAM_INVALID, "updates has the shape ",
          updates.sizes(), "; its first size must be ", count, ", the number of tensors in varRef");
  require(!mask || mask->numel() == count, ACLNN_ERR_PARAM_INVALID, "maskOptional has ", mask ? mask->numel() : 0,
          " elements; allowed: ", count);
  for (int64_t i = 0; i < count; ++i) {
    if (mask && mask->flatten()[i].item<int64_t>() == 0) continue;
    const at::Tensor update = updates[i];
    const int64_t dim = at::maybe_wrap_dim(axis, list[i].dim());
    list[i].narrow(dim, indices[i].item<int64_t>(), update.size(dim)).copy_(update);
  }
}

}  // namespace

ACLNN(ScatterNdUpdate, (Ref, varRef)(Index, indices)(In, updates), scatter_nd_update(varRef, indices, updates))
ACLNN(InplaceScatterUpdate, (Ref, data)(Index, indices)(In, updates)(Int, axis),
      scatter_update(data, indices, updates, axis))
ACLNN(ScatterList, (RefList, varRef)(Index, indice)(In, updates)(OptIn, maskOptional)(Text, reduceOptional)(Int, axis),
      scatter_list(varRef, indice, updates, maskOptional, reduceOptional, axis))
