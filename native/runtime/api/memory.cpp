// native/runtime/api/memory.cpp
// Allocation, copies and fills.
#include "runtime/memory/memory.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "acl/acl_rt.h"
#include "runtime/device.h"
#include "runtime/explore/results.h"
#include "runtime/memory/backing.h"
#include "runtime/memory/host_memory.h"
#include "runtime/memory/memory_space.h"
#include "runtime/order/order.h"
#include "runtime/streams/capture/capture.h"
#include "runtime/streams/consumer_thread.h"

using namespace opwright;

namespace {

void allocate(void** devPtr, size_t size) {
  void*& result = out(devPtr, "devPtr");
  result = memory::allocate(current_device().id(), size);
}

void allocate_host(void** pointer, size_t size, const char* name) {
  void*& result = out(pointer, name);
  result = host_memory::allocate(size);
}

enum class Side { kHost, kDevice, kByAddress };

struct Sides {
  Side destination;
  Side source;
};

Sides sides_of(aclrtMemcpyKind kind) {
  switch (kind) {
    case ACL_MEMCPY_HOST_TO_HOST:
      return {Side::kHost, Side::kHost};
    case ACL_MEMCPY_HOST_TO_DEVICE:
    case ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE:
      return {Side::kDevice, Side::kHost};
    case ACL_MEMCPY_DEVICE_TO_HOST:
      return {Side::kHost, Side::kDevice};
    case ACL_MEMCPY_DEVICE_TO_DEVICE:
    case ACL_MEMCPY_INNER_DEVICE_TO_DEVICE:
    case ACL_MEMCPY_INTER_DEVICE_TO_DEVICE:
      return {Side::kDevice, Side::kDevice};
    case ACL_MEMCPY_DEFAULT:
      return {Side::kByAddress, Side::kByAddress};
  }
  fail(ACL_ERROR_RT_PARAM_INVALID, "copy kind ", static_cast<int>(kind), " does not exist");
}

constexpr char kSynchronous[] =
    "a synchronous copy or fill runs at once (.cpu(), .tolist(), torch.tensor([...], device='npu'), an index on the "
    "CPU, or an operator that falls back to the CPU)";

// Where the host reaches the range, after checking that it is what the copy kind says.
char* reach(const void* address, size_t size, Side side, const char* what) {
  const bool on_device = memory::is_device_address(address);
  if (side == Side::kDevice || (side == Side::kByAddress && on_device)) {
    return static_cast<char*>(memory::reachable_alias(address, size, what));
  }
  require(!on_device, ACL_ERROR_RT_PARAM_INVALID, what, ": ", address,
          " is a device address, but the copy kind says host memory");
  require(address != nullptr, ACL_ERROR_RT_PARAM_INVALID, what, ": null pointer");
  return static_cast<char*>(host_memory::twins_view_of(address));
}

struct Copy {
  char* destination;
  const char* source;
  size_t count;
  std::shared_ptr<explore::Result> result;
  bool pageable;  // host memory that the caller may reuse as soon as an asynchronous call returns
  MemoryRange written;
  MemoryRange read;

  void run() const {
    std::memmove(destination, source, count);
    if (result != nullptr) result->note(destination, count);
  }
};

class CopyTask final : public Task {
 public:
  CopyTask(const char* name, const Copy& copy) : name_(name), copy_(copy) {}

  void run() override { copy_.run(); }
  const char* name() const noexcept override { return name_; }
  std::string trace_args() const override {
    return text("\"dst\":\"", copy_.written.address, "\",\"src\":\"", copy_.read.address, "\",\"count\":", copy_.count);
  }
  std::vector<MemoryRange> memory_ranges() override { return {copy_.written, copy_.read}; }

 private:
  const char* const name_;  // a string literal
  const Copy copy_;
};

// A copy from pageable memory, whose contents are those of the call.
class StagedCopyTask final : public Task {
 public:
  StagedCopyTask(const char* name, const Copy& copy)
      : name_(name), copy_(copy), staged_(copy.source, copy.source + copy.count) {}

