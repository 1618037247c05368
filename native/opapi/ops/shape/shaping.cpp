// native/opapi/ops/shape/shaping.cpp
// Joining, splitting, padding, repeating and rearranging. Where ATen has no out= form, a view of the output is the
// target of one copy.
#include <algorithm>

#include "opapi/ops/common/precision.h"

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

// The elements of the input that stand at each place of the padded output, along one dim.
at::Tensor wrapped_places(int64_t size, int64_t before, int64_t after) {
  return at::arange(-before, size + after, at::kLong).remainder_(size);
}

void require_circular(const at::Tensor& self, at::IntArrayRef padding, size_t dims) {
  require(padding.size() == 2 * dims && self.dim() > static_cast<int64_t>(dims), ACLNN_ERR_PARAM_INVALID,
          "padding has ", padding.size(), " numbers for a tensor of ", self.dim(), " dims; allowed: ", 2 * dims,
          " for more than ", dims, " dims");
  for (size_t i = 0; i < padding.size(); ++i) {
    const int64_t size = self.size(-1 - static_cast<int64_t>(i / 2));
    require(padding[i] >= 0 && padding[i] <= size, ACLNN_ERR_PARAM_INVALID, "padding[", i, "] is ", padding[i],
            "; allowed: 0 to the size of its dim, ", size);
  }
}

void circular_pad(const at::Tensor& self, at::IntArrayRef padding, size_t dims, at::Tensor& out) {
  require_circular(self, padding, dims);
  at::Tensor padded = self;
  for (size_t i = 0; i < dims; ++i) {
    const int64_t dim = self.dim() - 1 - static_cast<int64_t>(i);
    padded = padded.index_select(dim, wrapped_places(self.size(dim), padding[2 * i], padding[2 * i + 1]));
  }
  assign(out, padded);
}

