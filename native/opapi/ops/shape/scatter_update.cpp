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

// Each tensor of the list gets its part of `updates`, from its index along `axis` on. An index of two numbers says how
// much of the part it gets, too.
void scatter_list(std::vector<at::Tensor>& list, const at::Tensor& indices, const at::Tensor& updates,
                  const std::optional<at::Tensor>& mask, const std::string& reduce, int64_t axis) {
  const auto count = static_cast<int64_t>(list.size());
  require(reduce.empty() || reduce == "update", ACLNN_ERR_PARAM_INVALID, "reduceOptional is '", reduce,
          "'; allowed: update");
  const bool with_lengths = indices.dim() == 2;
  require(indices.sizes() == (with_lengths ? at::IntArrayRef({count, 2}) : at::IntArrayRef({count})),
          ACLNN_ERR_PARAM_INVALID, "indice has the shape ", indices.sizes(), "; allowed: [", count,
          "], one position for each tensor of varRef, or [", count, ", 2], a position and a length");
  require(updates.dim() > 0 && updates.size(0) == count, ACLNN_ERR_PARAM_INVALID, "updates has the shape ",
          updates.sizes(), "; its first size must be ", count, ", the number of tensors in varRef");
  require(!mask || mask->numel() == count, ACLNN_ERR_PARAM_INVALID, "maskOptional has ", mask ? mask->numel() : 0,
          " elements; allowed: ", count);
  for (int64_t i = 0; i < count; ++i) {
    if (mask && mask->flatten()[i].item<int64_t>() == 0) continue;
    const int64_t dim = at::maybe_wrap_dim(axis, list[i].dim());
    const at::Tensor index = indices[i];
    const at::Tensor update =
        with_lengths ? updates[i].narrow(dim, 0, index[1].item<int64_t>()) : at::Tensor(updates[i]);
    list[i].narrow(dim, (with_lengths ? index[0] : index).item<int64_t>(), update.size(dim)).copy_(update);
  }
}

// Either every number of `indices` names a part of the first dimension, or the last dimension of `indices` holds
// leading coordinates: the shape of the updates says which.
void scatter_add(at::Tensor& var, const at::Tensor& indices, const at::Tensor& updates) {
  at::DimVector by_rows(indices.sizes().begin(), indices.sizes().end());
  by_rows.append(var.sizes().begin() + 1, var.sizes().end());
  if (updates.sizes() == at::IntArrayRef(by_rows)) {
    at::DimVector flat{indices.numel()};
    flat.append(var.sizes().begin() + 1, var.sizes().end());
    var.index_add_(0, indices.reshape({-1}), updates.reshape(flat));
    return;
  }
  require(indices.dim() > 0 && indices.size(-1) <= var.dim(), ACLNN_ERR_PARAM_INVALID, "indices has the shape ",
          indices.sizes(), "; its last dimension must be at most the ", var.dim(), " dimensions of varRef");
  at::DimVector by_coordinates(indices.sizes().begin(), indices.sizes().end() - 1);
  by_coordinates.append(var.sizes().begin() + indices.size(-1), var.sizes().end());
  require(updates.sizes() == at::IntArrayRef(by_coordinates), ACLNN_ERR_PARAM_INVALID, "updates has the shape ",
          updates.sizes(), "; allowed: ", at::IntArrayRef(by_rows), ", ", at::IntArrayRef(by_coordinates));
  c10::List<std::optional<at::Tensor>> coordinates;
  for (const at::Tensor& coordinate : indices.unbind(-1)) coordinates.push_back(coordinate);
  var.index_put_(coordinates, updates, /*accumulate=*/true);
}

// Calls `update(part, value)` for each part of `var` that `indices` names along its first dimension, one after the
// other: an index may come again.
template <class Update>
void update_parts(at::Tensor& var, const at::Tensor& indices, const at::Tensor& updates, const Update& update) {
  require(var.dim() > 0, ACLNN_ERR_PARAM_INVALID, "varRef has no dimensions; allowed: 1 to 8");
  require(updates.scalar_type() == var.scalar_type(), ACLNN_ERR_PARAM_INVALID, "updates is ", updates.scalar_type(),
          "; it must be of varRef's dtype, ", var.scalar_type());
  at::DimVector sizes(indices.sizes().begin(), indices.sizes().end()), flat{indices.numel()};
  sizes.append(var.sizes().begin() + 1, var.sizes().end());
  flat.append(var.sizes().begin() + 1, var.sizes().end());
  require(updates.sizes() == at::IntArrayRef(sizes), ACLNN_ERR_PARAM_INVALID, "updates has the shape ", updates.sizes(),
          "; it must be ", at::IntArrayRef(sizes));
  const at::Tensor index = indices.reshape({-1}), values = updates.reshape(flat);
  for (int64_t i = 0; i < index.numel(); ++i) {
    at::Tensor part = var.select(0, index[i].item<int64_t>());
    update(part, values.select(0, i));
  }
}

// An integer is cut after each division.
void divide_part(at::Tensor& part, const at::Tensor& divisor) {
  if (c10::isIntegralType(part.scalar_type(), /*includeBool=*/true)) {
    part.div_(divisor, "trunc");
  } else {
    part.div_(divisor);
  }
}

}  // namespace

ACLNN(ScatterNd, (In, data)(Index, indices)(In, updates)(Out, out),
      scatter_nd_update(begin_with(out, data), indices, updates))
ACLNN(TfScatterAdd, (Ref, varRef)(Index, indices)(In, updates), scatter_add(varRef, indices, updates))
// The lock makes no difference.
#define OPWRIGHT_SCATTER(NAME, EXPRESSION)                                           \
  ACLNN(Scatter##NAME, (Ref, varRef)(Index, indices)(In, updates)(Bool, useLocking), \
        update_parts(varRef, indices, updates, [](at::Tensor& part, const at::Tensor& value) { EXPRESSION; }))
OPWRIGHT_SCATTER(Div, divide_part(part, value))
OPWRIGHT_SCATTER(Max, at::maximum_out(part, part, value))
OPWRIGHT_SCATTER(Min, at::minimum_out(part, part, value))
OPWRIGHT_SCATTER(Mul, part.mul_(value))
#undef OPWRIGHT_SCATTER
ACLNN(ScatterNdUpdate, (Ref, varRef)(Index, indices)(In, updates), scatter_nd_update(varRef, indices, updates))
ACLNN(InplaceScatterUpdate, (Ref, data)(Index, indices)(In, updates)(Int, axis),
      scatter_update(data, indices, updates, axis))
ACLNN(ScatterList, (RefList, varRef)(Index, indice)(In, updates)(OptIn, maskOptional)(Text, reduceOptional)(Int, axis),
      scatter_list(varRef, indice, updates, maskOptional, reduceOptional, axis))