  void run() override {
    std::memcpy(copy_.destination, staged_.data(), staged_.size());
    if (copy_.result != nullptr) copy_.result->note(staged_.data(), staged_.size());
  }
  const char* name() const noexcept override { return name_; }
  std::vector<MemoryRange> memory_ranges() override { return {copy_.written}; }

 private:
  const char* const name_;  // a string literal
  const Copy copy_;
  const std::vector<char> staged_;
};

class FillTask final : public Task {
 public:
  FillTask(void* address, char* target, int32_t value, size_t count)
      : address_(address), target_(target), value_(value), count_(count) {}

  void run() override { std::memset(target_, value_, count_); }
  const char* name() const noexcept override { return "aclrtMemsetAsync"; }
  std::string trace_args() const override {
    return text("\"devPtr\":\"", address_, "\",\"value\":", value_, ",\"count\":", count_);
  }
  std::vector<MemoryRange> memory_ranges() override {
    return {{address_, count_, /*read=*/false, /*written=*/true, "devPtr"}};
  }

 private:
  void* const address_;
  char* const target_;
  const int32_t value_;
  const size_t count_;
};

template <class Body>
TaskPtr make_work(const char* name, Body body, std::vector<MemoryRange> ranges) {
  return std::make_unique<FunctionTask<Body>>(name, std::move(body), /*bookkeeping=*/false, std::move(ranges));
}

// Rows of `width` bytes; the next row begins a pitch behind the last one.
struct GridCopy {
  char* destination;
  const char* source;
  size_t destination_pitch;
  size_t source_pitch;
  size_t width;
  size_t height;
  std::shared_ptr<explore::Result> result;
  MemoryRange written;
  MemoryRange read;

  void run() const {
    for (size_t row = 0; row < height; ++row) {
      char* const to = destination + row * destination_pitch;
      std::memmove(to, source + row * source_pitch, width);
      if (result != nullptr) result->note(to, width);
    }
  }
};

bool is_pageable(const void* address) {
  return !memory::is_device_address(address) && !host_memory::is_pinned(address);
}

Copy prepare(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind) {
  require_not_forked();
  require(count > 0, ACL_ERROR_RT_PARAM_INVALID, "cannot copy 0 bytes");
  require(destMax >= count, ACL_ERROR_RT_PARAM_INVALID, "the destination has ", destMax, " bytes, but ", count,
          " are to be copied");
  const auto [destination_side, source_side] = sides_of(kind);
  Copy copy;
  copy.destination = reach(dst, count, destination_side, "destination");
  copy.source = reach(src, count, source_side, "source");
  copy.count = count;
  copy.result = explore::result_of_copy(memory::is_device_address(src), memory::is_device_address(dst));
  copy.pageable = is_pageable(src);
  copy.written = {dst, count, /*read=*/false, /*written=*/true, "dst"};
  copy.read = {src, count, /*read=*/true, /*written=*/false, "src"};
  return copy;
}

MemoryRange grid_range(MemoryRange range, size_t width, size_t height, size_t pitch) {
  range.run = width;
  range.repeats = {{height, pitch}};
  return range;
}

GridCopy prepare_grid(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                      aclrtMemcpyKind kind) {
  require_not_forked();
  require(width > 0 && height > 0, ACL_ERROR_RT_PARAM_INVALID, "cannot copy ", height, " rows of ", width, " bytes");
  require(width <= dpitch && width <= spitch, ACL_ERROR_RT_PARAM_INVALID, "rows of ", width,
          " bytes do not fit pitches of ", dpitch, " and ", spitch);
  size_t destination_bytes = 0, source_bytes = 0;
  require(!__builtin_mul_overflow(dpitch, height, &destination_bytes) &&
              !__builtin_mul_overflow(spitch, height, &source_bytes),
          ACL_ERROR_RT_PARAM_INVALID, height, " rows of ", std::max(dpitch, spitch), " bytes are no size");
  destination_bytes -= dpitch - width;
  source_bytes -= spitch - width;
  const auto [destination_side, source_side] = sides_of(kind);
  GridCopy copy;
  copy.destination = reach(dst, destination_bytes, destination_side, "destination");
  copy.source = reach(src, source_bytes, source_side, "source");
  copy.destination_pitch = dpitch;
  copy.source_pitch = spitch;
  copy.width = width;
  copy.height = height;
  copy.result = explore::result_of_copy(memory::is_device_address(src), memory::is_device_address(dst));
  copy.written = grid_range({dst, destination_bytes, /*read=*/false, /*written=*/true, "dst"}, width, height, dpitch);
  copy.read = grid_range({src, source_bytes, /*read=*/true, /*written=*/false, "src"}, width, height, spitch);
  return copy;
}

template <class AnyCopy>
void note_host_copy(const char* function, const AnyCopy& copy) {
  order::note_host_access(function, copy.read);
  order::note_host_access(function, copy.written);
}

// CANN turns asynchronous copies of pageable memory into synchronous ones. A captured stream takes none in any mode: a
// replay would read memory that may be gone.
void require_asynchronous(const void* dst, const void* src, const Stream& stream) {
  if (!is_pageable(dst) && !is_pageable(src)) return;
  static constexpr char kPageable[] = "an asynchronous copy needs pinned host memory, but this memory is pageable";
  require(stream.sink() == nullptr, ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC, kPageable,
          "; a captured graph cannot keep it. Use tensor.pin_memory(), or copy before the capture");
  require_no_capture_here(kPageable, ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC);
}

void enqueue(const Copy& copy, Stream& stream) {
  static constexpr char kName[] = "aclrtMemcpyAsync";
  if (!copy.pageable) {
    stream.submit(std::make_unique<CopyTask>(kName, copy));
    return;
  }
  // A large source is copied in place of being staged: the stream is drained, which keeps the order.
  constexpr size_t kMostStaged = 64 << 10;
  if (copy.count > kMostStaged) {
    stream.submit(std::make_unique<CopyTask>(kName, copy));
    stream.wait(std::nullopt);
    return;
  }
  stream.submit(std::make_unique<StagedCopyTask>(kName, copy));
}

char* prepare_fill(void* devPtr, size_t maxCount, size_t count) {
  require(count <= maxCount, ACL_ERROR_RT_PARAM_INVALID, "the memory has ", maxCount, " bytes, but ", count,
          " are to be set");
  return reach(devPtr, count, Side::kByAddress, "memory");
}

struct Fill32 {
  char* target;
  uint32_t value;
  size_t count;

