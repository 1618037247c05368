// native/nnopbase/validate.cpp
#include "nnopbase/validate.h"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "runtime/memory/memory.h"

namespace opwright {

bool is_base_format(aclFormat format) noexcept {
  switch (format) {
    case ACL_FORMAT_NCHW:
    case ACL_FORMAT_NHWC:
    case ACL_FORMAT_ND:
    case ACL_FORMAT_NCDHW:
    case ACL_FORMAT_NDHWC:
    case ACL_FORMAT_NC:
    case ACL_FORMAT_NCL:
      return true;
    default:
      return false;
  }
}

namespace {

struct Extent {
  int64_t first = 0;  // elements from the start of the storage
  int64_t last = 0;
  bool counts = true;  // false: too far for a 64-bit number
};

// The elements that a non-empty view touches.
Extent extent_of(const aclTensor& tensor) {
  Extent extent{tensor.offset, tensor.offset};
  for (size_t i = 0; i < tensor.sizes.size(); ++i) {
    int64_t reach = 0;
    if (__builtin_mul_overflow(tensor.sizes[i] - 1, tensor.strides[i], &reach)) extent.counts = false;
    int64_t& end = reach < 0 ? extent.first : extent.last;
    if (__builtin_add_overflow(end, reach, &end)) extent.counts = false;
  }
  return extent;
}

struct Bytes {
  const void* begin;
  size_t count;
};

// The memory that a non-empty view touches.
Bytes touched(const aclTensor& tensor, const Extent& extent) {
  const size_t begin = byte_of(extent.first, tensor.dtype), end = bytes_of(extent.last + 1, tensor.dtype);
  return {static_cast<const char*>(tensor.data) + begin, end - begin};
}

// Which of its bytes a view with gaps touches.
void describe_gaps(const aclTensor& tensor, MemoryRange& range) {
  const size_t element = bytes_of(1, tensor.dtype);
  if (static_cast<size_t>(tensor.numel()) * element == range.bytes) return;  // most tensors: no gaps, and no allocation
  if (element != byte_of(1, tensor.dtype)) return;                           // two elements to a byte
  std::vector<MemoryRange::Repeat> dimensions;
  for (size_t i = 0; i < tensor.sizes.size(); ++i) {
    const size_t step = static_cast<size_t>(std::abs(tensor.strides[i])) * element;
    if (tensor.sizes[i] > 1 && step > 0) dimensions.push_back({static_cast<size_t>(tensor.sizes[i]), step});
  }
  std::sort(dimensions.begin(), dimensions.end(),
            [](const auto& left, const auto& right) { return left.step > right.step; });
  std::vector<MemoryRange::Repeat> repeats;
  for (const auto& [count, step] : dimensions) {
    if (!repeats.empty() && repeats.back().step == count * step) {
      repeats.back() = {repeats.back().count * count, step};
    } else {
      repeats.push_back({count, step});
    }
  }
  range.run = element;
  if (!repeats.empty() && repeats.back().step == element) {
    range.run *= repeats.back().count;
    repeats.pop_back();
  }
  range.repeats = std::move(repeats);
}

thread_local int operands_device = kNoOperands;

// All tensors of a call lie on one device.
void note_device(const aclTensor& tensor, const char* name) {
  if (!memory::is_device_address(tensor.data)) return;  // host memory is allowed at present
  const int device = memory::device_of(tensor.data);
  require(operands_device == kNoOperands || operands_device == device, ACLNN_ERR_PARAM_INVALID, "parameter '", name,
          "' lies on device ", device, ", but the tensors before it lie on device ", operands_device);
  operands_device = device;
}

}  // namespace

void begin_operands() noexcept { operands_device = kNoOperands; }

int device_of_operands() noexcept { return operands_device; }

void validate(const aclTensor& tensor, const char* name) {
  require(is_base_format(tensor.format), ACLNN_ERR_PARAM_INVALID, "parameter '", name, "': storage format ",
          static_cast<int>(tensor.format), " is not available; cast the tensor to ND (2) first");
  if (tensor.numel() == 0) return;
  const Extent extent = extent_of(tensor);
  const int64_t storage = tensor.storage_sizes.product();
  require(extent.counts && extent.first >= 0 && extent.last < storage, ACLNN_ERR_PARAM_INVALID, "parameter '", name,
          "': the view ", to_string(tensor.sizes), " with strides ", to_string(tensor.strides), " and offset ",
          tensor.offset, " reaches elements ", extent.first, " to ", extent.last, " of a storage with ", storage);
  const Bytes bytes = touched(tensor, extent);
  memory::checked_alias(bytes.begin, bytes.count, name, ACLNN_ERR_PARAM_INVALID);
  note_device(tensor, name);
}

void validate_storage(const aclTensor& tensor, const char* name) {
  if (tensor.storage_bytes() == 0) return;
  memory::checked_alias(tensor.data, tensor.storage_bytes(), name, ACLNN_ERR_PARAM_INVALID);
  note_device(tensor, name);
}

void add_range(const aclTensor* tensor, const char* name, Access access, std::vector<MemoryRange>& ranges) {
  if (tensor == nullptr || tensor->numel() == 0) return;
  if (!is_base_format(tensor->format)) {  // blocks hold padding too
    ranges.push_back({tensor->data, tensor->storage_bytes(), access.read, access.written, name});
    return;
  }
  const Bytes bytes = touched(*tensor, extent_of(*tensor));
  ranges.push_back({bytes.begin, bytes.count, access.read, access.written, name});
  describe_gaps(*tensor, ranges.back());
}

std::string summary(const aclTensor& tensor) { return dtype_name(tensor.dtype) + to_string(tensor.sizes); }

}  // namespace opwright
