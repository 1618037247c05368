// tests/native/order_test.cpp
// Order between streams: what happens behind what, by bytes, from several threads, with memory that is freed.
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "capture.h"
#include "scenario.h"
#include "streams.h"

extern "C" const char* opwright_order_take();

// Tasks of these scenarios race for the bytes of device memory, which is what has to be found; ThreadSanitizer looks at
// everything else. The handlers of faults allocate: a load or store of the program's own caused the signal, which is
// not inside of the allocator.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:opwright::Stream::execute\nsignal:on_fault\nsignal:on_trap\n";
}

namespace {

using opwright::test::new_event;
using opwright::test::new_stream;

constexpr size_t kBytes = 4096;

void start() {
  setenv("OPWRIGHT_ORDER", "1", 1);  // it is read with the first task
  opwright::test::start();
}

char* device_memory() {
  void* pointer = nullptr;
  OK(aclrtMalloc(&pointer, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  return static_cast<char*>(pointer);
}

void fill(char* begin, size_t size, aclrtStream stream) { OK(aclrtMemsetAsync(begin, size, 1, size, stream)); }

void copy(char* destination, const char* source, size_t size, aclrtStream stream) {
  OK(aclrtMemcpyAsync(destination, size, source, size, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
}

size_t take() {
  const std::string findings = opwright_order_take();
  size_t count = 0;
  const std::string key = "\"earlier\"";
  for (size_t at = findings.find(key); at != std::string::npos; at = findings.find(key, at + 1)) ++count;
  return count;
}

}  // namespace

SCENARIO(only_bytes_that_both_touch_are_compared) {
  start();
  const aclrtStream first = new_stream();
  const aclrtStream second = new_stream();
  char* const memory = device_memory();
  char* const other = device_memory();
  fill(memory, 1000, first);
  fill(memory + 1000, 1000, second);
  CHECK_EQ(take(), 0u);
  copy(other, memory + 999, 1, second);
  CHECK_EQ(take(), 1u);
  copy(memory + 2000, memory + 500, 100, first);  // its own bytes
  copy(other + 100, memory + 500, 100, first);    // of which others are read only
  CHECK_EQ(take(), 0u);
  fill(memory + 550, 1, second);  // written by the first, then read by it twice
  CHECK(take() >= 1u);
}

SCENARIO(reads_need_no_order_and_a_write_behind_them_does) {
  start();
  const aclrtStream first = new_stream();
  const aclrtStream second = new_stream();
  char* const memory = device_memory();
  char* const other = device_memory();
  copy(other, memory, 100, first);
  copy(other + 100, memory, 100, second);
  CHECK_EQ(take(), 0u);
  fill(memory, 100, first);
  CHECK_EQ(take(), 1u);
}

SCENARIO(an_event_orders_what_was_launched_before_its_record) {
  start();
  const aclrtStream first = new_stream();
  const aclrtStream second = new_stream();
  char* const memory = device_memory();
  const aclrtEvent event = new_event();
  fill(memory, 100, first);
  OK(aclrtRecordEvent(event, first));
  fill(memory + 100, 100, first);
  OK(aclrtStreamWaitEvent(second, event));
  fill(memory, 100, second);
  CHECK_EQ(take(), 0u);
  fill(memory + 100, 100, second);
  CHECK_EQ(take(), 1u);
}

SCENARIO(a_flag_that_is_set_beside_its_clear_is_found) {
  start();
  const aclrtStream first = new_stream();
  const aclrtStream second = new_stream();
  char* const flag = device_memory();
  OK(aclrtValueWait(flag, 1, ACL_STREAM_WAIT_VALUE_EQ, first));
  OK(aclrtValueWrite(flag, 0, 0, first));
  OK(aclrtValueWrite(flag, 1, 0, second));  // ends the wait
  CHECK_EQ(take(), 0u);
  OK(aclrtValueWrite(flag, 1, 0, second));
  CHECK_EQ(take(), 1u);
  OK(aclrtSynchronizeStream(first));
  OK(aclrtValueWrite(flag, 1, 0, second));  // the host has seen the clear
  CHECK_EQ(take(), 0u);
}

SCENARIO(a_word_that_counts_is_no_flag) {
  start();
  const aclrtStream first = new_stream();
  const aclrtStream second = new_stream();
  char* const word = device_memory();
  for (uint64_t step = 1; step < 4; ++step) {
    OK(aclrtValueWait(word, step, ACL_STREAM_WAIT_VALUE_GEQ, first));
    OK(aclrtValueWrite(word, step, 0, second));
  }
  OK(aclrtValueWrite(word, 0, 0, first));
  OK(aclrtValueWrite(word, 5, 0, second));
  CHECK_EQ(take(), 0u);
}

SCENARIO(what_the_host_has_waited_for_is_behind_it) {
  start();
  const aclrtStream first = new_stream();
  const aclrtStream second = new_stream();
  char* const memory = device_memory();
  fill(memory, 100, first);
  OK(aclrtSynchronizeStream(first));
  fill(memory, 100, second);
  CHECK_EQ(take(), 0u);
  OK(aclrtMemset(memory, 100, 2, 100));
  CHECK_EQ(take(), 1u);
  OK(aclrtSynchronizeDevice());
  OK(aclrtMemset(memory, 100, 3, 100));
  fill(memory, 100, first);
  CHECK_EQ(take(), 0u);
}

SCENARIO(freed_memory_has_no_past) {
  start();
  const aclrtStream stream = new_stream();
  for (int turn = 0; turn < 10; ++turn) {
    const aclrtStream other = new_stream();
    char* const memory = device_memory();
    fill(memory, kBytes, turn % 2 == 0 ? stream : other);
    OK(aclrtFree(memory));
  }
  CHECK_EQ(take(), 0u);
}

SCENARIO(threads_launch_at_once) {
  start();
  char* const memory = device_memory();
  std::vector<std::thread> threads;
  for (size_t number = 0; number < 8; ++number) {
    threads.emplace_back([memory, number] {
      OK(aclrtSetDevice(0));
      const aclrtStream stream = new_stream();
      const aclrtEvent event = new_event();
      for (size_t turn = 0; turn < 500; ++turn) {
        fill(memory + 512 * number, 1 + turn % 512, stream);
        OK(aclrtRecordEvent(event, stream));
        OK(aclrtStreamWaitEvent(stream, event));
      }
      OK(aclrtSynchronizeStream(stream));
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQ(take(), 0u);
}

namespace {

// Memory of the host that a copy from the device writes in the background.
char* pinned_memory() {
  void* pointer = nullptr;
  OK(aclrtMallocHost(&pointer, kBytes));
  return static_cast<char*>(pointer);
}

void copy_to_host(char* destination, const char* source, size_t size, aclrtStream stream) {
  OK(aclrtMemcpyAsync(destination, size, source, size, ACL_MEMCPY_DEVICE_TO_HOST, stream));
}

}  // namespace

SCENARIO(pinned_memory_is_watched_until_the_copy_is_over) {
  start();
  const aclrtStream stream = new_stream();
  char* const memory = device_memory();
  char* const host = pinned_memory();
  fill(memory, kBytes, stream);
  copy_to_host(host, memory, kBytes, stream);
  const volatile char early = host[100];
  (void)early;
  CHECK_EQ(take(), 1u);
  copy_to_host(host, memory, kBytes, stream);
  OK(aclrtSynchronizeStream(stream));
  const volatile char late = host[100];
  CHECK_EQ(late, 1);
  host[100] = 2;
  CHECK_EQ(take(), 0u);
  OK(aclrtFreeHost(host));
}

SCENARIO(bytes_beside_the_copys_can_be_used) {
  start();
  const aclrtStream stream = new_stream();
  char* const memory = device_memory();
  char* const host = pinned_memory();
  fill(memory, kBytes, stream);
  copy_to_host(host + 64, memory, 64, stream);
  std::vector<std::thread> threads;
  for (size_t number = 0; number < 4; ++number) {
    threads.emplace_back([host, number] {
      for (size_t turn = 0; turn < 100; ++turn) host[256 + number] = static_cast<char>(host[256 + number] + 1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQ(host[256], 100);
  CHECK_EQ(host[259], 100);
  CHECK_EQ(take(), 0u);
  OK(aclrtSynchronizeStream(stream));
  CHECK_EQ(host[64], 1);
  OK(aclrtFreeHost(host));
}

SCENARIO(pinned_memory_that_is_freed_beside_a_copy_is_found) {
  start();
  const aclrtStream stream = new_stream();
  char* const memory = device_memory();
  char* const host = pinned_memory();
  copy_to_host(host, memory, kBytes, stream);
  OK(aclrtFreeHost(host));
  CHECK_EQ(take(), 1u);
}

namespace {

void read_byte(void* host) {
  const volatile char byte = static_cast<char*>(host)[100];
  CHECK_EQ(byte, 1);
}

}  // namespace

SCENARIO(a_captured_host_function_is_behind_what_its_replay_has_launched) {
  start();
  const aclrtStream stream = new_stream();
  char* const memory = device_memory();
  char* const host = pinned_memory();
  opwright::test::begin(stream);
  fill(memory, kBytes, stream);
  copy_to_host(host, memory, kBytes, stream);
  OK(aclrtLaunchHostFunc(stream, read_byte, host));
  const aclmdlRI graph = opwright::test::end(stream);
  for (int i = 0; i < 3; ++i) opwright::test::replay(graph, stream);
  CHECK_EQ(take(), 0u);
  const aclrtStream other = new_stream();
  copy_to_host(host, memory, kBytes, other);
  opwright::test::replay(graph, stream);
  CHECK(take() > 0);
  OK(aclrtSynchronizeStream(other));
  OK(aclrtFreeHost(host));
}

namespace {

// Runs late by chance: the program does not make it wait.
struct LateReader {
  char* host;
  std::atomic<bool> may_go{false};

  static void run(void* self) {
    auto& reader = *static_cast<LateReader*>(self);
    while (!reader.may_go.load()) std::this_thread::yield();
    if (reader.host != nullptr) read_byte(reader.host);
  }
};

size_t read_late(bool waits_for_copy) {
  const aclrtStream stream = new_stream();
  const aclrtStream copier = new_stream();
  char* const memory = device_memory();
  LateReader reader{pinned_memory()};
  fill(memory, kBytes, copier);
  copy_to_host(reader.host, memory, kBytes, copier);
  if (waits_for_copy) {
    const aclrtEvent event = new_event();
    OK(aclrtRecordEvent(event, copier));
    OK(aclrtStreamWaitEvent(stream, event));
  }
  OK(aclrtLaunchHostFunc(stream, LateReader::run, &reader));
  OK(aclrtSynchronizeStream(copier));
  reader.may_go.store(true);
  OK(aclrtSynchronizeStream(stream));
  const size_t found = take();
  CHECK_EQ(reader.host[0], 1);  // the host has waited for the copy
  CHECK_EQ(take(), 0u);
  OK(aclrtFreeHost(reader.host));
  return found;
}

}  // namespace

SCENARIO(a_host_function_beside_a_copy_is_found_although_the_host_has_waited_for_the_copy) {
  start();
  CHECK_EQ(read_late(/*waits_for_copy=*/false), 1u);
  CHECK_EQ(read_late(/*waits_for_copy=*/true), 0u);
}

SCENARIO(the_host_goes_on_with_what_it_has_waited_for_while_a_host_function_is_to_come) {
  start();
  const aclrtStream stream = new_stream();
  const aclrtStream copier = new_stream();
  char* const memory = device_memory();
  char* const host = pinned_memory();
  LateReader reader{nullptr};
  OK(aclrtLaunchHostFunc(stream, LateReader::run, &reader));
  fill(memory, kBytes, copier);
  copy_to_host(host, memory, kBytes, copier);
  OK(aclrtSynchronizeStream(copier));
  for (size_t i = 0; i < kBytes; ++i) host[i] = static_cast<char>(host[i] + 1);
  CHECK_EQ(host[100], 2);
  reader.may_go.store(true);
  OK(aclrtSynchronizeStream(stream));
  CHECK_EQ(take(), 0u);
  OK(aclrtFreeHost(host));
}
