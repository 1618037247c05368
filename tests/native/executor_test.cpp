// tests/native/executor_test.cpp
// Executors: the workspace, what a failed phase 1 leaves, errors on torch_npu's consumer thread, forks.
#include "nnopbase/executor.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

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
