// tests/native/tensor_queue_test.cpp
// Channels: order, copies, capacity, waiting, stopping.
#include <array>
#include <thread>

#include "acl/acl_tdt.h"
#include "scenario.h"

namespace {

// A dataset with one float item that points to `value`.
class Sample {
 public:
  explicit Sample(float value) : value_(value) { OK(acltdtAddDataItem(dataset_, item_)); }
  ~Sample() {
    acltdtDestroyDataset(dataset_);
    acltdtDestroyDataItem(item_);
  }
  const acltdtDataset* dataset() const { return dataset_; }
  void change(float value) { value_ = value; }

 private:
  float value_;
  acltdtDataItem* const item_ =
      acltdtCreateDataItem(ACL_TENSOR_DATA_TENSOR, nullptr, 0, ACL_FLOAT, &value_, sizeof(value_));
  acltdtDataset* const dataset_ = acltdtCreateDataset();
};

class Received {
 public:
  explicit Received(const acltdtChannelHandle* channel) { OK(acltdtReceiveTensor(channel, dataset_, -1)); }
  ~Received() { acltdtDestroyDataset(dataset_); }
  float value() const {
    CHECK_EQ(acltdtGetDatasetSize(dataset_), size_t{1});
    const acltdtDataItem* const item = acltdtGetDataItem(dataset_, 0);
    CHECK_EQ(acltdtGetDataTypeFromItem(item), ACL_FLOAT);
    CHECK_EQ(acltdtGetDimNumFromItem(item), size_t{0});
    CHECK_EQ(acltdtGetDataSizeFromItem(item), sizeof(float));
    return *static_cast<const float*>(acltdtGetDataAddrFromItem(item));
  }

 private:
  acltdtDataset* const dataset_ = acltdtCreateDataset();
};

acltdtChannelHandle* open(const char* name, size_t capacity) {
  acltdtChannelHandle* const channel = acltdtCreateChannelWithCapacity(0, name, capacity);
  if (channel == nullptr) OK(ACL_ERROR_INTERNAL_ERROR);
  return channel;
}

}  // namespace

SCENARIO(messages_arrive_in_order_as_copies) {
  acltdtChannelHandle* const channel = open("queue", 2);
  Sample sample(1);
  OK(acltdtSendTensor(channel, sample.dataset(), -1));
  sample.change(2);
  OK(acltdtSendTensor(channel, sample.dataset(), -1));
  sample.change(3);
  CHECK_EQ(Received(channel).value(), 1.0f);
  CHECK_EQ(Received(channel).value(), 2.0f);
  OK(acltdtDestroyChannel(channel));
}

SCENARIO(full_and_empty_channels_time_out) {
  acltdtChannelHandle* const channel = open("queue", 1);
  acltdtDataset* const target = acltdtCreateDataset();
  REFUSED(acltdtReceiveTensor(channel, target, 5), ACL_ERROR_RT_QUEUE_EMPTY, "'queue'", "empty");
  const Sample sample(1);
  OK(acltdtSendTensor(channel, sample.dataset(), 0));
  REFUSED(acltdtSendTensor(channel, sample.dataset(), 5), ACL_ERROR_RT_QUEUE_FULL, "'queue'", "1");
  REFUSED(acltdtSendTensor(channel, sample.dataset(), -2), ACL_ERROR_INVALID_PARAM, "'timeout' is -2");
  size_t size = 0;
  OK(acltdtQueryChannelSize(channel, &size));
  CHECK_EQ(size, size_t{1});
  OK(acltdtCleanChannel(channel));
  OK(acltdtQueryChannelSize(channel, &size));
  CHECK_EQ(size, size_t{0});
  acltdtDestroyDataset(target);
  OK(acltdtDestroyChannel(channel));
}

SCENARIO(senders_and_receivers_share_a_small_channel) {
  constexpr int kMessages = 200;
  acltdtChannelHandle* const channel = open("queue", 2);
  std::array<std::thread, 4> senders;
  for (auto& sender : senders) {
    sender = std::thread([&] {
      for (int i = 0; i < kMessages; ++i) OK(acltdtSendTensor(channel, Sample(1).dataset(), -1));
    });
  }
  float total = 0;
  for (size_t i = 0; i < kMessages * senders.size(); ++i) total += Received(channel).value();
  for (auto& sender : senders) sender.join();
  CHECK_EQ(total, static_cast<float>(kMessages * senders.size()));
  OK(acltdtDestroyChannel(channel));
}

SCENARIO(destroying_a_channel_wakes_its_receiver) {
  acltdtChannelHandle* const channel = open("queue", 2);
  std::thread receiver([&] {
    acltdtDataset* const target = acltdtCreateDataset();
    // Depending on who comes first, the channel is stopped or gone already.
    const aclError status = acltdtReceiveTensor(channel, target, -1);
    CHECK(status == ACL_ERROR_RT_QUEUE_EMPTY || status == ACL_ERROR_INVALID_PARAM);
    acltdtDestroyDataset(target);
  });
  OK(acltdtDestroyChannel(channel));
  receiver.join();
  REFUSED(acltdtStopChannel(channel), ACL_ERROR_INVALID_PARAM, "channel", "does not exist");
}

SCENARIO(wrong_channels_are_refused) {
  CHECK(acltdtCreateChannelWithCapacity(0, "queue", 0) == nullptr);
  CHECK(acltdtCreateChannelWithCapacity(99, "queue", 2) == nullptr);
  const std::string message = aclGetRecentErrMsg();
  CHECK(message.find("device 99") != std::string::npos);
  acltdtChannelHandle* const channel = open("queue", 2);
  CHECK(acltdtCreateChannelWithCapacity(0, "queue", 2) == nullptr);
  acltdtChannelHandle* const other = acltdtCreateChannelWithCapacity(1, "queue", 2);
  CHECK(other != nullptr);
  OK(acltdtDestroyChannel(other));
  OK(acltdtDestroyChannel(channel));
}
