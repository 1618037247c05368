// tests/native/executor_test.cpp
// Executors: the workspace, what a failed phase 1 leaves, errors on torch_npu's consumer thread, forks.
#include "nnopbase/executor.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "nnopbase/overlap.h"
#include "scenario.h"

namespace {

using opwright::execute;
using opwright::fail;
using opwright::prepare;

using opwright::test::start;

class Counting final : public aclOpExecutor {
 public:
  explicit Counting(int& runs) : runs_(runs) {}
  void run() override { ++runs_; }
  const char* name() const noexcept override { return "aclnnCount"; }
  std::unique_ptr<aclOpExecutor> clone() const override { return std::make_unique<Counting>(runs_); }
  std::vector<std::vector<aclTensor*>> tensors() override { return {}; }
  size_t input_count() const override { return 0; }

 private:
  int& runs_;
};

aclOpExecutor* prepared(int& runs, uint64_t workspace) {
  uint64_t size = 1;
  aclOpExecutor* executor = nullptr;
  OK(prepare("aclnnCountGetWorkspaceSize", "aclnnCount", &size, &executor, [&] {
    auto made = std::make_unique<Counting>(runs);
    made->workspace_size = workspace;
    return made;
  }));
  CHECK_EQ(size, workspace);
  return executor;
}

int prepare_wrongly(aclOpExecutor** executor) {
  uint64_t size = 1;
  return prepare("aclnnCountGetWorkspaceSize", "aclnnCount", &size, executor,
                 []() -> std::unique_ptr<aclOpExecutor> { fail(161002, "parameter 'x' is wrong"); });
}

// As torch_npu's consumer thread, which is known by its name.
template <class Body>
void on_consumer_thread(const Body& body) {
  std::thread thread([&] {
    pthread_setname_np(pthread_self(), "acl_thread");
    OK(aclrtSetDevice(0));
    body();
  });
  thread.join();
}

}  // namespace

SCENARIO(a_workspace_that_is_too_small_is_refused) {
  start();
  int runs = 0;
  void* workspace = nullptr;
  OK(aclrtMalloc(&workspace, 1024, ACL_MEM_MALLOC_HUGE_FIRST));
  REFUSED(execute("aclnnCount", workspace, 512, prepared(runs, 1024), nullptr), 161002, "aclnnCount",
          "the workspace has 512 bytes, but phase 1 asked for 1024");
  REFUSED(execute("aclnnCount", nullptr, 1024, prepared(runs, 1024), nullptr), 161001, "the workspace is null");
  REFUSED(execute("aclnnCount", nullptr, 0, prepared(runs, 1024), nullptr), 161002, "0 bytes");
  OK(execute("aclnnCount", workspace, 1024, prepared(runs, 1024), nullptr));
  OK(aclrtSynchronizeStream(nullptr));
  CHECK_EQ(runs, 1);
  OK(aclrtFree(workspace));
}

SCENARIO(phase_2_repeats_the_error_of_phase_1) {
  start();
  aclOpExecutor* executor = nullptr;
  REFUSED(prepare_wrongly(&executor), 161002, "aclnnCountGetWorkspaceSize: parameter 'x' is wrong");
  CHECK(executor != nullptr);
  REFUSED(execute("aclnnCount", nullptr, 0, executor, nullptr), 161002, "aclnnCount: parameter 'x' is wrong");
  OK(aclrtSynchronizeStream(nullptr));
  REFUSED(execute("aclnnCount", nullptr, 0, nullptr, nullptr), 161001, "phase 1 (GetWorkspaceSize) failed");
}

SCENARIO(failed_executors_that_nobody_takes_do_not_pile_up) {
  start();
  aclOpExecutor* executor = nullptr;
  for (int i = 0; i < 10000; ++i) CHECK_EQ(prepare_wrongly(&executor), 161002);
  OK(aclDestroyAclOpExecutor(executor));
  CHECK_EQ(prepare_wrongly(&executor), 161002);
  REFUSED(execute("aclnnCount", nullptr, 0, executor, nullptr), 161002, "parameter 'x' is wrong");
}

