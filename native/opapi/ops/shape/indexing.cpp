// native/opapi/ops/shape/indexing.cpp
// Reading and writing by index or mask. Index tensors are int32 or int64.
#include "opapi/opapi.h"

namespace {

using IndexOptions = c10::List<std::optional<at::Tensor>>;

// Indices of advanced indexing. Callers write an empty tensor of self's dtype for a dim that is not indexed.
IndexOptions index_options(const std::vector<at::Tensor>& indices, at::ScalarType self_dtype) {
  IndexOptions options;
  for (const at::Tensor& index : indices) {
    const bool indexed = index.defined() && (index.numel() > 0 || index.scalar_type() != self_dtype);
    options.push_back(indexed ? std::optional<at::Tensor>(index) : std::nullopt);
  }
  return options;
}

void index(const at::Tensor& self, const std::vector<at::Tensor>& indices, at::Tensor& out) {
  if (out.numel() > 0) at::index_out(out, self, index_options(indices, self.scalar_type()));
}

void index_put(at::Tensor& self, const std::vector<at::Tensor>& indices, const at::Tensor& values, bool accumulate,
               bool unsafe) {
  // Nothing but empty indices: no dim is left out then, there is nothing to write.
  const bool any = std::any_of(indices.begin(), indices.end(),
                               [](const at::Tensor& index) { return index.defined() && index.numel() > 0; });
  if (any) at::_index_put_impl_(self, index_options(indices, self.scalar_type()), values, accumulate, unsafe);
}

constexpr int64_t kMultiply = 2;  // the last code of the functions that know only none, add, multiply
constexpr int64_t kMean = 5;      // the last code of all

void scatter(at::Tensor& self, int64_t dim, const at::Tensor& index, const at::Tensor& source, int64_t reduce,
             bool include_self = true, int64_t last_code = kMultiply) {
  static constexpr const char* kReduce[] = {nullptr, "sum", "prod", "amax", "amin", "mean"};
  require(reduce >= 0 && reduce <= last_code, ACLNN_ERR_PARAM_INVALID, "reduce is ", reduce, "; allowed: 0 to ",
          last_code, " of 0 (none), 1 (sum), 2 (prod), 3 (amax), 4 (amin), 5 (mean)");
  if (reduce == 0) {
    self.scatter_(dim, index, source);
  } else {
    self.scatter_reduce_(dim, index, source, kReduce[reduce], include_self);
  }
}

void scatter_value(at::Tensor& self, int64_t dim, const at::Tensor& index, const at::Scalar& value, int64_t reduce) {
  require(reduce >= 0 && reduce <= kMultiply, ACLNN_ERR_PARAM_INVALID, "reduce is ", reduce,
          "; allowed: 0 (none), 1 (add), 2 (multiply)");
  if (reduce == 0) {
    self.scatter_(dim, index, value);
  } else {
    self.scatter_(dim, index, value, reduce == kMultiply ? "multiply" : "add");
  }
}

at::Tensor index_tensor(at::IntArrayRef index) { return at::tensor(index, at::kLong); }

void where(const at::Tensor& condition, const at::Tensor& self, const at::Tensor& other, at::Tensor& out) {
  // Callers have promoted the dtypes; what is left to convert are numbers that became tensors.
  at::where_out(out, condition, self.to(out.scalar_type()), other.to(out.scalar_type()));
}

// One row for each element.
void nonzero(const at::Tensor& self, at::Tensor& out) {
  out.resize_({at::count_nonzero(self).item<int64_t>(), self.dim()});
  at::nonzero_out(out, self);
}

// One row for each dim: the order in which ATen fills an output that it resizes.
void nonzero_by_dim(const at::Tensor& self, at::Tensor& out) { out = at::nonzero_out(out, self).t(); }

// Each element along `dim` `repeats` times: `out` seen as [..., size, repeats, ...] is self broadcast.
void repeat_each(const at::Tensor& self, int64_t repeats, int64_t dim, at::Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t wrapped = at::maybe_wrap_dim(dim, self.dim());
  out.unflatten(wrapped, {self.size(wrapped), repeats}).copy_(self.unsqueeze(wrapped + 1));
}

void repeat_by(const at::Tensor& self, const at::Tensor& repeats, int64_t dim, int64_t output_size, at::Tensor& out) {
  const int64_t size = self.size(dim);
  const at::Tensor each = repeats.numel() == 1 ? repeats.reshape({1}).expand({size}) : repeats;
  require(each.dim() == 1 && each.size(0) == size, ACLNN_ERR_PARAM_INVALID, "parameter 'repeats' has shape ",
          repeats.sizes(), ", but the dim has size ", size);
  at::index_select_out(out, self, dim, at::repeat_interleave(each, std::optional<int64_t>(output_size)));
}

// The first `batch_dims` dimensions of self and index stand for problems of their own; the others of index take the
// place of `dim`.
void gather_in_batches(const at::Tensor& self, int64_t dim, const at::Tensor& index, int64_t batch_dims, int64_t mode,
                       at::Tensor& out) {
  const int64_t wrapped = at::maybe_wrap_dim(dim, self.dim());
  require(mode == 0 || mode == 1, ACLNN_ERR_PARAM_INVALID, "mode is ", mode, "; allowed: 0, 1");
  require(batch_dims >= 0 && batch_dims <= wrapped && batch_dims <= index.dim() &&
              index.sizes().slice(0, batch_dims) == self.sizes().slice(0, batch_dims),
          ACLNN_ERR_PARAM_INVALID, "batchDims is ", batch_dims, "; index ", index.sizes(), " and self ", self.sizes(),
          " must begin with that many equal sizes before dim ", wrapped);
  const auto product = [&](int64_t from, int64_t to) {
    return c10::multiply_integers(self.sizes().slice(from, to - from));
  };
  if (out.numel() == 0) return;
  const int64_t batches = product(0, batch_dims), before = product(batch_dims, wrapped);
  const int64_t after = product(wrapped + 1, self.dim()), each = divided(index.numel(), batches, "batches");
  const at::Tensor places = index.reshape({batches, 1, each, 1}).expand({batches, before, each, after});
  const at::Tensor values = self.reshape({batches, before, self.size(wrapped), after});
  assign(out, values.gather(2, places).reshape(out.sizes()));
}

at::Tensor from_beginning(const at::Tensor& index, const at::Tensor& self, int64_t dim) {
  return at::where(index.lt(0), index + self.size(dim), index);
}

// In mode 0 the device adds without looking at alpha, and an index of several dimensions stands for as many leading
// dimensions of source.
void index_add_fast(at::Tensor& out, const at::Tensor& self, int64_t dim, const at::Tensor& index,
                    const at::Tensor& source, const at::Scalar& alpha, int64_t mode) {
  require(mode != 0 || alpha.equal(1), ACLNN_ERR_PARAM_INVALID, "alpha is ", kind::Scalar::describe(alpha),
          "; in mode 0 the device does not look at it, allowed: 1");
  if (mode == 0 && dim == 0 && index.dim() > 1) {
    require(source.dim() >= index.dim(), ACLNN_ERR_PARAM_INVALID, "source has the shape ", source.sizes(),
            "; it must begin with that of index, ", index.sizes());
    begin_with(out, self).index_add_(0, index.flatten(), source.flatten(0, index.dim() - 1));
    return;
  }
  begin_with(out, self).index_add_(dim, index, source, alpha);
}

// The last dimension of `indices` holds leading coordinates; a negative one counts from the end if that is allowed.
void gather_nd(const at::Tensor& self, const at::Tensor& indices, bool from_end, at::Tensor& out) {
  require(indices.dim() > 0 && indices.size(-1) <= self.dim(), ACLNN_ERR_PARAM_INVALID, "indices has the shape ",
          indices.sizes(), "; its last dimension must be at most the ", self.dim(), " dimensions of self");
  require(from_end || indices.ge(0).all().item<bool>(), ACLNN_ERR_PARAM_INVALID,
          "an index is negative; negativeIndexSupport is false");
  IndexOptions coordinates;
  for (const at::Tensor& coordinate : indices.unbind(-1)) coordinates.push_back(coordinate);
  assign(out, coordinates.empty() ? self : at::index(self, coordinates));
}

// The rows of each bag of the output, which come from another place of the input.
void expand_permute(at::Tensor& out, const at::Tensor& permute, const at::Tensor& input_offset,
                    const at::Tensor& output_offset, int64_t size) {
  require(out.numel() == size, ACLNN_ERR_PARAM_INVALID, "outputPermuteOut has ", out.numel(),
          " elements; outputSize is ", size);
  require(output_offset.numel() == permute.numel() + 1 && input_offset.numel() > permute.numel(),
          ACLNN_ERR_PARAM_INVALID, "inputOffset and outputOffset have ", input_offset.numel(), " and ",
          output_offset.numel(), " elements; allowed: ", permute.numel() + 1, ", one more than permute");
  const at::Tensor ends = output_offset.to(at::kLong), lengths = ends.slice(0, 1) - ends.slice(0, 0, -1);
  const at::Tensor shift = input_offset.to(at::kLong).index_select(0, permute) - ends.slice(0, 0, -1);
  assign(out, at::arange(size, at::kLong) + shift.repeat_interleave(lengths, 0, size));
}

void masked_fill(at::Tensor& self, const at::Tensor& mask, const at::Scalar& value) {
  // Refuses a value that the dtype does not have; ATen does so once it has the mask's memory.
  self.masked_fill_(mask, at::scalar_tensor(value, self.scalar_type()));
}

void masked_scatter(at::Tensor& self, const at::Tensor& mask, const at::Tensor& source) {
  require(mask.scalar_type() == at::kBool, ACLNN_ERR_PARAM_INVALID, "mask is ", mask.scalar_type(), "; allowed: Bool");
  self.masked_scatter_(mask, source);
}

}  // namespace

