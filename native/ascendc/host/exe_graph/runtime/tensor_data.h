// exe_graph/runtime/tensor_data.h
// Where the data of a tensor lies, and who frees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "graph/types.h"

namespace gert {

enum TensorPlacement { kOnDeviceHbm, kOnHost, kFollowing, kOnDeviceP2p, kTensorPlacementEnd };
enum TensorOperateType { kGetTensorAddress, kFreeTensor, kPlusShareCount, kTensorOperateTypeEnd };

using TensorAddress = void*;
using ConstTensorAddressPtr = const void*;
// Asked to free the memory or to note another owner. Null: nobody frees it.
using TensorAddrManager = ge::graphStatus (*)(TensorAddress, TensorOperateType, void** out);

class TensorData {
 public:
  explicit TensorData(TensorAddress address = nullptr, TensorAddrManager manager = nullptr)
      : address_(address), manager_(manager) {}
  TensorData(TensorAddress address, TensorAddrManager manager, size_t size, TensorPlacement placement)
      : address_(address), manager_(manager), size_(size), placement_(placement) {}
  TensorData(const TensorData&) = delete;
  TensorData& operator=(const TensorData&) = delete;
  TensorData(TensorData&& other) noexcept { take(other); }
  TensorData& operator=(TensorData&& other) noexcept {
    if (this != &other) {
      Free();
      take(other);
    }
    return *this;
  }
  ~TensorData() { Free(); }

  TensorAddress GetAddr() const {
    if (manager_ == nullptr || address_ == nullptr) return address_;
    void* result = nullptr;
    return manager_(address_, kGetTensorAddress, &result) == ge::GRAPH_SUCCESS ? result : nullptr;
  }
  size_t GetSize() const { return size_; }
  void SetSize(size_t size) { size_ = size; }
  TensorPlacement GetPlacement() const { return placement_; }
  void SetPlacement(TensorPlacement placement) { placement_ = placement; }
  ge::graphStatus SetAddr(ConstTensorAddressPtr address, TensorAddrManager manager) {
    const ge::graphStatus freed = Free();
    address_ = const_cast<void*>(address);
    manager_ = manager;
    return freed;
  }
  ge::graphStatus Free() {
    const ge::graphStatus result =
        manager_ == nullptr ? ge::GRAPH_SUCCESS : manager_(std::exchange(address_, nullptr), kFreeTensor, nullptr);
    manager_ = nullptr;
    address_ = nullptr;
    return result;
  }
  TensorAddress Release(TensorAddrManager& manager) {
    manager = std::exchange(manager_, nullptr);
    return std::exchange(address_, nullptr);
  }
  ge::graphStatus ShareFrom(const TensorData& other) {
    const ge::graphStatus freed = Free();
    address_ = other.address_;
    manager_ = other.manager_;
    size_ = other.size_;
    placement_ = other.placement_;
    return manager_ == nullptr ? freed : manager_(address_, kPlusShareCount, nullptr);
  }
  bool IsSharedWith(const TensorData& other) const { return address_ == other.address_ && manager_ == other.manager_; }

 private:
  void take(TensorData& other) {
    address_ = std::exchange(other.address_, nullptr);
    manager_ = std::exchange(other.manager_, nullptr);
    size_ = std::exchange(other.size_, 0);
    placement_ = other.placement_;
  }

  TensorAddress address_ = nullptr;
  TensorAddrManager manager_ = nullptr;
  size_t size_ = 0;
  TensorPlacement placement_ = kTensorPlacementEnd;
};

}  // namespace gert
