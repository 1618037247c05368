// native/runtime/device.h
// Devices, their primary contexts and default streams, and which device a thread uses.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "acl/acl_rt.h"
#include "runtime/fork.h"
#include "runtime/handle.h"
#include "runtime/streams/event_handles.h"
#include "runtime/streams/stream.h"

namespace opwright {

// Upper bounds that a caller has put on cores. The twin stores and reports them; CPU kernels do not look at them.
class ResourceLimits {
 public:
  explicit ResourceLimits(std::array<uint32_t, 2> limits) : limits_{limits[0], limits[1]} {}
  uint32_t get(aclrtDevResLimitType type) const { return limits_.at(static_cast<size_t>(type)); }
  void set(aclrtDevResLimitType type, uint32_t value) { limits_.at(static_cast<size_t>(type)) = value; }

 private:
  std::array<std::atomic<uint32_t>, 2> limits_;
};

// The cores of the reported SoC by aclrtDevResLimitType.
std::array<uint32_t, 2> all_cores();

// The limit that holds for a stream: its own, or its device's.
uint32_t limit_of(const Stream& stream, aclrtDevResLimitType type);
// Whether a device or a stream (aclrtUseStreamResInCurrentThread) limits the cores of the calling thread.
OPWRIGHT_API bool has_thread_limits() noexcept;

class OPWRIGHT_API Device {
 public:
  explicit Device(int id);

  int id() const noexcept { return id_; }
  bool active() const noexcept { return active_.load(); }
  void activate() noexcept { active_.store(true); }
  // Made on first use.
  std::shared_ptr<Stream> default_stream();
  ResourceLimits& limits() { return limits_; }
  // aclrtSetDevice and aclrtResetDevice: the last release of as many as there were acquisitions resets the device.
  void acquire() noexcept { users_.fetch_add(1); }
  void release();
  // Waits for all streams, destroys them and frees the device's memory.
  void reset();

 private:
  const int id_;
  std::atomic<bool> active_{false};
  std::mutex mutex_;
  std::shared_ptr<Stream> default_stream_;
  ResourceLimits limits_;
  std::atomic<int64_t> users_{0};
};

OPWRIGHT_API size_t device_count();
// Throws 107001 when the index is out of range, and 107002 in a forked child.
OPWRIGHT_API Device& device_at(int id);
// The device of the calling thread: the one it has set, else the default device; 107002 when there is neither.
OPWRIGHT_API Device& current_device();
// False where `current_device` throws for want of a device.
OPWRIGHT_API bool has_current_device() noexcept;
// The device of threads that have set none, as the file given to aclInit says.
void set_default_device(int id);
OPWRIGHT_API void set_current_device(int id);
// nullptr when none was set.
Device* current_device_or_null() noexcept;

// A context handle is the address of its device.
Device& device_of_context(aclrtContext context);

OPWRIGHT_API Handles<Stream>& streams();
EventHandles& events();

std::shared_ptr<Stream> create_stream(int device, uint32_t priority);
// Null means the default stream of the current device.
OPWRIGHT_API std::shared_ptr<Stream> stream_of(aclrtStream handle);
std::vector<std::shared_ptr<Stream>> streams_of(int device);
// Before memory of the device goes away, which pending tasks may still use. A task that does it must not wait for
// itself.
void wait_for_users_on(int device);

// Waits for one stream and throws its pending failure, or `timeout_code` when the time is over.
OPWRIGHT_API void synchronize(Stream& stream, Stream::Timeout timeout);
void synchronize_device(int device, Stream::Timeout timeout);
// Writes the pending failure of a stream to the log if nobody can ask for it any more.
void write_if_lost(const std::optional<Failure>& failure) noexcept;
// Throws the failure of an asynchronous task that a synchronizing call of this thread has to report.
[[noreturn]] void report(Failure failure);
// The error that `report` has thrown on this thread, unless its message was read or another error came after it.
// Answered once. A copy that follows reports it again: what it would copy is not what the operator should have left,
// and torch_npu shows the text of the failed copy, but not that of the failed synchronization before it.
std::optional<Failure> take_unread_failure();

}  // namespace opwright
