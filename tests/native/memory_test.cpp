// tests/native/memory_test.cpp
// Device memory: isolation, limits, copies, freed and foreign addresses, memory that others have too.
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "scenario.h"

namespace {

using opwright::test::start;

void* device_memory(size_t size) {
  void* pointer = nullptr;
  OK(aclrtMalloc(&pointer, size, ACL_MEM_MALLOC_HUGE_FIRST));
  return pointer;
}

sigjmp_buf after_fault;

}  // namespace

SCENARIO(copies_go_through_the_device_unchanged) {
  start();
  std::vector<int> source(1000);
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<int>(i * i);
  std::vector<int> result(source.size());
  const size_t bytes = source.size() * sizeof(int);
  void* const first = device_memory(bytes);
  OK(aclrtSetDevice(1));
  void* const second = device_memory(bytes);
  OK(aclrtMemcpy(first, bytes, source.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
  OK(aclrtMemcpy(second, bytes, first, bytes, ACL_MEMCPY_INTER_DEVICE_TO_DEVICE));
  OK(aclrtMemcpy(result.data(), bytes, second, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  CHECK(result == source);
  OK(aclrtFree(first));
  OK(aclrtFree(second));
}

SCENARIO(addresses_are_aligned_and_sizes_are_counted) {
  start();
  size_t free_before = 0;
  size_t total = 0;
  OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_before, &total));
  void* const pointer = device_memory(1);
  CHECK_EQ(reinterpret_cast<uintptr_t>(pointer) % 512, 0u);
  size_t free_now = 0;
  OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_now, &total));
  CHECK_EQ(free_before - free_now, 512u);
  OK(aclrtFree(pointer));
  OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_now, &total));
  CHECK_EQ(free_now, free_before);
}

SCENARIO(a_call_without_room_for_its_answer_takes_nothing) {
  start();
  size_t free_before = 0;
  size_t total = 0;
  OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_before, &total));
  constexpr size_t kBlock = 2 << 20;
  aclrtPhysicalMemProp prop = {};
  prop.location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
  REFUSED(aclrtMalloc(nullptr, kBlock, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_PARAM_INVALID, "'devPtr' is null");
  REFUSED(aclrtMallocPhysical(nullptr, kBlock, &prop, 0), ACL_ERROR_RT_PARAM_INVALID, "'handle' is null");
  size_t free_now = 0;
  OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_now, &total));
  CHECK_EQ(free_now, free_before);
  void* pages = nullptr;
  OK(aclrtMallocHost(&pages, kBlock));
  REFUSED(aclrtHostRegister(pages, kBlock, ACL_HOST_REGISTER_MAPPED, nullptr), ACL_ERROR_RT_PARAM_INVALID,
          "'devPtr' is null");
  OK(aclrtFreeHost(pages));  // refused while it is registered
}

SCENARIO(a_block_is_given_back_to_its_own_device) {
  start();
  constexpr size_t kBlock = 2 << 20;
  void* address = nullptr;
  OK(aclrtReserveMemAddress(&address, kBlock, 0, nullptr, 0));  // of device 0
  OK(aclrtSetDevice(1));
  size_t free_before = 0;
  size_t total = 0;
  OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_before, &total));
  std::atomic<bool> done{false};
  std::thread other([&] {
    OK(aclrtSetDevice(1));
    while (!done.load()) OK(aclrtFree(device_memory(512)));
  });
  aclrtPhysicalMemProp prop = {};
  prop.location = {1, ACL_MEM_LOCATION_TYPE_DEVICE};
  for (int i = 0; i < 100; ++i) {
    aclrtDrvMemHandle handle = nullptr;
    OK(aclrtMallocPhysical(&handle, kBlock, &prop, 0));
    OK(aclrtMapMem(address, kBlock, 0, handle, 0));
    OK(aclrtFreePhysical(handle));
    OK(aclrtUnmapMem(address));  // the last that has the block
  }
  done.store(true);
  other.join();
  size_t free_now = 0;
  OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_now, &total));
  CHECK_EQ(free_now, free_before);
}

