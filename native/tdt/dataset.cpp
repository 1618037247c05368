// native/tdt/dataset.cpp
// Copies between datasets and messages.
#include "tdt/dataset.h"

namespace opwright::tdt {

Message message_from(const acltdtDataset& dataset) {
  Message message{dataset.name, {}};
  message.items.reserve(dataset.items.size());
  for (const acltdtDataItem* item : dataset.items) {
    auto copy = std::make_unique<acltdtDataItem>(*item);
    const auto* const bytes = static_cast<const uint8_t*>(item->data);
    copy->owned.assign(bytes, bytes + item->size);
    copy->data = copy->owned.data();
    message.items.push_back(std::move(copy));
  }
  return message;
}

void move_into(acltdtDataset& dataset, Message message) {
  dataset.name = std::move(message.name);
  dataset.received = std::move(message.items);
  dataset.items.clear();
  for (const auto& item : dataset.received) dataset.items.push_back(item.get());
}

}  // namespace opwright::tdt
