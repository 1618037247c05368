// exe_graph/runtime/tiling_data.h
// The bytes that tiling hands to the kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "graph/types.h"
#include "securec.h"  // tiling functions use it without including it

namespace gert {

class TilingData {
 public:
  // Bytes for an operator whose package does not say more.
  static constexpr size_t kCapacity = 64 * 1024;

  TilingData() : bytes_(kCapacity / sizeof(uint64_t)) {}
  TilingData(const TilingData&) = delete;
  TilingData& operator=(const TilingData&) = delete;

  size_t GetCapacity() const { return bytes_.size() * sizeof(uint64_t); }
  size_t GetDataSize() const { return size_; }
  // A size beyond the capacity stays, so that the package can refuse it by name.
  void SetDataSize(size_t size) { size_ = size; }
  void* GetData() { return bytes_.data(); }
  const void* GetData() const { return bytes_.data(); }
  // Room for `size` more bytes; null if there is none.
  void* Expand(size_t size) {
    if (size_ + size > GetCapacity()) return nullptr;
    void* const place = static_cast<uint8_t*>(GetData()) + size_;
    size_ += size;
    return place;
  }
  template <class T, typename std::enable_if<std::is_standard_layout<T>::value, int>::type = 0>
  ge::graphStatus Append(const T& value) {
    return Append(&value, 1);
  }
  template <class T, typename std::enable_if<std::is_standard_layout<T>::value, int>::type = 0>
  ge::graphStatus Append(const T* values, size_t count) {
    void* const place = Expand(sizeof(T) * count);
    if (place == nullptr) return ge::GRAPH_FAILED;
    std::memcpy(place, values, sizeof(T) * count);
    return ge::GRAPH_SUCCESS;
  }

 private:
  std::vector<uint64_t> bytes_;  // words, so that the data is aligned
  size_t size_ = 0;
};

template <class T>
TilingData& operator<<(TilingData& out, const T& value) {
  out.Append(value);
  return out;
}

}  // namespace gert
