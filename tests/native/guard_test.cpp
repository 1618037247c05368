// tests/native/guard_test.cpp
// Guarded memory: what kernels do outside of their operands, unwritten memory, and memory that was freed.
#include "runtime/memory/guard/guard.h"

#include <cstdlib>
#include <thread>
#include <vector>

#include "nnopbase/executor.h"
#include "nnopbase/operand.h"
#include "scenario.h"

struct opwright_guard_fault {
  int32_t what;
  int32_t written;
  int64_t offset;
  uint64_t bytes;
  uint64_t operand_bytes;
  char function[96];
  char operand[160];
  char place[160];
};

extern "C" int32_t opwright_guard_set_mode(int32_t mode);
extern "C" uint64_t opwright_guard_take(opwright_guard_fault* faults, uint64_t room);

namespace {

using Body = void (*)(float* x, float* out);

// The number of elements of the operands, which are no multiple of anything.
constexpr int64_t kCount = 5;
constexpr size_t kBytes = kCount * sizeof(float);

float* elements_of(const aclTensor& tensor) {
  return static_cast<float*>(opwright::storage_of(tensor)) + tensor.offset;
}

class Kernel final : public aclOpExecutor {
 public:
  Kernel(Body body, const aclTensor& x, const aclTensor& out) : body_(body), x_(x), out_(out) {}
  void run() override { body_(elements_of(x_), elements_of(out_)); }
  const char* name() const noexcept override { return "aclnnGuarded"; }
  std::unique_ptr<aclOpExecutor> clone() const override { return std::make_unique<Kernel>(body_, x_, out_); }
  std::vector<std::vector<aclTensor*>> tensors() override { return {{&x_}, {&out_}}; }
  size_t input_count() const override { return 1; }
  std::vector<opwright::MemoryRange> memory_ranges() override {
    std::vector<opwright::MemoryRange> result;
    opwright::add_range(&x_, "x", {true, false}, result);
    opwright::add_range(&out_, "out", {false, true}, result);
    return result;
  }

 private:
  const Body body_;
  aclTensor x_;
  aclTensor out_;
};

void start() {
  setenv("OPWRIGHT_GUARD", "1", 1);  // it is read later than the other variables
  opwright::test::start();
}

aclTensor tensor_at(void* data, int64_t count, int64_t offset = 0, int64_t storage = kCount) {
  aclTensor result;
  const int64_t stride = 1;
  result.sizes.assign(&count, 1);
  result.strides.assign(&stride, 1);
  result.storage_sizes.assign(&storage, 1);
  result.offset = offset;
  result.dtype = ACL_FLOAT;
  result.data = data;
  return result;
}

void* device_memory(size_t size) {
  void* pointer = nullptr;
  OK(aclrtMalloc(&pointer, size, ACL_MEM_MALLOC_HUGE_FIRST));
  return pointer;
}

struct Operands {
  void* x = device_memory(kBytes);
  void* out = device_memory(kBytes);

