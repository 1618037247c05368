// native/opapi/ops/shape/shaping.cpp
// Joining, splitting, padding, repeating and rearranging. Where ATen has no out= form, a view of the output is the
// target of one copy.
#include "opapi/opapi.h"

namespace {

void constant_pad(const at::Tensor& self, at::IntArrayRef pad, const at::Scalar& value, at::Tensor& out) {
  out.fill_(value);
  at::Tensor source = self;
  at::Tensor target = out;
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const int64_t dim = self.dim() - 1 - static_cast<int64_t>(i);
    const int64_t before = pad[2 * i];
    const int64_t after = pad[2 * i + 1];
    require(dim >= 0 && out.size(dim) == self.size(dim) + before + after, ACLNN_ERR_PARAM_INVALID, "padding ", pad,
            " does not lead from the shape ", self.sizes(), " to ", out.sizes());
    // Negative numbers cut the source.
    const auto inner = [&](const at::Tensor& tensor, int64_t first, int64_t last) {
      first = std::max<int64_t>(first, 0);
      return tensor.narrow(dim, first, std::max<int64_t>(tensor.size(dim) - first - std::max<int64_t>(last, 0), 0));
    };
    source = inner(source, -before, -after);
    target = inner(target, before, after);
  }
  target.copy_(source);
}

// Both parts of the first dim that is to be rolled change places, each rolled along the dims that follow.
void roll_parts(const at::Tensor& source, at::IntArrayRef shifts, int64_t dim, const at::Tensor& target) {
  while (dim < source.dim() && shifts[dim] == 0) ++dim;
  if (dim == source.dim()) {
    target.copy_(source);
    return;
  }
  const int64_t size = source.size(dim);
  const int64_t shift = shifts[dim];
  roll_parts(source.narrow(dim, 0, size - shift), shifts, dim + 1, target.narrow(dim, shift, size - shift));
  roll_parts(source.narrow(dim, size - shift, shift), shifts, dim + 1, target.narrow(dim, 0, shift));
}

void roll(const at::Tensor& self, at::IntArrayRef shifts, at::IntArrayRef dims, at::Tensor& out) {
  if (dims.empty()) {  // flattened
    require(shifts.size() == 1, ACLNN_ERR_PARAM_INVALID, "there are no dims, but ", shifts.size(), " shifts");
    at::Tensor flat = out.is_contiguous() ? out.view(-1) : at::empty({out.numel()}, out.options());
    roll(self.reshape(-1), shifts, 0, flat);
    if (!out.is_contiguous()) assign(out, flat.view(out.sizes()));
    return;
  }
  require(shifts.size() == dims.size() && out.sizes() == self.sizes(), ACLNN_ERR_PARAM_INVALID, "there are ",
          dims.size(), " dims for ", shifts.size(), " shifts, and shapes ", self.sizes(), " and ", out.sizes());
  if (self.numel() == 0) return;
  std::vector<int64_t> total(self.dim());
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t dim = at::maybe_wrap_dim(dims[i], self.dim());
    const int64_t size = self.size(dim);
    total[dim] = ((total[dim] + shifts[i]) % size + size) % size;
  }
  roll_parts(self, total, 0, out);
}

// `out` seen as [repeats0, size0, repeats1, size1, ...] is self broadcast.
void repeat(const at::Tensor& self, at::IntArrayRef repeats, at::Tensor& out) {
  if (out.numel() == 0) return;
  require(static_cast<int64_t>(repeats.size()) == out.dim(), ACLNN_ERR_PARAM_INVALID, "there are ", repeats.size(),
          " repeats for an output with ", out.dim(), " dims");
  at::Tensor source = self;
  at::Tensor target = out;
  for (int64_t dim = out.dim() - 1; dim >= 0; --dim) {
    target = target.unflatten(dim, {repeats[dim], divided(out.size(dim), repeats[dim], "repeats")});
    const int64_t source_dim = dim - (out.dim() - self.dim());
    if (source_dim >= 0) source = source.unsqueeze(source_dim);
  }
  target.copy_(source);
}

void confusion_transpose(const at::Tensor& x, at::IntArrayRef perm, at::IntArrayRef shape, bool transpose_first,
                         at::Tensor& out) {
  assign(out, transpose_first ? x.permute(perm).reshape(shape) : x.reshape(shape).permute(perm));
}

// Groups and channels of a group change places.
void channel_shuffle(const at::Tensor& self, int64_t groups, at::Tensor& out) {
  require(self.dim() >= 3 && groups > 0 && self.size(1) % groups == 0, ACLNN_ERR_PARAM_INVALID, "a tensor of shape ",
          self.sizes(), " cannot be shuffled in ", groups, " groups of channels");
  const int64_t channels = self.size(1) / groups;
  out.unflatten(1, {channels, groups}).copy_(self.unflatten(1, {groups, channels}).transpose(1, 2));
}

// The dims before `axis` are one dim of the result, the others the second one.
void flatten(const at::Tensor& self, int64_t axis, at::Tensor& out) {
  require(-self.dim() <= axis && axis <= self.dim(), ACLNN_ERR_PARAM_INVALID, "parameter 'axis' is ", axis,
          ", but must be from ", -self.dim(), " to ", self.dim());
  const at::IntArrayRef sizes = self.sizes();
  const auto middle = sizes.begin() + (axis < 0 ? axis + self.dim() : axis);
  assign(out,
         self.reshape({c10::multiply_integers(sizes.begin(), middle), c10::multiply_integers(middle, sizes.end())}));
}

