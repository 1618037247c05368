// native/graph_engine/run_tensors.cpp
#include "graph_engine/run_tensors.h"

#include "acl/acl_desc.h"
#include "runtime/memory/memory.h"

namespace opwright::graph_engine {
namespace {

void* reach(const void* data) {
  return memory::is_device_address(data) ? memory::alias_of(data) : const_cast<void*>(data);
}

void append(std::string& text, const void* data, size_t size) { text.append(static_cast<const char*>(data), size); }

}  // namespace

size_t bytes_of(ge::DataType type, const std::vector<int64_t>& sizes, size_t otherwise) {
  size_t bytes = aclDataTypeSize(static_cast<aclDataType>(type));
  if (bytes == 0) return otherwise;
  for (const int64_t size : sizes) {
    if (size < 0 || __builtin_mul_overflow(bytes, static_cast<size_t>(size), &bytes)) return otherwise;
  }
  return bytes;
}

void RunTensors::add(const Given& given) {
  const bool on_host = given.data != nullptr && !memory::is_device_address(given.data);
  // The size that the caller says may be that of another shape: TorchAir does not refresh it when a tensor of a new
  // shape lies where the last one was.
  const size_t bytes = given.data == nullptr ? 0 : bytes_of(given.type, given.sizes, given.bytes);
  if (given.data != nullptr && !on_host) memory::checked_alias(given.data, bytes, "input", kFailed);
  sizes_.push_back(given.sizes);
  copies_.emplace_back();
  const auto* const values = static_cast<const uint8_t*>(given.data);
  if (on_host) copies_.back().assign(values, values + bytes);
  addresses_.push_back(on_host ? nullptr : given.data);
  views_.push_back(
      {given.type, on_host || given.data == nullptr, 0, nullptr, on_host ? nullptr : reach(given.data), bytes});
}

void RunTensors::add_output(const Answer::Output& output, const void* data) {
  sizes_.push_back(output.sizes);
  copies_.emplace_back();
  addresses_.push_back(memory::is_device_address(data) ? data : nullptr);
  views_.push_back({output.dtype, 0, 0, nullptr, reach(data), output.bytes});
}

MemoryRange RunTensors::range(size_t index, bool read, bool written, const char* what) const {
  const void* const address = addresses_[index];
  return {address, address == nullptr ? 0 : views_[index].bytes, read, written, what};
}

const EngineTensor* RunTensors::views() {
  for (size_t i = 0; i < views_.size(); ++i) {
    views_[i].rank = static_cast<int64_t>(sizes_[i].size());
    views_[i].sizes = sizes_[i].data();
    if (!copies_[i].empty()) views_[i].data = copies_[i].data();
  }
  return views_.data();
}

void RunTensors::append_addresses(std::vector<void*>& addresses) {
  views();
  for (const EngineTensor& view : views_) addresses.push_back(view.data);
}

std::string RunTensors::key(bool with_values) const {
  std::string result;
  for (size_t i = 0; i < views_.size(); ++i) {
    append(result, &views_[i].dtype, sizeof views_[i].dtype);
    const auto rank = static_cast<int64_t>(sizes_[i].size());
    append(result, &rank, sizeof rank);
    append(result, sizes_[i].data(), sizes_[i].size() * sizeof(int64_t));
    if (!with_values || views_[i].on_host == 0) continue;
    append(result, &views_[i].bytes, sizeof views_[i].bytes);
    append(result, copies_[i].data(), copies_[i].size());
  }
  return result;
}

}  // namespace opwright::graph_engine