  Operands() {
    const std::vector<float> values{1, 2, 3, 4, 5};
    OK(aclrtMemcpy(x, kBytes, values.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE));
  }
  aclTensor of_x() const { return tensor_at(x, kCount); }
  aclTensor of_out() const { return tensor_at(out, kCount); }
};

std::vector<float> on_host(const void* device, size_t bytes = kBytes) {
  std::vector<float> result(bytes / sizeof(float));
  OK(aclrtMemcpy(result.data(), bytes, device, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  return result;
}

int run_on(aclrtStream stream, Body body, const aclTensor& x, const aclTensor& out) {
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  OK(opwright::prepare("aclnnGuardedGetWorkspaceSize", "aclnnGuarded", &size, &executor,
                       [&] { return std::make_unique<Kernel>(body, x, out); }));
  OK(opwright::execute("aclnnGuarded", nullptr, 0, executor, stream));
  return aclrtSynchronizeStream(stream);
}

int run(Body body, const aclTensor& x, const aclTensor& out) { return run_on(nullptr, body, x, out); }
int run(Body body, const Operands& operands) { return run(body, operands.of_x(), operands.of_out()); }

std::vector<opwright_guard_fault> taken() {
  std::vector<opwright_guard_fault> result(100);
  result.resize(opwright_guard_take(result.data(), result.size()));
  return result;
}

void copy(float* x, float* out) {
  for (int64_t i = 0; i < kCount; ++i) out[i] = x[i];
}

// The optimizer may not know where it points.
volatile int64_t position = 0;

void read_at(float* x, float* out) {
  copy(x, out);
  out[0] = x[position];
}

void write_at(float* x, float* out) {
  copy(x, out);
  out[position] = 7;
}

}  // namespace

SCENARIO(a_kernel_within_its_operands_computes_as_ever) {
  start();
  const Operands operands;
  for (const int mode : {1, 2}) {
    OK(opwright_guard_set_mode(mode));
    OK(run(copy, operands));
    CHECK(on_host(operands.out) == on_host(operands.x));
  }
  CHECK(taken().empty());
}

SCENARIO(accesses_outside_are_found_on_both_sides_and_the_kernel_runs_on) {
  start();
  const Operands operands;
  const std::vector<std::pair<int, int64_t>> beyond{{1, kCount}, {2, -1}};
  for (const auto& [mode, outside] : beyond) {
    OK(opwright_guard_set_mode(mode));
    for (const bool writes : {false, true}) {
      position = outside;
      REFUSED(run(writes ? write_at : read_at, operands), 561000, "aclnnGuarded", writes ? "wrote" : "read",
              outside < 0 ? "4 bytes before the start of" : "just behind the end of", writes ? "out" : "x",
              "(20 bytes)");
      const auto faults = taken();
      CHECK_EQ(faults.size(), 1u);
      CHECK_EQ(faults[0].offset, static_cast<int64_t>(outside * sizeof(float)));
      CHECK_EQ(std::string(faults[0].operand), writes ? "out" : "x");
      CHECK_EQ(std::string(faults[0].function), "aclnnGuarded");
      CHECK_EQ(faults[0].operand_bytes, kBytes);
#if defined(__x86_64__) || defined(__aarch64__)
      CHECK_EQ(faults[0].written, writes ? 1 : 0);
#endif
      const float other = on_host(operands.out)[1];
      CHECK_EQ(other, 2.0f);  // the rest of the results is there
    }
  }
}

SCENARIO(writes_beside_an_operand_are_found_without_a_fault) {
  start();
  const Operands operands;
  position = -1;  // in the page that it shares
  REFUSED(run(write_at, operands), 561000, "wrote 4 bytes 4 bytes before the start of out");
  OK(opwright_guard_set_mode(2));
  position = kCount;
  REFUSED(run(write_at, operands), 561000, "wrote 4 bytes just behind the end of out");
  CHECK_EQ(taken().size(), 2u);
}

SCENARIO(an_index_that_would_hit_another_tensor_is_found) {
  start();
  const Operands operands;
  position = int64_t{10} << 20;
  REFUSED(run(read_at, operands), 561000, "read", "41943020 bytes behind the end of x");
}

SCENARIO(only_the_view_of_a_storage_can_be_reached) {
  start();
  const Operands operands;
  position = 2;  // in the storage, but not in the view
  REFUSED(run(
              [](float* x, float* out) {
                out[0] = x[0];
                out[1] = x[position];
              },
              tensor_at(operands.x, 2, 1), tensor_at(operands.out, 2)),
          561000, "read", "just behind the end of x", "(8 bytes)");
  const float first = on_host(operands.out)[0];
  CHECK_EQ(first, 2.0f);
}

SCENARIO(operands_that_share_memory_share_it_in_the_kernel) {
  start();
  const Operands operands;
  OK(run(
      [](float* x, float* out) {
        for (int64_t i = 0; i < 3; ++i) out[i] = x[i];  // x[1] is out[0]
      },
      tensor_at(operands.x, 4), tensor_at(operands.x, 3, 1)));
  CHECK(on_host(operands.x) == (std::vector<float>{1, 1, 1, 1, 5}));
}

SCENARIO(an_empty_operand_has_nothing_to_read) {
  start();
  const Operands operands;
  REFUSED(run([](float* x, float* out) { out[0] = x[0]; }, tensor_at(operands.x, 0), operands.of_out()), 561000, "read",
          "an empty tensor");
}

SCENARIO(a_pointer_that_was_kept_is_found) {
  start();
  const Operands operands;
  static float* kept = nullptr;
  OK(run(
      [](float* x, float* out) {
        copy(x, out);
        kept = x;
      },
      operands));
  REFUSED(run(
              [](float* x, float* out) {
                copy(x, out);
                out[0] = kept[1];
              },
              operands),
          561000, "read memory that it was not given", "x of an earlier call of aclnnGuarded", "byte 4 of 20");
  OK(run(copy, operands));
}

SCENARIO(new_memory_has_the_pattern) {
  start();
  const auto first_word = [] {
    uint32_t word = 0;
    void* const pointer = device_memory(512);
    OK(aclrtMemcpy(&word, sizeof word, pointer, sizeof word, ACL_MEMCPY_DEVICE_TO_HOST));
    OK(aclrtFree(pointer));
    return word;
  };
  CHECK_EQ(first_word(), 0xFFF5FFF5u);
  OK(opwright_guard_set_mode(2));
  CHECK_EQ(first_word(), 0x412B412Bu);
}

SCENARIO(memory_that_was_freed_is_named) {
  start();
  void* const pointer = device_memory(1000);
  OK(aclrtFree(pointer));
  REFUSED(aclrtFree(pointer), 107000, "0 bytes into an allocation of 1024 bytes that was freed");
  char byte = 0;
  REFUSED(aclrtMemcpy(&byte, 1, pointer, 1, ACL_MEMCPY_DEVICE_TO_HOST), 107000, "that was freed");
}

SCENARIO(padding_that_was_written_is_found) {
  start();
  char* const pointer = static_cast<char*>(device_memory(1000));
  OK(aclrtMemset(pointer, 1024, 0, 1001));
  const auto faults = taken();
  CHECK_EQ(faults.size(), 1u);
  CHECK_EQ(faults[0].what, 2);
  CHECK_EQ(faults[0].offset, 1000);
  CHECK_EQ(faults[0].bytes, 1u);
  CHECK_EQ(faults[0].operand_bytes, 1000u);
  CHECK(taken().empty());
  OK(aclrtFree(pointer));
}

SCENARIO(all_memory_can_be_allocated_again_and_again) {
  start();
  for (int i = 0; i < 600; ++i) OK(aclrtFree(device_memory(1 << 20)));
}

SCENARIO(threads_with_streams_of_their_own_run_kernels_at_once) {
  start();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([] {
      OK(aclrtSetDevice(0));
      aclrtStream stream = nullptr;
      OK(aclrtCreateStream(&stream));
      const Operands operands;
      for (int round = 0; round < 50; ++round) {
        OK(run_on(stream, copy, operands.of_x(), operands.of_out()));
      }
      CHECK(on_host(operands.out) == on_host(operands.x));
      OK(aclrtDestroyStream(stream));
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(taken().empty());
}
