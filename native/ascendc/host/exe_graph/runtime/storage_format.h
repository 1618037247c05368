// exe_graph/runtime/storage_format.h
// The format that a user gave and the one in which the data lies.
#pragma once

#include "exe_graph/runtime/expand_dims_type.h"
#include "graph/types.h"

namespace gert {

class StorageFormat {
 public:
  StorageFormat() = default;
  StorageFormat(ge::Format origin, ge::Format storage, const ExpandDimsType& expanded)
      : origin_(origin), storage_(storage), expanded_(expanded) {}

  ge::Format GetOriginFormat() const { return origin_; }
  ge::Format GetStorageFormat() const { return storage_; }
  ExpandDimsType GetExpandDimsType() const { return expanded_; }
  ExpandDimsType& MutableExpandDimsType() { return expanded_; }
  void SetOriginFormat(ge::Format format) { origin_ = format; }
  void SetStorageFormat(ge::Format format) { storage_ = format; }
  void SetExpandDimsType(const ExpandDimsType& expanded) { expanded_ = expanded; }
  bool operator==(const StorageFormat& other) const {
    return origin_ == other.origin_ && storage_ == other.storage_ && expanded_ == other.expanded_;
  }
  bool operator!=(const StorageFormat& other) const { return !(*this == other); }

 private:
  ge::Format origin_ = ge::FORMAT_ND;
  ge::Format storage_ = ge::FORMAT_ND;
  ExpandDimsType expanded_;
};

}  // namespace gert