void circular_pad_backward(const at::Tensor& grad, const at::Tensor& self, at::IntArrayRef padding, size_t dims,
                           at::Tensor& out) {
  require_circular(self, padding, dims);
  at::Tensor sum = grad.to(grad.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
  for (size_t i = 0; i < dims; ++i) {
    const int64_t dim = self.dim() - 1 - static_cast<int64_t>(i);
    const int64_t size = self.size(dim), before = padding[2 * i], after = padding[2 * i + 1];
    require(sum.size(dim) == size + before + after, ACLNN_ERR_PARAM_INVALID, "gradOutput has ", sum.size(dim),
            " elements in dim ", dim, "; the padded self has ", size + before + after);
    std::vector<int64_t> sizes = sum.sizes().vec();
    sizes[dim] = size;
    sum = at::zeros(sizes, sum.options()).index_add_(dim, wrapped_places(size, before, after), sum);
  }
  assign(out, sum);
}

void diagonal_of(const at::Tensor& self, int64_t which, at::Tensor& out) {
  require(self.dim() == 1 || self.dim() == 2, ACLNN_ERR_PARAM_INVALID, "self has ", self.dim(), " dims; allowed: 1, 2");
  assign(out, self.dim() == 1 ? at::diagflat(self, which) : self.diagonal(which));
}

void assign_slice(at::Tensor& var, const at::Tensor& value, at::IntArrayRef begin, at::IntArrayRef end,
                  at::IntArrayRef strides, at::OptionalIntArrayRef axes) {
  const size_t count = begin.size();
  require(end.size() == count && strides.size() == count && (!axes || axes->size() == count) &&
              count <= static_cast<size_t>(var.dim()),
          ACLNN_ERR_PARAM_INVALID, "there are ", count, " begins, ", end.size(), " ends and ", strides.size(),
          " strides for ", axes ? axes->size() : static_cast<size_t>(var.dim()), " axes");
  const auto axis_of = [&](size_t i) {
    return at::maybe_wrap_dim(axes ? (*axes)[i] : static_cast<int64_t>(i), var.dim());
  };
  for (size_t i = 0; i < count; ++i) {  // before the first slice, which needs memory
    require(strides[i] > 0 && (axis_of(i) != var.dim() - 1 || strides[i] == 1), ACLNN_ERR_PARAM_INVALID, "strides[", i,
            "] is ", strides[i], "; allowed: 1 and more, for the last axis 1");
  }
  at::Tensor part = var;
  for (size_t i = 0; i < count; ++i) part = part.slice(axis_of(i), begin[i], end[i], strides[i]);
  require(part.sizes() == value.sizes(), ACLNN_ERR_PARAM_INVALID, "inputValue has the shape ", value.sizes(),
          "; the slice of varRef has ", part.sizes());
  part.copy_(value);
}

// [groups of the list of ends, columns], or the sum over the middle dim. V2 also has lists of sizes.
void grouped_bias_grad(const at::Tensor& grad, const OptionalTensor& ends, at::Tensor& out) {
  require(grad.dim() == (ends ? 2 : 3), ACLNN_ERR_PARAM_INVALID, "gradY has ", grad.dim(),
          " dims; allowed: ", ends ? "2 with" : "3 without", " groupIdxOptional");
  const at::Tensor wide = grad.to(at::kFloat);
  if (!ends) return assign(out, wide.sum(1));
  at::Tensor sums = at::zeros({ends->numel(), grad.size(1)}, at::kFloat);
  int64_t begin = 0;
  for (int64_t i = 0; i < ends->numel(); ++i) {
    const auto last = (*ends)[i].item<int64_t>();
    require(last >= begin && last <= grad.size(0), ACLNN_ERR_PARAM_INVALID, "groupIdxOptional[", i, "] is ", last,
            "; allowed: ", begin, " to ", grad.size(0));
    sums[i].copy_(wide.slice(0, begin, last).sum(0));
    begin = last;
  }
  assign(out, sums);
}

// Bits of a mask: the entry of each position.
bool has_bit(int64_t mask, size_t position) { return position < 64 && ((mask >> position) & 1) != 0; }

struct StridedSlice {
  at::IntArrayRef begin, end, strides;
  int64_t no_begin, no_end, ellipsis, new_axis, shrink;

  bool is_ellipsis(size_t i) const { return has_bit(ellipsis, i); }
  bool is_new(size_t i) const { return !is_ellipsis(i) && has_bit(new_axis, i); }
};

// The positions of one axis with `size` elements.
at::Tensor strided(const at::Tensor& self, int64_t dim, const StridedSlice& call, size_t i) {
  const int64_t size = self.size(dim), step = call.strides[i];
  // A walk backwards ends before the first element.
  const int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? size : size - 1;
  const auto position = [&](int64_t value) { return std::clamp(value < 0 ? value + size : value, lowest, highest); };
  const int64_t first = has_bit(call.no_begin, i) ? (step > 0 ? lowest : highest) : position(call.begin[i]);
  const int64_t last = has_bit(call.no_end, i) ? (step > 0 ? highest : lowest) : position(call.end[i]);
  if (step > 0) return self.slice(dim, first, std::max(first, last), step);
  const int64_t count = first > last ? (first - last - step - 1) / -step : 0;
  return self.index_select(dim, at::arange(count, at::kLong).mul_(step).add_(first));
}

void strided_slice(const at::Tensor& self, const StridedSlice& call, at::Tensor& out) {
  const size_t entries = call.begin.size();
  require(call.end.size() == entries && call.strides.size() == entries, ACLNN_ERR_PARAM_INVALID,
          "begin, end and strides have ", entries, ", ", call.end.size(), " and ", call.strides.size(),
          " numbers; allowed: as many each");
  require((call.ellipsis & (call.ellipsis - 1)) == 0, ACLNN_ERR_PARAM_INVALID, "ellipsisMask is ", call.ellipsis,
          "; allowed: a number with at most one bit");
  int64_t named = 0;  // axes of self that have an entry of their own
  for (size_t i = 0; i < entries; ++i) named += call.is_ellipsis(i) || call.is_new(i) ? 0 : 1;
  require(named <= self.dim(), ACLNN_ERR_PARAM_INVALID, "begin has entries for ", named, " axes; self has ",
          self.dim());
  at::Tensor result = self;
  int64_t dim = 0;
  for (size_t i = 0; i < entries; ++i) {
    if (call.is_ellipsis(i)) {
      dim += self.dim() - named;
    } else if (call.is_new(i)) {
      result = result.unsqueeze(dim++);
    } else {
      require(call.strides[i] != 0, ACLNN_ERR_PARAM_INVALID, "strides[", i, "] is 0; allowed: any other number");
      if (has_bit(call.shrink, i)) {
        result = result.select(dim, call.begin[i]);
      } else {
        result = strided(result, dim, call, i);
        ++dim;
      }
    }
  }
  assign(out, result);
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
ACLNN(StridedSlice,
      (In, self)(Ints, begin)(Ints, end)(Ints, strides)(Int, beginMask)(Int, endMask)(Int, ellipsisMask)(
          Int, newAxisMask)(Int, shrinkAxisMask)(Out, out),
      strided_slice(self, {begin, end, strides, beginMask, endMask, ellipsisMask, newAxisMask, shrinkAxisMask}, out))
ACLNN(ChunkCat, (TensorList, tensors)(Int, dim)(Int, numChunks)(Out, out),
      assign(out, at::_chunk_cat(tensors, dim, numChunks)))

ACLNN(ConstantPadNd, (In, self)(Ints, pad)(Scalar, value)(Out, out), constant_pad(self, pad, value, out))
#define PAD(NAME, FUNCTION)                                                                 \
  ACLNN(NAME, (In, self)(Ints, padding)(Out, out), at::FUNCTION##_out(out, self, padding))  \
  ACLNN(NAME##Backward, (In, gradOutput)(In, self)(Ints, padding)(Out, gradInput),          \
        rounded_once(gradInput, [&](at::Tensor& target) {                                   \
          at::FUNCTION##_backward_out(target, widened(gradOutput), widened(self), padding); \
        }))
PAD(ReflectionPad1d, reflection_pad1d)
PAD(ReflectionPad2d, reflection_pad2d)
PAD(ReflectionPad3d, reflection_pad3d)
PAD(ReplicationPad1d, replication_pad1d)
PAD(ReplicationPad2d, replication_pad2d)
PAD(ReplicationPad3d, replication_pad3d)

ACLNN(CircularPad2d, (In, self)(Ints, padding)(Out, out), circular_pad(self, padding, 2, out))
ACLNN(CircularPad3d, (In, self)(Ints, padding)(Out, out), circular_pad(self, padding, 3, out))
ACLNN(CircularPad2dBackward, (In, gradOutput)(In, self)(Ints, padding)(Out, gradInput),
      circular_pad_backward(gradOutput, self, padding, 2, gradInput))
ACLNN(CircularPad3dBackward, (In, gradOutput)(In, self)(Ints, padding)(Out, gradInput),
      circular_pad_backward(gradOutput, self, padding, 3, gradInput))

ACLNN(Repeat, (In, self)(Ints, repeats)(Out, out), repeat(self, repeats, out))
ACLNN(Expand, (In, self)(Ints, size)(Out, out), assign(out, self.expand(size)))
ACLNN(Permute, (In, self)(Ints, dims)(Out, out), assign(out, self.permute(dims)))
ACLNN(Flatten, (In, self)(Int, axis)(Out, out), flatten(self, axis, out))
ACLNN(DiagFlat, (In, self)(Int, diagonal)(Out, out), assign(out, at::diagflat(self, diagonal)))
ACLNN(Diag, (In, self)(Int, diagonal)(Out, out), diagonal_of(self, diagonal, out))
ACLNN(StridedSliceAssignV2, (Ref, varRef)(In, inputValue)(Ints, begin)(Ints, end)(Ints, strides)(OptInts, axesOptional),
      assign_slice(varRef, inputValue, begin, end, strides, axesOptional))
ACLNN(GroupedBiasAddGradV2, (In, gradY)(OptIndex, groupIdxOptional)(Int, groupIdxType)(Out, out),
      require(groupIdxType == 0 || groupIdxType == 1, ACLNN_ERR_PARAM_INVALID, "groupIdxType is ", groupIdxType,
              "; allowed: 0 (ends), 1 (sizes)");
      grouped_bias_grad(gradY,
                        groupIdxOptional&& groupIdxType == 1 ? OptionalTensor(groupIdxOptional->cumsum(0))
                                                             : groupIdxOptional,
                        out))
ACLNN(GroupedBiasAddGrad, (In, gradY)(OptIndex, groupIdxOptional)(Out, out),
      grouped_bias_grad(gradY, groupIdxOptional, out))
ACLNN(Roll, (In, x)(Ints, shifts)(Ints, dims)(Out, out), roll(x, shifts, dims, out))
ACLNN(Flip, (In, self)(Ints, dims)(Out, out), assign(out, at::flip(self, dims)))
ACLNN(ChannelShuffle, (In, self)(Int, groups)(Out, out), channel_shuffle(self, groups, out))
ACLNN(ConfusionTranspose, (In, x)(Ints, perm)(Ints, shape)(Bool, transpose_first)(Out, out),
      confusion_transpose(x, perm, shape, transpose_first, out))

// Given an output, ATen resizes it to a batch of one and back, and phase 1 would take it for the result's shape.
ACLNN(Im2col, (In, self)(Ints, kernelSize)(Ints, dilation)(Ints, padding)(Ints, stride)(Out, out),
      assign(out, at::im2col(self, kernelSize, dilation, padding, stride)))
ACLNN(Im2colBackward,
      (In, gradOutput)(Ints, inputSize)(Ints, kernelSize)(Ints, dilation)(Ints, padding)(Ints, stride)(Out, out),
      assign(out, at::col2im(widened(gradOutput), inputSize, kernelSize, dilation, padding, stride)))
ACLNN(UnfoldGrad, (In, gradOut)(Ints, inputSizes)(Int, dim)(Int, size)(Int, step)(Out, gradIn),
      assign(gradIn, at::unfold_backward(widened(gradOut), inputSizes, dim, size, step)))

#undef PAD
