// native/runtime/device.cpp
#include "runtime/device.h"

#include <algorithm>
#include <cstdlib>

#include "runtime/log.h"
#include "runtime/memory/memory.h"
#include "runtime/settings.h"
#include "runtime/soc.h"
#include "runtime/streams/capture/capture.h"

namespace opwright {
namespace {

struct Devices {
  Devices() {
    for (size_t id = 0; id < settings().visible_devices.size(); ++id) {
      all.push_back(std::make_unique<Device>(static_cast<int>(id)));
    }
  }
  std::vector<std::unique_ptr<Device>> all;
};

Devices& devices() {
  static Devices* const instance = new Devices();  // callers hold contexts until the process ends
  return *instance;
}

thread_local Device* thread_device = nullptr;
constexpr int kNoDevice = -1;
std::atomic<int> default_device{kNoDevice};
thread_local std::optional<Failure> reported;
std::atomic<int32_t> next_stream_id{0};

}  // namespace

std::array<uint32_t, 2> all_cores() {
  return {static_cast<uint32_t>(soc().cube_cores), static_cast<uint32_t>(soc().vector_cores)};
}

uint32_t limit_of(const Stream& stream, aclrtDevResLimitType type) {
  const uint32_t own = stream.limit(static_cast<size_t>(type));
  return own != 0 ? own : device_at(stream.device()).limits().get(type);
}

Device::Device(int id) : id_(id), limits_(all_cores()) {}

std::shared_ptr<Stream> Device::default_stream() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (default_stream_ == nullptr) default_stream_ = create_stream(id_, 0);
  return default_stream_;
}

void Device::release() {
  // There may be no user: a thread has the default device without aclrtSetDevice.
  if (users_.fetch_sub(1) <= 1) reset();
}

void Device::reset() {
  users_.store(0);
  abandon_captures(id_);
  synchronize_device(id_, std::nullopt);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    default_stream_.reset();
  }
  for (const auto& stream : streams_of(id_)) streams().remove(stream.get());
  memory::release_all(id_);
  active_.store(false);
}

size_t device_count() { return devices().all.size(); }

Device& device_at(int id) {
  require_not_forked();
  require(id >= 0 && static_cast<size_t>(id) < device_count(), ACL_ERROR_RT_INVALID_DEVICEID, "device index ", id,
          " is out of range; this process has ", device_count(), " device(s), set OPWRIGHT_DEVICES for more");
  return *devices().all[static_cast<size_t>(id)];
}

Device& current_device() {
  const int id = thread_device != nullptr ? thread_device->id() : default_device.load();
  require(id != kNoDevice, ACL_ERROR_RT_CONTEXT_NULL,
          "this thread has no device; call aclrtSetDevice or aclrtSetCurrentContext first");
  return device_at(id);
}

bool has_current_device() noexcept { return thread_device != nullptr || default_device.load() != kNoDevice; }

void set_default_device(int id) { default_device.store(id); }

Device* current_device_or_null() noexcept { return thread_device; }

void set_current_device(int id) {
  Device& device = device_at(id);
  device.activate();
  thread_device = &device;
}

Device& device_of_context(aclrtContext context) {
  for (const auto& device : devices().all) {
    if (device.get() == context) return *device;
  }
  fail(ACL_ERROR_RT_CONTEXT_NULL, "context ", context, " does not exist");
}

Handles<Stream>& streams() {
  static auto* const instance = new Handles<Stream>("stream", ACL_ERROR_RT_STREAM_CONTEXT);
  return *instance;
}

EventHandles& events() {
  static auto* const instance = new EventHandles();
  return *instance;
}

std::shared_ptr<Stream> create_stream(int device, uint32_t priority) {
  static const int registered = std::atexit([] {
    for (const auto& stream : streams().all()) write_if_lost(stream->failure());
  });
  (void)registered;
  auto stream = std::make_shared<Stream>(device, next_stream_id.fetch_add(1), priority);
  streams().add(stream);
  return stream;
}

std::shared_ptr<Stream> stream_of(aclrtStream handle) {
  require_not_forked();
  return handle == nullptr ? current_device().default_stream() : streams().find(handle);
}

std::vector<std::shared_ptr<Stream>> streams_of(int device) {
  std::vector<std::shared_ptr<Stream>> found;
  for (auto& stream : streams().all()) {
    if (stream->device() == device) found.push_back(std::move(stream));
  }
  // By age: the table has them by address, which is another order in each process.
  std::sort(found.begin(), found.end(), [](const auto& left, const auto& right) { return left->id() < right->id(); });
  return found;
}

void wait_for_users_on(int device) {
  if (Stream::current() != nullptr) return;
  for (const auto& stream : streams_of(device)) stream->wait(std::nullopt);
}

void synchronize(Stream& stream, Stream::Timeout timeout) {
  require(stream.wait(timeout), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "stream ", stream.id(), " has not finished after ",
          timeout ? timeout->count() : 0, " ms");
  if (auto failure = stream.take_failure()) report(std::move(*failure));
}

void synchronize_device(int device, Stream::Timeout timeout) {
  const auto begin = std::chrono::steady_clock::now();
  std::optional<Failure> first;
  for (const auto& stream : streams_of(device)) {
    Stream::Timeout left = timeout;
    if (timeout) {
      const auto spent =
          std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
      left = std::max(*timeout - spent, std::chrono::milliseconds(0));
    }
    require(stream->wait(left), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "device ", device, ": stream ", stream->id(),
            " has not finished after ", timeout ? timeout->count() : 0, " ms");
    auto failure = stream->failure();
    if (failure && first) write_if_lost(failure);  // the call can report one
    failure = stream->take_failure();
    if (failure && !first) first = std::move(failure);
  }
  if (first) report(std::move(*first));
}

void write_if_lost(const std::optional<Failure>& failure) noexcept {
  if (failure && !failure->reported->exchange(true)) log::write_lost_failure(failure->code, failure->text);
}

void report(Failure failure) {
  reported = std::move(failure);
  throw Error(reported->code, reported->text);
}

std::optional<Failure> take_unread_failure() {
  std::optional<Failure> failure = std::exchange(reported, std::nullopt);
  if (!failure) return std::nullopt;
  const std::string& message = recent_message();
  const std::string& text = failure->text;
  const bool unread =
      message.size() >= text.size() && message.compare(message.size() - text.size(), text.size(), text) == 0;
  return unread ? failure : std::nullopt;
}

}  // namespace opwright