  void run() const {
    for (size_t i = 0; i < count; ++i) std::memcpy(target + i * sizeof value, &value, sizeof value);
  }
};

Fill32 prepare_fill_32(void* ptr, size_t memSize, uint32_t value, size_t count) {
  require(count <= memSize / sizeof value, ACL_ERROR_RT_PARAM_INVALID, "the memory has ", memSize, " bytes, but ",
          count, " numbers of 4 bytes are to be set");
  require(reinterpret_cast<uintptr_t>(ptr) % sizeof value == 0, ACL_ERROR_RT_PARAM_INVALID, "address ", ptr,
          " is not aligned to 4 bytes");
  return {reach(ptr, count * sizeof value, Side::kByAddress, "memory"), value, count};
}

void release(void* devPtr) {
  require_not_forked();
  if (memory::is_device_address(devPtr)) wait_for_users_on(memory::device_of(devPtr));
  memory::release(devPtr);
}

// The processor's caches and the device's memory are the same here.
void require_reachable(void* devPtr, size_t size) { reach(devPtr, size, Side::kDevice, "memory"); }

}  // namespace

aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return call("aclrtMalloc", [&] { allocate(devPtr, size); }, arg("size", size), arg("policy", policy));
}

aclError aclrtMallocAlign32(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return call("aclrtMallocAlign32", [&] { allocate(devPtr, size); }, arg("size", size), arg("policy", policy));
}

aclError aclrtMallocCached(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return call("aclrtMallocCached", [&] { allocate(devPtr, size); }, arg("size", size), arg("policy", policy));
}