SCENARIO(errors_on_the_consumer_thread_are_left_to_the_stream) {
  start();
  static int runs = 0;
  on_consumer_thread([] {
    OK(execute("aclnnCount", nullptr, 1, prepared(runs, 0), nullptr));
    OK(execute("aclnnCount", nullptr, 0, prepared(runs, 0), nullptr));  // dropped: the stream has failed
  });
  REFUSED(aclrtSynchronizeStream(nullptr), 161001, "aclrtSynchronizeStream: aclnnCount: the workspace is null");
  CHECK_EQ(runs, 0);
  on_consumer_thread([] {
    aclOpExecutor* executor = nullptr;
    OK(prepare_wrongly(&executor));
    OK(execute("aclnnCount", nullptr, 0, executor, nullptr));
  });
  REFUSED(aclrtSynchronizeStream(nullptr), 161002, "aclrtSynchronizeStream: aclnnCount: parameter 'x' is wrong");
  on_consumer_thread([] { OK(execute("aclnnCount", nullptr, 0, prepared(runs, 0), nullptr)); });
  OK(aclrtSynchronizeStream(nullptr));
  CHECK_EQ(runs, 1);
}

SCENARIO(a_copy_repeats_an_error_whose_message_nobody_read) {
  start();
  int host = 0;
  void* memory = nullptr;
  OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  const auto copy = [&] { return aclrtMemcpy(memory, 64, &host, sizeof host, ACL_MEMCPY_HOST_TO_DEVICE); };
  const auto fail_on_stream = [] {
    static int runs = 0;
    on_consumer_thread([] { OK(execute("aclnnCount", nullptr, 1, prepared(runs, 0), nullptr)); });
  };
  fail_on_stream();
  CHECK_EQ(aclrtSynchronizeStream(nullptr), 161001);
  REFUSED(copy(), 161001, "aclrtMemcpy: aclnnCount: the workspace is null");
  OK(copy());
  fail_on_stream();
  REFUSED(aclrtSynchronizeStream(nullptr), 161001, "aclnnCount");
  OK(copy());
  OK(aclrtFree(memory));
}

SCENARIO(a_forked_child_is_refused) {
  start();
  int runs = 0;
  void* memory = nullptr;
  OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(execute("aclnnCount", nullptr, 0, prepared(runs, 0), nullptr));
  OK(aclrtSynchronizeStream(nullptr));
  const pid_t child = fork();
  if (child == 0) {
    aclOpExecutor* executor = nullptr;
    REFUSED(prepare_wrongly(&executor), 107002, "a forked child cannot use the NPU");
    REFUSED(execute("aclnnCount", nullptr, 0, nullptr, nullptr), 161001, "phase 1");
    REFUSED(aclrtSynchronizeStream(nullptr), 107002, "forked");
    REFUSED(aclrtFree(memory), 107002, "forked");
    REFUSED(aclrtSetDevice(0), 107002, "forked");
    std::_Exit(7);
  }
  int status = 0;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  OK(aclrtFree(memory));
}

SCENARIO(threads_without_a_device_use_the_default_one) {
  std::string path = std::filesystem::temp_directory_path() / "opwright-acl-XXXXXX";
  const int file = mkstemp(path.data());
  const std::string content = R"({"dump":{"dump_scene":"lite_exception"}, "defaultDevice":{"default_device": "1"}})";
  CHECK(write(file, content.data(), content.size()) == static_cast<ssize_t>(content.size()));
  close(file);
  size_t free_bytes = 0;
  size_t total = 0;
  REFUSED(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total), 107002, "no device");
  OK(aclInit(path.c_str()));
  unlink(path.c_str());
  OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total));
  int device = -1;
  REFUSED(aclrtGetDevice(&device), 107002, "no device");
  void* memory = nullptr;
  OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtSetDevice(1));
  size_t after = 0;
  OK(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total));
  CHECK_EQ(free_bytes - after, 512u);
  OK(aclrtFree(memory));
}