ACLNN(Gather, (In, self)(Int, dim)(Index, index)(Out, out), at::gather_out(out, self, dim, index))
ACLNN(GatherNd, (In, self)(Index, indices)(Bool, negativeIndexSupport)(Out, out),
      gather_nd(self, indices, negativeIndexSupport, out))
// As in CANN's example, an index below 0 counts from the end.
ACLNN(GatherV2, (In, self)(Int, dim)(Index, index)(Out, out),
      gather_in_batches(self, dim, from_beginning(index, self, dim), 0, 0, out))
ACLNN(ExpandIntoJaggedPermute,
      (Index, permute)(Index, inputOffset)(Index, outputOffset)(Int, outputSize)(Out, outputPermuteOut),
      expand_permute(outputPermuteOut, permute, inputOffset, outputOffset, outputSize))
ACLNN(GatherV3, (In, self)(Int, dim)(Index, index)(Int, batchDims)(Int, mode)(Out, out),
      gather_in_batches(self, dim, index, batchDims, mode, out))
ACLNN(Take, (In, self)(Index, index)(Out, out), at::take_out(out, self, index))
ACLNN(IndexSelect, (In, self)(Int, dim)(Index, index)(Out, out), at::index_select_out(out, self, dim, index))
ACLNN(Index, (In, self)(TensorList, indices)(Out, out), index(self, indices, out))
ACLNN(IndexPutImpl, (Ref, selfRef)(TensorList, indices)(In, values)(Bool, accumulate)(Bool, unsafe),
      index_put(selfRef, indices, values, accumulate, unsafe))