aclError aclrtMallocWithCfg(void** devPtr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig* cfg) {
  return call(
      "aclrtMallocWithCfg",
      [&] {
        require(cfg == nullptr, ACL_ERROR_FEATURE_UNSUPPORTED, "parameter 'cfg' is given; allowed: null");
        allocate(devPtr, size);
      },
      arg("size", size), arg("policy", policy));
}

aclError aclrtMemFlush(void* devPtr, size_t size) {
  return call("aclrtMemFlush", [&] { require_reachable(devPtr, size); }, arg("devPtr", devPtr), arg("size", size));
}

aclError aclrtMemInvalidate(void* devPtr, size_t size) {
  return call("aclrtMemInvalidate", [&] { require_reachable(devPtr, size); }, arg("devPtr", devPtr), arg("size", size));
}

aclError aclrtFree(void* devPtr) {
  return call("aclrtFree", [&] { release(devPtr); }, arg("devPtr", devPtr));
}

aclError aclrtFreeWithDevSync(void* devPtr) {
  return call(
      "aclrtFreeWithDevSync",
      [&] {
        synchronize_device(current_device().id(), std::nullopt);
        release(devPtr);
      },
      arg("devPtr", devPtr));
}

aclError aclrtFreeHostWithDevSync(void* hostPtr) {
  return call(
      "aclrtFreeHostWithDevSync",
      [&] {
        synchronize_device(current_device().id(), std::nullopt);
        host_memory::release(hostPtr);
      },
      arg("hostPtr", hostPtr));
}

aclError aclrtMallocHost(void** hostPtr, size_t size) {
  return call("aclrtMallocHost", [&] { allocate_host(hostPtr, size, "hostPtr"); }, arg("size", size));
}

aclError aclrtMallocHostWithCfg(void** ptr, uint64_t size, aclrtMallocConfig*) {
  return call("aclrtMallocHostWithCfg", [&] { allocate_host(ptr, size, "ptr"); }, arg("size", size));
}

aclError aclrtFreeHost(void* hostPtr) {
  return call("aclrtFreeHost", [&] { host_memory::release(hostPtr); }, arg("hostPtr", hostPtr));
}

aclError aclrtHostRegisterV2(void* ptr, uint64_t size, uint32_t flag) {
  return call(
      "aclrtHostRegisterV2", [&] { host_memory::enroll(ptr, size); }, arg("ptr", ptr), arg("size", size),
      arg("flag", flag));
}

aclError aclrtHostUnregister(void* ptr) {
  return call(
      "aclrtHostUnregister",
      [&] {
        if (const auto device = host_memory::device_of(ptr)) wait_for_users_on(*device);
        host_memory::withdraw(ptr);
      },
      arg("ptr", ptr));
}

aclError aclrtHostRegister(void* ptr, uint64_t size, aclrtHostRegisterType type, void** devPtr) {
  return call(
      "aclrtHostRegister",
      [&] {
        require(type == ACL_HOST_REGISTER_MAPPED, ACL_ERROR_FEATURE_UNSUPPORTED, "parameter 'type' is ",
                static_cast<int>(type), "; allowed: 0 (ACL_HOST_REGISTER_MAPPED)");
        require_not_forked();
        void*& result = out(devPtr, "devPtr");
        result = host_memory::enroll_on(current_device().id(), ptr, size);
      },
      arg("ptr", ptr), arg("size", size), arg("type", type));
}

aclError aclrtHostGetDevicePointer(void* pHost, void** pDevice, uint32_t flag) {
  return call(
      "aclrtHostGetDevicePointer",
      [&] {
        require(flag == 0, ACL_ERROR_RT_PARAM_INVALID, "parameter 'flag' is ", flag,
                ", but it is reserved and must be 0");
        require_not_forked();
        void*& result = out(pDevice, "pDevice");
        result = host_memory::device_address_of(current_device().id(), pHost);
      },
      arg("pHost", pHost), arg("flag", flag));
}