// TorchAir's thread that prints sets and resets the device that the program uses.
SCENARIO(a_device_is_reset_by_the_last_of_its_users) {
  start();
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  void* const block = device_memory(16);
  std::thread([] {
    OK(aclrtSetDevice(0));
    OK(aclrtResetDevice(0));
  }).join();
  OK(aclrtMemset(block, 16, 0, 16));
  OK(aclrtSynchronizeStream(stream));
  OK(aclrtResetDevice(0));
  REFUSED(aclrtSynchronizeStream(stream), 107003, "does not exist");
  OK(aclrtSetDevice(0));
  OK(aclrtMemset(device_memory(16), 16, 0, 16));
}

SCENARIO(host_code_cannot_touch_device_memory) {
  start();
  struct sigaction action = {};
  action.sa_handler = [](int) { siglongjmp(after_fault, 1); };
  sigaction(SIGSEGV, &action, nullptr);
  volatile char* const pointer = static_cast<char*>(device_memory(4096));
  bool faulted = sigsetjmp(after_fault, 1) != 0;
  if (!faulted) pointer[0] = 1;
  CHECK(faulted);
}

SCENARIO(the_limit_is_an_out_of_memory_error_and_leaves_the_device_usable) {
  start();
  size_t free_bytes = 0;
  size_t total = 0;
  OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total));
  void* pointer = nullptr;
  REFUSED(aclrtMalloc(&pointer, total + 1, ACL_MEM_MALLOC_HUGE_FIRST), 207001, "aclrtMalloc", "EL0004",
          "Failed to allocate");
  void* const most = device_memory(total - 512);
  REFUSED(aclrtMalloc(&pointer, 1024, ACL_MEM_MALLOC_HUGE_FIRST), 207001, "in use");
  OK(aclrtFree(most));
  OK(aclrtFree(device_memory(total)));
}

// CANN rounds a size up to 32 bytes and adds 32: programs that were written for it use them.
SCENARIO(an_allocation_has_the_bytes_that_cann_adds) {
  start();
  size_t free_bytes = 0;
  size_t total = 0;
  OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total));
  for (const size_t size : {size_t{1}, size_t{511}, size_t{512}, size_t{4096}, size_t{2} << 20, total}) {
    const size_t reachable = (size + 31) / 32 * 32 + 32;
    char* const pointer = static_cast<char*>(device_memory(size));
    OK(aclrtMemset(pointer, reachable, 1, reachable));
    if (size < total) {  // the next one has pages of its own
      char* const next = static_cast<char*>(device_memory(64));
      OK(aclrtMemset(next, 64, 2, 64));
      char last = 0;
      OK(aclrtMemcpy(&last, 1, pointer + size - 1, 1, ACL_MEMCPY_DEVICE_TO_HOST));
      CHECK_EQ(last, 1);
      OK(aclrtFree(next));
    }
    OK(aclrtFree(pointer));
  }
  char* const pointer = static_cast<char*>(device_memory(4096));
  REFUSED(aclrtMemset(pointer, 4096 + 33, 1, 4096 + 33), 107000, "range of 4129 bytes");
  OK(aclrtFree(pointer));
  // They do not count: all of the memory can be had in blocks as large as torch_npu's.
  std::vector<void*> blocks;
  for (size_t taken = 0; taken < total; taken += 2 << 20) blocks.push_back(device_memory(2 << 20));
  void* one_more = nullptr;
  REFUSED(aclrtMalloc(&one_more, 1, ACL_MEM_MALLOC_HUGE_FIRST), 207001, "in use");
  for (void* const block : blocks) OK(aclrtFree(block));
}