ACLNN(InplacePut, (Ref, selfRef)(Index, index)(In, source)(Bool, accumulate), selfRef.put_(index, source, accumulate))

ACLNN(IndexAdd, (In, self)(Int, dim)(Index, index)(In, source)(Scalar, alpha)(Out, out),
      begin_with(out, self).index_add_(dim, index, source, alpha))
ACLNN(IndexAddV2, (In, self)(Int, dim)(Index, index)(In, source)(Scalar, alpha)(Int, mode)(Out, out),
      index_add_fast(out, self, dim, index, source, alpha, mode))
ACLNN(IndexCopy, (In, selfRef)(Int, dim)(Index, index)(In, source)(Out, outRef),
      begin_with(outRef, selfRef).index_copy_(dim, index, source))
ACLNN(InplaceIndexCopy, (Ref, selfRef)(Int, dim)(Index, index)(In, source), selfRef.index_copy_(dim, index, source))
ACLNN(IndexFill, (In, self)(Int, dim)(Index, index)(Scalar, value)(Out, out),
      begin_with(out, self).index_fill_(dim, index, value))
ACLNN(IndexFillTensor, (In, self)(Int, dim)(Ints, index)(Scalar, value)(Out, out),
      begin_with(out, self).index_fill_(dim, index_tensor(index), value))