aclError aclrtPointerGetAttributes(const void* ptr, aclrtPtrAttributes* attributes) {
  return call(
      "aclrtPointerGetAttributes",
      [&] {
        aclrtPtrAttributes& result = out(attributes, "attributes");
        result = {};
        if (memory::is_device_address(ptr)) {
          result.location = {static_cast<uint32_t>(memory::device_of(ptr)), ACL_MEM_LOCATION_TYPE_DEVICE};
          result.pageSize = memory::kGranularity;
        } else {
          result.location.type =
              host_memory::is_pinned(ptr) ? ACL_MEM_LOCATION_TYPE_HOST : ACL_MEM_LOCATION_TYPE_UNREGISTERED;
        }
      },
      arg("ptr", ptr));
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total) {
  return call(
      "aclrtGetMemInfo",
      [&] {
        out(free, "free") = memory::free_bytes(current_device().id());
        out(total, "total") = memory::total_bytes();
      },
      arg("attr", attr));
}

aclError aclrtGetMemUsageInfo(int32_t deviceId, aclrtMemUsageInfo* memUsageInfo, size_t inputNum, size_t* outputNum) {
  return call(
      "aclrtGetMemUsageInfo",
      [&] {
        device_at(deviceId);
        require(inputNum >= 1, ACL_ERROR_RT_PARAM_INVALID, "room for at least one entry is needed");
        aclrtMemUsageInfo& entry = out(memUsageInfo, "memUsageInfo");
        entry = {};
        std::strcpy(entry.name, "APP");
        entry.curMemSize = memory::used_bytes(deviceId);
        entry.memPeakSize = memory::peak_bytes(deviceId);
        out(outputNum, "outputNum") = 1;
      },
      arg("deviceId", deviceId));
}

aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind) {
  return call(
      "aclrtMemcpy",
      [&] {
        const Copy copy = prepare(dst, destMax, src, count, kind);
        require_no_capture_here(kSynchronous);
        if (const auto failure = take_unread_failure()) throw Error(failure->code, failure->text);
        note_host_copy("aclrtMemcpy", copy);
        copy.run();
      },
      arg("dst", dst), arg("src", src), arg("count", count), arg("kind", kind));
}

aclError aclrtMemcpy2d(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                       aclrtMemcpyKind kind) {
  return call(
      "aclrtMemcpy2d",
      [&] {
        const GridCopy copy = prepare_grid(dst, dpitch, src, spitch, width, height, kind);
        require_no_capture_here(kSynchronous);
        if (const auto failure = take_unread_failure()) throw Error(failure->code, failure->text);
        note_host_copy("aclrtMemcpy2d", copy);
        copy.run();
      },
      arg("dst", dst), arg("src", src), arg("width", width), arg("height", height), arg("kind", kind));
}

aclError aclrtMemcpy2dAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                            aclrtMemcpyKind kind, aclrtStream stream) {
  return call_on_stream(
      "aclrtMemcpy2dAsync", stream,
      [&] {
        const GridCopy copy = prepare_grid(dst, dpitch, src, spitch, width, height, kind);
        const auto target = stream_of(stream);
        require_asynchronous(dst, src, *target);
        target->submit(make_work("aclrtMemcpy2dAsync", [copy] { copy.run(); }, {copy.written, copy.read}));
        if (is_pageable(src)) target->wait(std::nullopt);  // which the caller may reuse when the call returns
      },
      arg("dst", dst), arg("src", src), arg("width", width), arg("height", height), arg("kind", kind));
}

aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind,
                          aclrtStream stream) {
  return call_on_stream(
      "aclrtMemcpyAsync", stream,
      [&] {
        const Copy copy = prepare(dst, destMax, src, count, kind);
        const auto target = stream_of(stream);
        require_asynchronous(dst, src, *target);
        enqueue(copy, *target);
      },
      arg("dst", dst), arg("src", src), arg("count", count), arg("kind", kind));
}

aclError aclrtMemcpyAsyncWithCondition(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind,
                                       aclrtStream stream) {
  return call_on_stream(
      "aclrtMemcpyAsyncWithCondition", stream,
      [&] {
        // "Condition": pageable host memory makes the copy synchronous.
        const Copy copy = prepare(dst, destMax, src, count, kind);
        const auto target = stream_of(stream);
        require_asynchronous(dst, src, *target);
        target->submit(std::make_unique<CopyTask>("aclrtMemcpyAsyncWithCondition", copy));
        const bool waits = copy.pageable || is_pageable(dst);
        if (waits && target->sink() == nullptr) synchronize(*target, std::nullopt);
      },
      arg("dst", dst), arg("src", src), arg("count", count), arg("kind", kind));
}