SCENARIO(freed_and_foreign_addresses_are_named) {
  start();
  char host[64] = {};
  void* const pointer = device_memory(1 << 20);
  OK(aclrtFree(pointer));
  REFUSED(aclrtFree(pointer), 107000, "aclrtFree", "freed or never allocated");
  REFUSED(aclrtFree(host), 107000, "not a device address");
  REFUSED(aclrtFree(nullptr), 107000, "null");
  REFUSED(aclrtMemcpy(pointer, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE), 107000, "destination", "freed");
  REFUSED(aclrtMemcpy(host, 64, host, 64, ACL_MEMCPY_DEVICE_TO_HOST), 107000, "source", "not a device address");
  void* const live = device_memory(64);
  REFUSED(aclrtMemcpy(live, 64, host, 65, ACL_MEMCPY_HOST_TO_DEVICE), 107000, "64", "65");
  REFUSED(aclrtMemcpy(live, 1024, host, 1024, ACL_MEMCPY_HOST_TO_DEVICE), 107000, "range of 1024 bytes");
  REFUSED(aclrtMemcpy(live, 64, live, 64, ACL_MEMCPY_HOST_TO_DEVICE), 107000, "copy kind says host");
  OK(aclrtFree(live));
}

SCENARIO(physical_blocks_are_mapped_into_reserved_addresses) {
  start();
  constexpr size_t kBlock = 2 << 20;
  void* range = nullptr;
  OK(aclrtReserveMemAddress(&range, 4 * kBlock, 0, nullptr, 1));
  aclrtPhysicalMemProp prop = {};
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
  aclrtDrvMemHandle handles[2] = {};
  for (aclrtDrvMemHandle& handle : handles) OK(aclrtMallocPhysical(&handle, kBlock, &prop, 0));
  char* const base = static_cast<char*>(range);
  for (int i = 0; i < 2; ++i) OK(aclrtMapMem(base + i * kBlock, kBlock, 0, handles[i], 0));
  std::vector<char> data(2 * kBlock, 7);
  std::vector<char> back(2 * kBlock, 0);
  // One copy over both blocks: neighbouring mappings are one range.
  OK(aclrtMemcpy(range, data.size(), data.data(), data.size(), ACL_MEMCPY_HOST_TO_DEVICE));
  OK(aclrtMemcpy(back.data(), back.size(), range, back.size(), ACL_MEMCPY_DEVICE_TO_HOST));
  CHECK(back == data);
  REFUSED(aclrtMapMem(base, kBlock, 0, handles[1], 0), 107000, "mapped already");
  REFUSED(aclrtMemcpy(base + 2 * kBlock, 64, data.data(), 64, ACL_MEMCPY_HOST_TO_DEVICE), 107000, "destination");
  REFUSED(aclrtReleaseMemAddress(range), 107000, "unmap it first");
  for (int i = 0; i < 2; ++i) OK(aclrtUnmapMem(base + i * kBlock));
  // The block lives as long as its handle: mapped elsewhere it still has its contents.
  OK(aclrtMapMem(base + 3 * kBlock, kBlock, 0, handles[1], 0));
  back.assign(back.size(), 0);
  OK(aclrtMemcpy(back.data(), kBlock, base + 3 * kBlock, kBlock, ACL_MEMCPY_DEVICE_TO_HOST));
  CHECK(std::memcmp(back.data(), data.data(), kBlock) == 0);
  OK(aclrtUnmapMem(base + 3 * kBlock));
  for (aclrtDrvMemHandle handle : handles) OK(aclrtFreePhysical(handle));
  REFUSED(aclrtFreePhysical(handles[0]), 107000, "not a live physical memory handle");
  OK(aclrtReleaseMemAddress(range));
  size_t free_bytes = 0;
  size_t total = 0;
  OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total));
  CHECK_EQ(free_bytes, total);
}