ACLNN(InplaceIndexFill, (Ref, selfRef)(Int, dim)(Index, index)(Scalar, value), selfRef.index_fill_(dim, index, value))
ACLNN(InplaceIndexFillTensor, (Ref, selfRef)(Int, dim)(Ints, index)(Scalar, value),
      selfRef.index_fill_(dim, index_tensor(index), value))

ACLNN(Scatter, (In, self)(Int, dim)(Index, index)(In, src)(Int, reduce)(Out, out),
      scatter(begin_with(out, self), dim, index, src, reduce))
ACLNN(InplaceScatter, (Ref, selfRef)(Int, dim)(Index, index)(In, src)(Int, reduce),
      scatter(selfRef, dim, index, src, reduce))
ACLNN(ScatterValue, (In, self)(Int, dim)(Index, index)(Scalar, value)(Int, reduce)(Out, out),
      scatter_value(begin_with(out, self), dim, index, value, reduce))
ACLNN(InplaceScatterValue, (Ref, selfRef)(Int, dim)(Index, index)(Scalar, value)(Int, reduce),
      scatter_value(selfRef, dim, index, value, reduce))
ACLNN(ScatterAdd, (In, self)(Int, dim)(Index, index)(In, src)(Out, out),
      begin_with(out, self).scatter_add_(dim, index, src))
ACLNN(ScatterReduce, (In, self)(Int, dim)(Index, index)(In, src)(Int, reduce)(Bool, includeSelf)(Out, out),
      scatter(begin_with(out, self), dim, index, src, reduce, includeSelf, kMean))
ACLNN(InplaceScatterReduce, (Ref, selfRef)(Int, dim)(Index, index)(In, src)(Int, reduce)(Bool, includeSelf),
      scatter(selfRef, dim, index, src, reduce, includeSelf, kMean))

ACLNN(SWhere, (In, condition)(In, self)(In, other)(Out, out), where(condition, self, other, out))
ACLNN(InplaceMaskedFillScalar, (Ref, selfRef)(In, mask)(Scalar, value), masked_fill(selfRef, mask, value))
ACLNN(InplaceMaskedFillTensor, (Ref, selfRef)(In, mask)(In, value), selfRef.masked_fill_(mask, value))
ACLNN(InplaceMaskedScatter, (Ref, selfRef)(In, mask)(In, source), masked_scatter(selfRef, mask, source))
ACLNN(MaskedSelect, (In, self)(In, mask)(DynamicOut, out),
      at::masked_select_out(out, self, mask.scalar_type() == at::kByte ? mask.to(at::kBool) : mask))
ACLNN(Nonzero, (In, self)(DynamicOut, out), nonzero(self, out))
ACLNN(NonzeroV2, (In, self)(DynamicOut, out), nonzero_by_dim(self, out))

// Without a dim: over the flattened tensor.
ACLNN(RepeatInterleave, (In, self)(Index, repeats)(Int, outputSize)(Out, out),
      repeat_by(self.reshape({self.numel()}), repeats, 0, outputSize, out))
ACLNN(RepeatInterleaveWithDim, (In, self)(Index, repeats)(Int, dim)(Int, outputSize)(Out, out),
      repeat_by(self, repeats, dim, outputSize, out))
ACLNN(RepeatInterleaveInt, (In, self)(Int, repeats)(Int, outputSize)(Out, out),
      repeat_each(self.reshape({self.numel()}), repeats, 0, out))
ACLNN(RepeatInterleaveIntWithDim, (In, self)(Int, repeats)(Int, dim)(Int, outputSize)(Out, out),
      repeat_each(self, repeats, dim, out))
ACLNN(RepeatInterleaveTensor, (Index, repeats)(Int, outputSize)(OutIndex, out),
      at::repeat_interleave_out(out, repeats, outputSize))
ACLNN(RepeatInterleaveGrad, (In, yGrad)(Index, repeats)(Int, axis)(Out, out),
      out.zero_().index_add_(axis, at::repeat_interleave(repeats), yGrad))