aclError aclrtMemcpyBatch(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes, size_t numBatches,
                          aclrtMemcpyBatchAttr*, size_t*, size_t, size_t* failIndex) {
  return call(
      "aclrtMemcpyBatch",
      [&] {
        require_no_capture_here(kSynchronous);
        for (size_t i = 0; i < numBatches; ++i) {
          out(failIndex, "failIndex") = i;
          const Copy copy = prepare(dsts[i], destMaxs[i], srcs[i], sizes[i], ACL_MEMCPY_DEFAULT);
          note_host_copy("aclrtMemcpyBatch", copy);
          copy.run();
        }
      },
      arg("numBatches", numBatches));
}

aclError aclrtMemcpyBatchAsync(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes, size_t numBatches,
                               aclrtMemcpyBatchAttr*, size_t*, size_t, size_t* failIndex, aclrtStream stream) {
  return call_on_stream(
      "aclrtMemcpyBatchAsync", stream,
      [&] {
        const auto target = stream_of(stream);
        for (size_t i = 0; i < numBatches; ++i) {
          out(failIndex, "failIndex") = i;
          require_asynchronous(dsts[i], srcs[i], *target);
          enqueue(prepare(dsts[i], destMaxs[i], srcs[i], sizes[i], ACL_MEMCPY_DEFAULT), *target);
        }
      },
      arg("numBatches", numBatches));
}

aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
  return call(
      "aclrtMemset",
      [&] {
        char* const target = prepare_fill(devPtr, maxCount, count);
        require_no_capture_here(kSynchronous);
        order::note_host_access("aclrtMemset", {devPtr, count, /*read=*/false, /*written=*/true, "devPtr"});
        std::memset(target, value, count);
      },
      arg("devPtr", devPtr), arg("value", value), arg("count", count));
}

aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream) {
  return call_on_stream(
      "aclrtMemsetAsync", stream,
      [&] {
        char* const target = prepare_fill(devPtr, maxCount, count);
        stream_of(stream)->submit(std::make_unique<FillTask>(devPtr, target, value, count));
      },
      arg("devPtr", devPtr), arg("value", value), arg("count", count));
}

aclError aclrtMemsetD32(void* ptr, size_t memSize, uint32_t value, size_t N) {
  return call(
      "aclrtMemsetD32",
      [&] {
        const Fill32 fill = prepare_fill_32(ptr, memSize, value, N);
        require_no_capture_here(kSynchronous);
        order::note_host_access("aclrtMemsetD32", {ptr, N * sizeof value, /*read=*/false, /*written=*/true, "ptr"});
        fill.run();
      },
      arg("ptr", ptr), arg("value", value), arg("N", N));
}

aclError aclrtMemsetD32Async(void* ptr, size_t memSize, uint32_t value, size_t N, aclrtStream stream) {
  return call_on_stream(
      "aclrtMemsetD32Async", stream,
      [&] {
        const Fill32 fill = prepare_fill_32(ptr, memSize, value, N);
        stream_of(stream)->submit(make_work("aclrtMemsetD32Async", [fill] { fill.run(); },
                                            {{ptr, N * sizeof value, /*read=*/false, /*written=*/true, "ptr"}}));
      },
      arg("ptr", ptr), arg("value", value), arg("N", N));
}

aclError aclrtCmoAsync(void* src, size_t size, aclrtCmoType cmoType, aclrtStream stream) {
  return call_on_stream(
      "aclrtCmoAsync", stream,
      [&] {
        // A hint about the cache: nothing to do once the range is known to be valid.
        reach(src, size, Side::kDevice, "source");
        stream_of(stream);
      },
      arg("src", src), arg("size", size), arg("cmoType", cmoType));
}