SCENARIO(sizes_beyond_64_bits_do_not_wrap_around) {
  start();
  char* const pointer = static_cast<char*>(device_memory(512));
  char host[64] = {};
  void* range = nullptr;
  for (const size_t size : {SIZE_MAX, SIZE_MAX - 100, SIZE_MAX - reinterpret_cast<size_t>(pointer) + 65}) {
    REFUSED(aclrtMemcpy(pointer, size, host, size, ACL_MEMCPY_HOST_TO_DEVICE), 107000, "destination");
    REFUSED(aclrtMemcpy(host, size, pointer, size, ACL_MEMCPY_DEVICE_TO_HOST), 107000, "source");
    REFUSED(aclrtMemset(pointer, size, 0, size), 107000, "is not device memory");
    REFUSED(aclrtReserveMemAddress(&range, size, 0, nullptr, 0), 207001, "address space");
  }
  OK(aclrtFree(pointer));
}

SCENARIO(threads_allocate_and_free_at_once) {
  start();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([t] {
      OK(aclrtSetDevice(t % 2));
      for (int round = 0; round < 200; ++round) {
        const size_t size = 512u * static_cast<size_t>(1 + (t + round) % 7);
        std::vector<char> pattern(size, static_cast<char>(t * 31 + round));
        std::vector<char> back(size);
        void* const pointer = device_memory(size);
        OK(aclrtMemcpy(pointer, size, pattern.data(), size, ACL_MEMCPY_HOST_TO_DEVICE));
        OK(aclrtMemcpy(back.data(), size, pointer, size, ACL_MEMCPY_DEVICE_TO_HOST));
        CHECK(back == pattern);
        OK(aclrtFree(pointer));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

SCENARIO(registered_host_memory_is_memory_of_the_device) {
  start();
  constexpr size_t kBytes = 3 * 4096;
  void* pointer = nullptr;
  void* mapped = nullptr;
  OK(aclrtMallocHost(&pointer, 2 * kBytes));
  char* const host = static_cast<char*>(pointer);
  std::memset(host, 1, 2 * kBytes);
  REFUSED(aclrtHostRegister(host, kBytes, ACL_HOST_REGISTER_READONLY, &mapped), 200006, "'type' is 8");
  REFUSED(aclrtHostRegister(host + 1, kBytes, ACL_HOST_REGISTER_MAPPED, &mapped), 107000, "whole pages");
  REFUSED(aclrtHostRegister(host, kBytes + 1, ACL_HOST_REGISTER_MAPPED, &mapped), 107000, "whole pages");
  OK(aclrtHostRegister(host, kBytes, ACL_HOST_REGISTER_MAPPED, &mapped));
  REFUSED(aclrtHostRegister(host, kBytes, ACL_HOST_REGISTER_MAPPED, &mapped), 107000, "registered already");
  REFUSED(aclrtFreeHost(host), 107000, "aclrtHostUnregister first");
  char back[3] = {};
  OK(aclrtMemcpy(back, 1, mapped, 1, ACL_MEMCPY_DEVICE_TO_HOST));
  CHECK_EQ(back[0], 1);
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  OK(aclrtMemsetAsync(mapped, kBytes, 2, kBytes, stream));
  OK(aclrtSynchronizeStream(stream));
  CHECK_EQ(host[0], 2);
  CHECK_EQ(host[kBytes - 1], 2);
  CHECK_EQ(host[kBytes], 1);
  host[5] = 3;
  OK(aclrtMemcpy(back, 3, static_cast<char*>(mapped) + 4, 3, ACL_MEMCPY_DEVICE_TO_HOST));
  CHECK_EQ(back[1], 3);
  OK(aclrtMemsetAsync(mapped, kBytes, 4, 1, stream));
  OK(aclrtHostUnregister(host));
  CHECK_EQ(host[0], 4);
  CHECK_EQ(host[5], 3);
  REFUSED(aclrtMemcpy(back, 1, mapped, 1, ACL_MEMCPY_DEVICE_TO_HOST), 107000, "is not device memory");
  REFUSED(aclrtHostUnregister(host), 107000, "given back already");
  OK(aclrtFreeHost(host));
}

SCENARIO(no_page_is_part_of_two_allocations) {
  start();
  char* const first = static_cast<char*>(device_memory(512));
  char* const second = static_cast<char*>(device_memory(512));
  CHECK_EQ(reinterpret_cast<uintptr_t>(first) % 4096, 0u);
  CHECK_EQ(reinterpret_cast<uintptr_t>(second) % 4096, 0u);
  char key[65];
  void* imported = nullptr;
  OK(aclrtIpcMemGetExportKey(first, 512, key, sizeof(key), 1));
  OK(aclrtIpcMemImportByKey(&imported, key, 0));
  OK(aclrtFree(second));
  OK(aclrtMemset(first, 512, 5, 512));
  char back = 0;
  OK(aclrtMemcpy(&back, 1, imported, 1, ACL_MEMCPY_DEVICE_TO_HOST));
  CHECK_EQ(back, 5);
  // Memory imported on a device is closed when that device's tasks have used it, whichever device is current.
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  for (int turn = 0; turn < 100; ++turn) OK(aclrtMemsetAsync(imported, 512, turn, 512, stream));
  OK(aclrtSetDevice(1));
  OK(aclrtIpcMemClose(key));
  OK(aclrtSetDevice(0));
  OK(aclrtSynchronizeStream(stream));
  OK(aclrtMemcpy(&back, 1, first, 1, ACL_MEMCPY_DEVICE_TO_HOST));
  CHECK_EQ(back, 99);
}

SCENARIO(mapped_memory_is_readable_and_writable) {
  start();
  aclrtPhysicalMemProp prop{};
  prop.location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
  size_t size = 0;
  OK(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED, &size));
  aclrtDrvMemHandle handle = nullptr;
  OK(aclrtMallocPhysical(&handle, size, &prop, 0));
  void* address = nullptr;
  OK(aclrtReserveMemAddress(&address, size, 0, nullptr, 1));
  aclrtMemAccessDesc access{ACL_RT_MEM_ACCESS_FLAGS_READWRITE, {1, ACL_MEM_LOCATION_TYPE_DEVICE}, {}};
  REFUSED(aclrtMemSetAccess(address, size, &access, 1), 107000, "no mapping");
  OK(aclrtMapMem(address, size, 0, handle, 0));
  OK(aclrtMemSetAccess(address, size, &access, 1));
  REFUSED(aclrtMemSetAccess(address, size - 1, &access, 1), 107000, "no mapping");
  REFUSED(aclrtMemSetAccess(address, size, nullptr, 1), 107000, "'desc'");
  access.location.id = 9;
  REFUSED(aclrtMemSetAccess(address, size, &access, 1), 107001, "9");
  access.flags = ACL_RT_MEM_ACCESS_FLAGS_READ;
  REFUSED(aclrtMemSetAccess(address, size, &access, 1), 200006, "access 1");
  prop.location.type = ACL_MEM_LOCATION_TYPE_HOST;
  REFUSED(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &size), 200006, "location");
  OK(aclrtUnmapMem(address));
  OK(aclrtReleaseMemAddress(address));
  OK(aclrtFreePhysical(handle));
}

SCENARIO(registered_host_memory_gets_its_device_address_when_asked) {
  start();
  void* host = nullptr;
  OK(aclrtMallocHost(&host, 8192));
  std::memset(host, 'a', 8192);
  void *device = nullptr, *again = nullptr;
  REFUSED(aclrtHostGetDevicePointer(host, &device, 0), 107000, "aclrtHostRegister");
  OK(aclrtHostRegisterV2(host, 8192, ACL_HOST_REG_MAPPED));
  REFUSED(aclrtHostGetDevicePointer(host, &device, 1), 107000, "'flag' is 1");
  OK(aclrtHostGetDevicePointer(host, &device, 0));
  OK(aclrtHostGetDevicePointer(host, &again, 0));
  CHECK_EQ(device, again);
  OK(aclrtMemset(static_cast<char*>(device) + 4096, 4096, 'b', 4096));
  CHECK_EQ(static_cast<char*>(host)[4095], 'a');
  CHECK_EQ(static_cast<char*>(host)[4096], 'b');
  OK(aclrtHostUnregister(host));
  CHECK_EQ(static_cast<char*>(host)[8191], 'b');
  OK(aclrtFreeHost(host));
}

SCENARIO(rows_are_copied_from_one_pitch_to_another) {
  start();
  const std::vector<char> source{'a', 'b', '.', '.', 'c', 'd', '.', '.', 'e', 'f'};
  char* const device = static_cast<char*>(device_memory(16));
  OK(aclrtMemset(device, 16, '-', 16));
  OK(aclrtMemcpy2d(device, 5, source.data(), 4, 2, 3, ACL_MEMCPY_HOST_TO_DEVICE));
  std::string back(16, ' ');
  OK(aclrtMemcpy(back.data(), 16, device, 16, ACL_MEMCPY_DEVICE_TO_HOST));
  CHECK_EQ(back, "ab---cd---ef----");

  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  void* pinned = nullptr;
  OK(aclrtMallocHost(&pinned, 6));
  OK(aclrtMemsetD32Async(device + 12, 4, 0x7A797877, 1, stream));
  OK(aclrtMemcpy2dAsync(pinned, 2, device, 5, 2, 3, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  OK(aclrtSynchronizeStream(stream));
  CHECK_EQ(std::string(static_cast<char*>(pinned), 6), "abcdef");
  OK(aclrtMemcpy(back.data(), 16, device, 16, ACL_MEMCPY_DEVICE_TO_HOST));
  CHECK_EQ(back, "ab---cd---efwxyz");
  OK(aclrtMemsetD32(device, 16, 0x31303130, 4));
  OK(aclrtMemcpy(back.data(), 16, device, 16, ACL_MEMCPY_DEVICE_TO_HOST));
  CHECK_EQ(back, "0101010101010101");

  REFUSED(aclrtMemcpy2d(device, 1, source.data(), 4, 2, 3, ACL_MEMCPY_HOST_TO_DEVICE), 107000, "pitches of 1 and 4");
  REFUSED(aclrtMemcpy2d(device, 4096, source.data(), 4, 2, 3, ACL_MEMCPY_HOST_TO_DEVICE), 107000, "destination");
  REFUSED(aclrtMemcpy2d(device, SIZE_MAX, source.data(), 4, 2, 3, ACL_MEMCPY_HOST_TO_DEVICE), 107000, "no size");
  REFUSED(aclrtMemsetD32(device, 16, 0, 5), 107000, "16 bytes");
  REFUSED(aclrtMemsetD32(device + 2, 8, 0, 1), 107000, "not aligned");
  OK(aclrtFreeHostWithDevSync(pinned));
  OK(aclrtFreeWithDevSync(device));
  OK(aclrtDestroyStream(stream));
}

SCENARIO(memory_with_a_cache_is_memory) {
  start();
  void* cached = nullptr;
  OK(aclrtMallocCached(&cached, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtMemFlush(cached, 64));
  OK(aclrtMemInvalidate(cached, 64));
  REFUSED(aclrtMemFlush(cached, 1 << 20), 107000, "memory");
  OK(aclrtFree(cached));
  REFUSED(aclrtMemInvalidate(cached, 64), 107000, "memory");
  OK(aclrtMallocWithCfg(&cached, 64, ACL_MEM_MALLOC_HUGE_FIRST, nullptr));
  int config = 0;
  void* other = nullptr;
  REFUSED(aclrtMallocWithCfg(&other, 64, ACL_MEM_MALLOC_HUGE_FIRST, reinterpret_cast<aclrtMallocConfig*>(&config)),
          200006, "'cfg'");
  OK(aclrtResetDeviceForce(0));
  REFUSED(aclrtMemset(cached, 64, 0, 64), 107000, "memory");
}
