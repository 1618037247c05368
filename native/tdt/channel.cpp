// native/tdt/channel.cpp
// The queue, and the table of open channels.
#include "tdt/channel.h"

#include "runtime/device.h"
#include "runtime/gil.h"
#include "runtime/handle.h"

namespace opwright::tdt {
namespace {

// True when `ready` holds, false when the time is over.
template <class Ready>
bool wait(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, Channel::Timeout timeout, Ready ready) {
  if (timeout.has_value()) return changed.wait_for(lock, *timeout, ready);
  changed.wait(lock, ready);
  return true;
}

Handles<Channel>& channels() {
  static auto* const instance = new Handles<Channel>("channel", ACL_ERROR_INVALID_PARAM);  // used in static destructors
  return *instance;
}

std::mutex& opening() {
  static auto* const instance = new std::mutex();
  return *instance;
}

}  // namespace

Channel::Channel(uint32_t device, std::string name, size_t capacity)
    : device_(device), name_(std::move(name)), capacity_(capacity) {}

void Channel::send(Message message, Timeout timeout) {
  const GilRelease no_gil;
  std::unique_lock<std::mutex> lock(mutex_);
  const bool in_time = wait(changed_, lock, timeout, [this] { return stopped_ || messages_.size() < capacity_; });
  require(!stopped_, ACL_ERROR_INVALID_PARAM, "channel '", name_, "' was stopped");
  require(in_time, ACL_ERROR_RT_QUEUE_FULL, "channel '", name_, "' holds ", capacity_, " messages, as many as it can");
  messages_.push_back(std::move(message));
  changed_.notify_all();
}

Message Channel::receive(Timeout timeout) {
  const GilRelease no_gil;
  std::unique_lock<std::mutex> lock(mutex_);
  wait(changed_, lock, timeout, [this] { return stopped_ || !messages_.empty(); });
  require(!messages_.empty(), ACL_ERROR_RT_QUEUE_EMPTY, "channel '", name_, "' is empty",
          stopped_ ? " and was stopped" : "");
  Message message = std::move(messages_.front());
  messages_.pop_front();
  changed_.notify_all();
  return message;
}

size_t Channel::size() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return messages_.size();
}

void Channel::clear() {
  const std::lock_guard<std::mutex> lock(mutex_);
  messages_.clear();
  changed_.notify_all();
}

void Channel::stop() {
  const std::lock_guard<std::mutex> lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

acltdtChannelHandle* open_channel(uint32_t device, const std::string& name, size_t capacity) {
  require(device < device_count(), ACL_ERROR_RT_INVALID_DEVICEID, "device ", device, " does not exist; there are ",
          device_count());
  require(!name.empty(), ACL_ERROR_INVALID_PARAM, "parameter 'name' is empty");
  require(capacity > 0, ACL_ERROR_INVALID_PARAM, "parameter 'capacity' is 0");
  const std::lock_guard<std::mutex> lock(opening());
  require(find_channel(device, name) == nullptr, ACL_ERROR_INVALID_PARAM, "device ", device, " has a channel named '",
          name, "' already");
  return static_cast<acltdtChannelHandle*>(channels().add(std::make_shared<Channel>(device, name, capacity)));
}

std::shared_ptr<Channel> channel_of(const acltdtChannelHandle* handle) { return channels().find(handle); }

void close_channel(const acltdtChannelHandle* handle) { channels().remove(handle)->stop(); }

std::shared_ptr<Channel> find_channel(uint32_t device, const std::string& name) {
  for (auto& channel : channels().all()) {
    if (channel->device() == device && channel->name() == name) return channel;
  }
  return nullptr;
}

}  // namespace opwright::tdt
