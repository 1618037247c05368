// native/op_compiler/legacy_task.cpp
#include "op_compiler/legacy_task.h"

#include <algorithm>

#include "descriptors/data_buffer.h"
#include "descriptors/tensor_desc.h"
#include "op_compiler/legacy_description.h"
#include "op_compiler/legacy_engine.h"
#include "runtime/memory.h"

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

// Operators that touch only a view of an operand: torch_npu passes an address within the memory, and the size of all.
bool takes_views(const std::string& type) { return type == "ViewCopy" || type == "AsStrided"; }

}  // namespace

OperatorTask::OperatorTask(std::string type, std::string description, uint64_t program)
    : type_(std::move(type)), description_(std::move(description)), program_(program), threads_(threads()) {}

void OperatorTask::add(const aclTensorDesc* desc, const aclDataBuffer* buffer, bool is_output, int index) {
  Operand operand;
  operand.is_output = is_output;
  if (desc != nullptr && !is_absent(*desc)) {
    const char* const side = is_output ? "output " : "input ";
    operand.bytes = storage_bytes(*desc);
    const bool is_constant = !is_output && !desc->constant.empty();
    const void* const data = is_constant ? desc->constant.data() : buffer == nullptr ? nullptr : buffer->data;
    const size_t size = is_constant ? desc->constant.size() : buffer == nullptr ? 0 : buffer->size;
    require(size >= operand.bytes, ACL_ERROR_INVALID_PARAM, side, index, " of '", type_, "' has ", size,
            " bytes of memory, but its descriptor needs ", operand.bytes);
    if (operand.bytes == 0 || memory::is_device_address(data)) {
      const std::string what = text(side, index, " of '", type_, "'");
      const size_t reached = takes_views(type_) ? std::min<size_t>(operand.bytes, 1) : operand.bytes;
      if (reached != 0) memory::checked_alias(data, reached, what.c_str(), ACL_ERROR_INVALID_PARAM);
      operand.address = data;
    } else {
      require(!is_output && data != nullptr, ACL_ERROR_INVALID_PARAM, side, index, " of '", type_,
              "' has no memory of a device");
      const auto* const begin = static_cast<const uint8_t*>(data);
      operand.copy.assign(begin, begin + operand.bytes);
    }
  }
  operands_.push_back(std::move(operand));
}

void OperatorTask::run() {
  std::vector<void*> addresses;
  addresses.reserve(operands_.size());
  for (Operand& operand : operands_) {
    const bool on_device = operand.copy.empty() && operand.bytes != 0;
    addresses.push_back(on_device ? memory::alias_of(operand.address) : operand.copy.data());
  }
  auto shapes = legacy::run(program_, addresses, threads_, shapes_ != nullptr);
  if (shapes_ != nullptr) *shapes_ = std::move(shapes);
}

std::vector<MemoryRange> OperatorTask::memory_ranges() {
  std::vector<MemoryRange> result;
  for (const Operand& operand : operands_) {
    if (operand.bytes == 0 || !operand.copy.empty()) continue;
    result.push_back({operand.address, operand.bytes, !operand.is_output, operand.is_output,
                      operand.is_output ? "output" : "input"});
  }
  return result;
}

}  // namespace opwright::legacy
