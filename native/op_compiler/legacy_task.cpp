// native/op_compiler/legacy_task.cpp
#include "op_compiler/legacy_task.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "op_compiler/legacy_description.h"
#include "runtime/data_dump/dump.h"
#include "runtime/descriptors/data_buffer.h"
#include "runtime/descriptors/tensor_desc.h"
#include "runtime/memory/memory.h"

namespace opwright::legacy {
namespace {

// Bytes that the elements of a tensor take in memory. Types of less than a byte, which no kernel takes, have none.
size_t storage_bytes(const aclTensorDesc& desc) {
  size_t bytes = aclDataTypeSize(desc.data_type);
  for (const int64_t dim : desc.storage_dims.value_or(desc.dims)) {
    require(dim >= 0, ACL_ERROR_INVALID_PARAM, "a tensor has a dimension of ", dim, "; its size is not known");
    require(!__builtin_mul_overflow(bytes, static_cast<size_t>(dim), &bytes), ACL_ERROR_INVALID_PARAM,
            "the size of a tensor exceeds 64 bits");
  }
  return bytes;
}

template <class T>
std::vector<int64_t> numbers(const std::vector<uint8_t>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return {values.begin(), values.end()};
}

// How many elements from its address on a view reaches.
int64_t reach(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides, int64_t offset) {
  int64_t last = offset;
  bool fits = sizes.size() == strides.size() && offset >= 0;
  bool empty = false;
  for (size_t i = 0; i < sizes.size() && fits; ++i) {
    int64_t step = 0;
    fits = sizes[i] >= 0 && strides[i] >= 0 && !__builtin_mul_overflow(sizes[i] - 1, strides[i], &step) &&
           !__builtin_add_overflow(last, step, &last);
    empty = empty || sizes[i] == 0;
  }
  require(fits && last < std::numeric_limits<int64_t>::max(), ACL_ERROR_INVALID_PARAM, "a view has ", sizes.size(),
          " sizes, ", strides.size(), " strides and the offset ", offset,
          "; there must be a stride for each size, none negative, and its end must be a number of 64 bits");
  return empty ? 0 : last + 1;
}

}  // namespace

// torch_npu passes an address within the memory, and the size of all.
const OperatorTask::View OperatorTask::kViews[] = {
    {"AsStrided", 0, false}, {"ViewCopy", 0, true}, {"ViewCopy", 4, false}};

OperatorTask::OperatorTask(std::string type, std::string description, ProgramPtr program)
    : type_(std::move(type)), description_(std::move(description)), program_(std::move(program)), threads_(threads()) {}

void OperatorTask::add(const aclTensorDesc* desc, const aclDataBuffer* buffer, bool is_output, int index) {
  Operand operand;
  operand.is_output = is_output;
  if (desc != nullptr && !is_absent(*desc)) {
    operand.what = text(is_output ? "output " : "input ", index, " of '", type_, "'");
    operand.type = desc->data_type;
    operand.is_named = !desc->name.empty();
    operand.format = desc->format;
    operand.sizes = desc->storage_dims.value_or(desc->dims);
    operand.original_sizes = desc->dims;
    const size_t bytes = storage_bytes(*desc);
    const bool is_constant = !is_output && !desc->constant.empty();
    const void* const data = is_constant ? desc->constant.data() : buffer == nullptr ? nullptr : buffer->data;
    const size_t size = is_constant ? desc->constant.size() : buffer == nullptr ? 0 : buffer->size;
    require(size >= bytes, ACL_ERROR_INVALID_PARAM, operand.what, " has ", size,
            " bytes of memory, but its descriptor needs ", bytes);
    if (bytes != 0 && memory::is_device_address(data)) {
      operand.address = data;
      operand.touched = bytes;
    } else if (bytes != 0) {
      require(!is_output && data != nullptr, ACL_ERROR_INVALID_PARAM, operand.what, " has no memory of a device");
      const auto* const begin = static_cast<const uint8_t*>(data);
      operand.copy.assign(begin, begin + bytes);
    }
  }
  operands_.push_back(std::move(operand));
}

// The values of an input; none if it is not given.
std::vector<int64_t> OperatorTask::integers(size_t input) const {
  if (input >= operands_.size() || operands_[input].is_output) return {};
  const Operand& operand = operands_[input];
  if (operand.type == ACL_DT_UNDEFINED) return {};
  const bool wide = operand.type == ACL_INT64;
  require(operand.address == nullptr && (wide || operand.type == ACL_INT32), ACL_ERROR_INVALID_PARAM, operand.what,
          " says what a view touches; it must be int32 or int64 in host memory");
  return wide ? numbers<int64_t>(operand.copy) : numbers<int32_t>(operand.copy);
}

void OperatorTask::narrow(const View& view) {
  Operand& viewed = operands_[view.input];
  const std::vector<int64_t> offset = integers(view.input + 3);
  const int64_t elements =
      reach(integers(view.input + 1), integers(view.input + 2), offset.empty() ? 0 : offset.front());
  require(!__builtin_mul_overflow(static_cast<size_t>(elements), aclDataTypeSize(viewed.type), &viewed.touched),
          ACL_ERROR_INVALID_PARAM, "the view of ", viewed.what, " exceeds 64 bits");
  if (!view.is_output) return;
  const auto out = std::find_if(operands_.begin(), operands_.end(), [](const Operand& each) { return each.is_output; });
  require(out != operands_.end() && out->address == viewed.address, ACL_ERROR_INVALID_PARAM, "the output of '", type_,
          "' is not the memory of ", viewed.what, ", in which the view is written");
  out->touched = viewed.touched;
}

void OperatorTask::check() {
  // With names the inputs may stand in another order: then operands count as a whole.
  const bool named = std::any_of(operands_.begin(), operands_.end(), [](const Operand& each) { return each.is_named; });
  for (const View& view : kViews) {
    const bool is_meant = type_ == view.type && !named && view.input < operands_.size();
    if (is_meant && operands_[view.input].address != nullptr) narrow(view);
  }
  for (const Operand& each : operands_) {
    if (each.touched != 0) {
      memory::checked_alias(each.address, each.touched, each.what.c_str(), ACL_ERROR_INVALID_PARAM);
    }
  }
}

void OperatorTask::run() {
  const auto config = data_dump::single_operators();
  if (config == nullptr) return compute();
  const data_dump::Target& target = config->target;
  std::vector<std::vector<char>> bytes;
  auto inputs = target.inputs ? dump(/*outputs=*/false, bytes) : std::vector<data_dump::Tensor>();
  compute();
  auto outputs = target.outputs ? dump(/*outputs=*/true, bytes) : std::vector<data_dump::Tensor>();
  data_dump::write_operator(target, type_.c_str(), std::move(inputs), std::move(outputs));
}

std::vector<data_dump::Tensor> OperatorTask::dump(bool outputs, std::vector<std::vector<char>>& bytes) const {
  std::vector<data_dump::Tensor> result;
  for (const Operand& operand : operands_) {
    if (operand.is_output != outputs || operand.type == ACL_DT_UNDEFINED) continue;
    const bool on_host = operand.address == nullptr;
    const auto* const begin = static_cast<const char*>(on_host ? static_cast<const void*>(operand.copy.data())
                                                               : memory::alias_of(operand.address));
    // The elements of a vector stay where they are when it is moved.
    bytes.emplace_back(begin, begin + (on_host ? operand.copy.size() : operand.touched));
    result.push_back({operand.type, operand.format, operand.sizes, operand.original_sizes,
                      reinterpret_cast<uint64_t>(operand.address), bytes.back().data(), bytes.back().size()});
  }
  return result;
}

void OperatorTask::compute() {
  std::vector<void*> addresses;
  addresses.reserve(operands_.size());
  for (Operand& operand : operands_) {
    addresses.push_back(operand.address != nullptr ? memory::alias_of(operand.address) : operand.copy.data());
  }
  auto shapes = legacy::run(*program_, addresses, threads_, shapes_ != nullptr);
  if (shapes_ != nullptr) *shapes_ = std::move(shapes);
}

std::vector<MemoryRange> OperatorTask::memory_ranges() {
  std::vector<MemoryRange> result;
  for (const Operand& operand : operands_) {
    if (operand.touched == 0) continue;
    result.push_back({operand.address, operand.touched, !operand.is_output, operand.is_output,
                      operand.is_output ? "output" : "input"});
  }
  return result;
}

}  // namespace opwright::legacy