void slice(const at::Tensor& self, at::IntArrayRef starts, at::IntArrayRef ends, at::IntArrayRef axes,
           at::IntArrayRef steps, at::Tensor& out) {
  require(starts.size() == axes.size() && ends.size() == axes.size() && steps.size() == axes.size(),
          ACLNN_ERR_PARAM_INVALID, "there are ", axes.size(), " axes for ", starts.size(), " starts, ", ends.size(),
          " ends and ", steps.size(), " steps");
  at::Tensor part = self;
  for (size_t i = 0; i < axes.size(); ++i) part = part.slice(axes[i], starts[i], ends[i], steps[i]);
  assign(out, part);
}

void split(const at::Tensor& self, uint64_t size, int64_t dim, at::TensorList out) {
  const std::vector<at::Tensor> parts = self.split(static_cast<int64_t>(size), dim);
  require(out.size() == parts.size(), ACLNN_ERR_PARAM_INVALID, "parameter 'out' has ", out.size(),
          " tensors, but the operator produces ", parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    at::Tensor target = out[i];
    assign(target, parts[i]);
  }
}

}  // namespace

ACLNN(Cat, (TensorList, tensors)(Int, dim)(Out, out), at::cat_out(out, tensors, dim))
ACLNN(Stack, (TensorList, tensors)(Int, dim)(Out, out), at::stack_out(out, tensors, dim))
ACLNN(SplitWithSize, (In, self)(Ints, splitSize)(Int, dim)(OutList, out),
      at::split_with_sizes_copy_out(out, self, splitSize, dim))
ACLNN(SplitTensor, (In, self)(UInt64, splitSections)(Int, dim)(OutList, out), split(self, splitSections, dim, out))
ACLNN(Slice, (In, self)(Int, dim)(Int, start)(Int, end)(Int, step)(Out, out),
      assign(out, self.slice(dim, start, end, step)))
ACLNN(SliceV2, (In, self)(Ints, starts)(Ints, ends)(Ints, axes)(Ints, steps)(Out, out),
      slice(self, starts, ends, axes, steps, out))
ACLNN(ChunkCat, (TensorList, tensors)(Int, dim)(Int, numChunks)(Out, out),
      assign(out, at::_chunk_cat(tensors, dim, numChunks)))

ACLNN(ConstantPadNd, (In, self)(Ints, pad)(Scalar, value)(Out, out), constant_pad(self, pad, value, out))
#define PAD(NAME, FUNCTION)                                                                \
  ACLNN(NAME, (In, self)(Ints, padding)(Out, out), at::FUNCTION##_out(out, self, padding)) \
  ACLNN(NAME##Backward, (In, gradOutput)(In, self)(Ints, padding)(Out, gradInput),         \
        at::FUNCTION##_backward_out(gradInput, gradOutput, self, padding))
PAD(ReflectionPad1d, reflection_pad1d)
PAD(ReflectionPad2d, reflection_pad2d)
PAD(ReflectionPad3d, reflection_pad3d)
PAD(ReplicationPad1d, replication_pad1d)
PAD(ReplicationPad2d, replication_pad2d)
PAD(ReplicationPad3d, replication_pad3d)

ACLNN(Repeat, (In, self)(Ints, repeats)(Out, out), repeat(self, repeats, out))
ACLNN(Expand, (In, self)(Ints, size)(Out, out), assign(out, self.expand(size)))
ACLNN(Permute, (In, self)(Ints, dims)(Out, out), assign(out, self.permute(dims)))
ACLNN(Flatten, (In, self)(Int, axis)(Out, out), flatten(self, axis, out))
ACLNN(DiagFlat, (In, self)(Int, diagonal)(Out, out), assign(out, at::diagflat(self, diagonal)))
ACLNN(Roll, (In, x)(Ints, shifts)(Ints, dims)(Out, out), roll(x, shifts, dims, out))
ACLNN(Flip, (In, self)(Ints, dims)(Out, out), assign(out, at::flip(self, dims)))
ACLNN(ChannelShuffle, (In, self)(Int, groups)(Out, out), channel_shuffle(self, groups, out))
ACLNN(ConfusionTranspose, (In, x)(Ints, perm)(Ints, shape)(Bool, transpose_first)(Out, out),
      confusion_transpose(x, perm, shape, transpose_first, out))

ACLNN(Im2col, (In, self)(Ints, kernelSize)(Ints, dilation)(Ints, padding)(Ints, stride)(Out, out),
      at::im2col_out(out, self, kernelSize, dilation, padding, stride))
ACLNN(Im2colBackward,
      (In, gradOutput)(Ints, inputSize)(Ints, kernelSize)(Ints, dilation)(Ints, padding)(Ints, stride)(Out, out),
      at::col2im_out(out, gradOutput, inputSize, kernelSize, dilation, padding, stride))
ACLNN(UnfoldGrad, (In, gradOut)(Ints, inputSizes)(Int, dim)(Int, size)(Int, step)(Out, gradIn),
      assign(gradIn, at::unfold_backward(gradOut, inputSizes, dim, size, step)))

#undef PAD
