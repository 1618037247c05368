// native/tdt/channel.h
// A bounded first-in first-out queue of messages, found by handle (C callers) or by device and name (an operator that
// prints or feeds out).
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/error.h"
#include "tdt/dataset.h"

namespace opwright::tdt {

class OPWRIGHT_API Channel {
 public:
  using Timeout = std::optional<std::chrono::milliseconds>;  // nullopt: wait for ever

  Channel(uint32_t device, std::string name, size_t capacity);

  uint32_t device() const noexcept { return device_; }
  const std::string& name() const noexcept { return name_; }

  // Waits for room. Throws 207014 when the time is over and 100000 when the channel was stopped.
  void send(Message message, Timeout timeout);
  // Waits for a message. Throws 207013 when the time is over or the channel was stopped and is empty.
  Message receive(Timeout timeout);

  size_t size() const;
  void clear();
  // Wakes everyone who waits. Messages that were sent before can still be received.
  void stop();

 private:
  const uint32_t device_;
  const std::string name_;
  const size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Message> messages_;
  bool stopped_ = false;
};

// Throws 100000 if the device has a channel of that name already.
acltdtChannelHandle* open_channel(uint32_t device, const std::string& name, size_t capacity);
std::shared_ptr<Channel> channel_of(const acltdtChannelHandle* handle);
void close_channel(const acltdtChannelHandle* handle);

// nullptr if nobody has opened it.
OPWRIGHT_API std::shared_ptr<Channel> find_channel(uint32_t device, const std::string& name);

}  // namespace opwright::tdt
