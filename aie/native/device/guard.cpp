// guard.cpp: current device, streams and events. A stream is a number: work has ended when its call returns.
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>

#include <array>
#include <atomic>
#include <chrono>

#include "npu.h"

namespace torch_aie::device::parts {

namespace {

using c10::Device;
using c10::DeviceIndex;
using c10::Stream;
using c10::StreamId;
using Clock = std::chrono::steady_clock;

constexpr StreamId kDefaultStream = 0;

thread_local DeviceIndex t_device = 0;
thread_local std::array<StreamId, kDevices> t_streams{};
std::atomic<StreamId> last_stream{kDefaultStream};

DeviceIndex checked(DeviceIndex index) {
  TORCH_CHECK_VALUE(index >= 0 && index < kDevices, "device npu:", static_cast<int>(index),
                    ": there is none, allowed are npu:0 to npu:", kDevices - 1);
  return index;
}

struct Event {
  Clock::time_point recorded;
};

const Event& event_of(const void* event) {
  TORCH_CHECK(event != nullptr, "event: it was never recorded: call record() first");
  return *static_cast<const Event*>(event);
}

class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return kNpu; }

  Device exchangeDevice(Device device) const override {
    const Device before = getDevice();
    setDevice(device);
    return before;
  }
  Device getDevice() const override { return {kNpu, t_device}; }
  void setDevice(Device device) const override { t_device = checked(device.index()); }
  void uncheckedSetDevice(Device device) const noexcept override { t_device = device.index(); }
  DeviceIndex deviceCount() const noexcept override { return kDevices; }

  Stream getStream(Device device) const override { return stream(device, t_streams.at(index_of(device))); }
  Stream getDefaultStream(Device device) const override { return stream(device, kDefaultStream); }
  Stream getNewStream(Device device, int /*priority*/) const override { return stream(device, ++last_stream); }
  Stream getStreamFromGlobalPool(Device device, bool /*isHighPriority*/) const override {
    return stream(device, ++last_stream);
  }
  Stream exchangeStream(Stream chosen) const override {
    const Stream before = getStream(chosen.device());
    t_streams.at(index_of(chosen.device())) = chosen.id();
    return before;
  }

  bool queryStream(const Stream& /*stream*/) const override { return true; }
  void synchronizeStream(const Stream& /*stream*/) const override {}
  void synchronizeDevice(DeviceIndex /*index*/) const override {}

  void record(void** event, const Stream& /*stream*/, DeviceIndex /*index*/, c10::EventFlag /*flag*/) const override {
    if (*event == nullptr) *event = std::make_unique<Event>().release();  // destroyEvent takes it back
    static_cast<Event*>(*event)->recorded = Clock::now();
  }
  void destroyEvent(void* event, DeviceIndex /*index*/) const noexcept override {
    const std::unique_ptr<Event> taken(static_cast<Event*>(event));
  }
  void block(void* /*event*/, const Stream& /*stream*/) const override {}
  bool queryEvent(void* /*event*/) const override { return true; }
  void synchronizeEvent(void* /*event*/) const override {}
  double elapsedTime(void* from, void* to, DeviceIndex /*index*/) const override {
    return std::chrono::duration<double, std::milli>(event_of(to).recorded - event_of(from).recorded).count();
  }

 private:
  static size_t index_of(Device device) { return checked(device.has_index() ? device.index() : t_device); }
  static Stream stream(Device device, StreamId id) {
    return Stream(Stream::UNSAFE, Device(kNpu, static_cast<DeviceIndex>(index_of(device))), id);
  }
};

}  // namespace

DeviceIndex current() { return t_device; }

void set_current(DeviceIndex index) { t_device = checked(index); }

void add_guard() {
  static const Guard guard;
  const c10::impl::DeviceGuardImplRegistrar registered(kNpu, &guard);
}

}  // namespace torch_aie::device::parts
