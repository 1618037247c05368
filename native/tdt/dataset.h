// native/tdt/dataset.h
// Tensors on their way through a channel, and the C objects that show them to callers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "acl/acl_tdt.h"

// One tensor in host memory. An item that a caller has made points to the caller's bytes; one that was received owns
// its bytes.
struct acltdtDataItem {
  acltdtTensorType tensor_type = ACL_TENSOR_DATA_TENSOR;
  std::vector<int64_t> dims;
  aclDataType data_type = ACL_DT_UNDEFINED;
  void* data = nullptr;
  size_t size = 0;
  std::vector<uint8_t> owned;
};

struct acltdtDataset {
  std::string name;
  std::vector<acltdtDataItem*> items;                     // what callers see
  std::vector<std::unique_ptr<acltdtDataItem>> received;  // the items among them that belong to the dataset
};

namespace opwright::tdt {

// A message of a channel: items that own their bytes, and the name that the sender gave.
struct Message {
  std::string name;
  std::vector<std::unique_ptr<acltdtDataItem>> items;
};

// A copy of the dataset, bytes included.
Message message_from(const acltdtDataset& dataset);

// Puts the message's items in place of what the dataset held.
void move_into(acltdtDataset& dataset, Message message);

}  // namespace opwright::tdt
