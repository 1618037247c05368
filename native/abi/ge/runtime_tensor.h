// native/abi/ge/runtime_tensor.h
// Tensors of the graph engine's fast path (CANN: namespace gert). Callers work on them inline, so the layouts are
// CANN's and nothing here is exported.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "ge/types.h"

namespace gert {

enum TensorPlacement : int32_t { kOnDeviceHbm = 0, kOnHost = 1, kFollowing = 2, kOnDeviceP2p = 3, kNowhere = 4 };
enum TensorOperateType : int32_t { kGetTensorAddress = 0, kFreeTensor = 1, kPlusShareCount = 2 };

// Who owns the memory of a tensor: gives its address, frees it, or counts one user more.
using TensorAddrManager = ge::graphStatus (*)(void* block, TensorOperateType operation, void** out);

class Shape {
 public:
  std::vector<int64_t> dims() const {
    return {dims_.begin(), dims_.begin() + static_cast<ptrdiff_t>(rank_ < dims_.size() ? rank_ : dims_.size())};
  }
  // False for more dimensions than there is room for.
  bool set(const std::vector<int64_t>& dims) {
    if (dims.size() > dims_.size()) return false;
    rank_ = dims.size();
    for (size_t i = 0; i < rank_; ++i) dims_[i] = dims[i];
    return true;
  }

 private:
  size_t rank_ = 0;
  std::array<int64_t, 25> dims_{};
  [[maybe_unused]] std::array<uint8_t, 40> reserved_{};
};

struct StorageShape {
  Shape origin;
  Shape storage;
  std::array<uint8_t, 40> reserved{};
};

struct StorageFormat {
  ge::Format origin = ge::FORMAT_ND;
  ge::Format storage = ge::FORMAT_ND;
  std::array<uint64_t, 6> expand_dims{};
  std::array<uint8_t, 40> reserved{};
};

class TensorData {
 public:
  TensorData() = default;
  TensorData(const TensorData&) = delete;
  TensorData& operator=(const TensorData&) = delete;
  TensorData(TensorData&& other) noexcept { swap(other); }
  TensorData& operator=(TensorData&& other) noexcept {
    swap(other);
    return *this;
  }
  ~TensorData() { free(); }

  void* address() const {
    if (manager_ == nullptr || address_ == nullptr) return address_;
    void* address = nullptr;
    return manager_(address_, kGetTensorAddress, &address) == ge::GRAPH_SUCCESS ? address : nullptr;
  }
  size_t size() const { return size_; }
  TensorPlacement placement() const { return placement_; }
  void set_placement(TensorPlacement placement) { placement_ = placement; }
  // `address` is what the manager is asked about; without a manager the memory's address.
  void set(void* address, TensorAddrManager manager, size_t size) {
    free();
    address_ = address;
    manager_ = manager;
    size_ = size;
  }

 private:
  void free() {
    if (manager_ != nullptr) manager_(address_, kFreeTensor, nullptr);
    address_ = nullptr;
    manager_ = nullptr;
  }
  void swap(TensorData& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(manager_, other.manager_);
    std::swap(size_, other.size_);
    std::swap(placement_, other.placement_);
  }

  void* address_ = nullptr;
  TensorAddrManager manager_ = nullptr;
  size_t size_ = 0;
  TensorPlacement placement_ = kNowhere;
  [[maybe_unused]] uint32_t reserved_0_ = 0;
  [[maybe_unused]] std::array<uint8_t, 40> reserved_1_{};
};

class Tensor {
 public:
  const StorageShape& shape() const { return shape_; }
  bool set_shape(const std::vector<int64_t>& dims) { return shape_.origin.set(dims) && shape_.storage.set(dims); }
  void set_format(ge::Format format) { format_.origin = format_.storage = format; }
  ge::DataType type() const { return type_; }
  void set_type(ge::DataType type) { type_ = type; }
  const TensorData& data() const { return data_; }
  TensorData& data() { return data_; }
  // Values that follow the object lie behind it.
  const void* address() const { return data_.placement() == kFollowing ? this + 1 : data_.address(); }

 private:
  StorageShape shape_;
  StorageFormat format_;
  [[maybe_unused]] std::array<uint8_t, 4> reserved_{};
  ge::DataType type_ = ge::DT_FLOAT;
  TensorData data_;
  [[maybe_unused]] std::array<uint8_t, 40> reserved_field_{};
};

static_assert(sizeof(Shape) == 248 && sizeof(StorageShape) == 536 && sizeof(StorageFormat) == 96);
static_assert(sizeof(TensorData) == 72 && sizeof(Tensor) == 752);

}  // namespace gert