namespace {

// An operator that writes its last operand, and reads it if it is `in_place`.
class Elementwise final : public aclOpExecutor {
 public:
  Elementwise(std::vector<aclTensor> operands, bool in_place) : operands_(std::move(operands)), in_place_(in_place) {}
  void run() override {}
  const char* name() const noexcept override { return "aclnnElementwise"; }
  std::unique_ptr<aclOpExecutor> clone() const override { return std::make_unique<Elementwise>(operands_, in_place_); }
  std::vector<std::vector<aclTensor*>> tensors() override {
    std::vector<std::vector<aclTensor*>> result;
    for (aclTensor& operand : operands_) result.push_back({&operand});
    return result;
  }
  std::vector<opwright::MemoryRange> memory_ranges() override {
    std::vector<opwright::MemoryRange> ranges;
    for (const aclTensor& operand : operands_) {
      const bool written = &operand == &operands_.back();
      opwright::add_range(&operand, written ? "selfRef" : "other", {!written || in_place_, written}, ranges);
    }
    return ranges;
  }
  size_t input_count() const override { return operands_.size() - 1; }

 private:
  std::vector<aclTensor> operands_;
  const bool in_place_;
};

struct Geometry {
  std::vector<int64_t> sizes, strides;
  int64_t offset;
};

aclTensor view_of(const Geometry& geometry, float* storage) {
  constexpr int64_t kElements = 64;
  aclTensor tensor;
  tensor.sizes.assign(geometry.sizes.data(), geometry.sizes.size());
  tensor.strides.assign(geometry.strides.data(), geometry.strides.size());
  tensor.storage_sizes.assign(&kElements, 1);
  tensor.offset = geometry.offset;
  tensor.dtype = ACL_FLOAT;
  tensor.data = storage;
  return tensor;
}

}  // namespace

SCENARIO(operands_that_share_elements_under_other_views_depend_on_the_order) {
  float storage[64] = {};
  const auto depends = [&](const Geometry& read, const Geometry& written, bool in_place) {
    Elementwise operation({view_of(read, storage), view_of(written, storage)}, in_place);
    return opwright::order_dependence_of(operation);
  };
  const Geometry rows{{2, 16}, {17, 1}, 0}, shifted{{2, 16}, {17, 1}, 1}, first{{2, 1}, {17, 1}, 0};
  const auto found = depends(rows, shifted, true);
  CHECK(found.has_value());
  CHECK_EQ(found->operation, std::string("aclnnElementwise"));
  CHECK_EQ(found->written.parameter, std::string("selfRef"));
  CHECK_EQ(found->read.parameter, std::string("other"));
  CHECK_EQ(found->written.sizes, "[2, 16]");
  CHECK_EQ(found->read.strides, "[17, 1]");
  CHECK(depends(rows, shifted, false).has_value());
  CHECK(depends(first, rows, true).has_value());
  CHECK(depends({{4, 4}, {1, 4}, 0}, {{4, 4}, {4, 1}, 0}, true).has_value());
  CHECK(depends({{3, 5}, {0, 1}, 0}, {{3, 5}, {5, 1}, 0}, true).has_value());
  // The same elements in the same order, however that is written.
  CHECK(!depends(rows, rows, true).has_value());
  CHECK(!depends({{2, 4}, {4, 1}, 3}, {{1, 8}, {5, 1}, 3}, true).has_value());
  CHECK(!depends({{2, 1, 4}, {8, 99, 2}, 0}, {{2, 4}, {8, 2}, 0}, true).has_value());
  // Interleaved and neighbouring elements, none in common.
  CHECK(!depends({{2, 8}, {16, 1}, 8}, {{2, 8}, {16, 1}, 0}, true).has_value());
  CHECK(!depends({{8}, {2}, 1}, {{8}, {2}, 0}, true).has_value());
  CHECK(!depends({{8}, {1}, 8}, {{8}, {1}, 0}, true).has_value());
  CHECK(!depends({{0}, {1}, 0}, {{8}, {1}, 0}, true).has_value());
}
