// exe_graph/runtime/storage_shape.h
// The shape that a user gave and the one in which the data lies.
#pragma once

#include <initializer_list>

#include "exe_graph/runtime/shape.h"

namespace gert {

class StorageShape {
 public:
  StorageShape() = default;
  StorageShape(const std::initializer_list<int64_t>& origin, const std::initializer_list<int64_t>& storage)
      : origin_(origin), storage_(storage) {}
  StorageShape(const Shape& origin, const Shape& storage) : origin_(origin), storage_(storage) {}

  const Shape& GetOriginShape() const { return origin_; }
  const Shape& GetStorageShape() const { return storage_; }
  const Shape& GetShape() const { return storage_; }
  Shape& MutableOriginShape() { return origin_; }
  Shape& MutableStorageShape() { return storage_; }
  Shape& MutableShape() { return storage_; }
  bool operator==(const StorageShape& other) const { return origin_ == other.origin_ && storage_ == other.storage_; }
  bool operator!=(const StorageShape& other) const { return !(*this == other); }

 private:
  Shape origin_;
  Shape storage_;
};

}  // namespace gert
