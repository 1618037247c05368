// benchmarks/small_call.cpp
// The twin's own share of one small operator call: both aclnn phases, the stream and the acl objects, without
// torch_npu. Prints, per element count, microseconds per call of
//   aten    at::add_out on the same memory, called directly
//   caller  what phase 1 + phase 2 keep the calling thread busy with
//   total   a long run of calls until the stream is idle, divided by the number of calls
//   share   total - aten
// as tab-separated values; benchmarks/eager_call.py runs it and shows the table.
#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "acl/acl_rt.h"
#include "aclnn/acl_meta.h"

extern "C" aclnnStatus aclnnAddGetWorkspaceSize(const aclTensor* self, const aclTensor* other, const aclScalar* alpha,
                                                aclTensor* out, uint64_t* workspaceSize, aclOpExecutor** executor);
extern "C" aclnnStatus aclnnAdd(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream);

namespace {

constexpr int kCalls = 20000;
constexpr int kRounds = 7;

double now_us() {
  using namespace std::chrono;
  return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}

void check(int status, const char* what) {
  if (status == ACL_SUCCESS) return;
  std::fprintf(stderr, "%s failed with %d: %s\n", what, status, aclGetRecentErrMsg());
  std::exit(1);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

class Call {
 public:
  explicit Call(int64_t elements) : elements_(elements) {
    check(aclrtCreateStream(&stream_), "aclrtCreateStream");
    for (void*& memory : memory_)
      check(aclrtMalloc(&memory, elements * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  }

  // As EXEC_NPU_CMD does it: make the objects, phase 1, phase 2, destroy the objects.
  void operator()() const {
    float one = 1;
    aclTensor* const self = tensor(memory_[0]);
    aclTensor* const other = tensor(memory_[1]);
    aclTensor* const out = tensor(memory_[2]);
    aclScalar* const alpha = aclCreateScalar(&one, ACL_FLOAT);
    uint64_t workspace = 0;
    aclOpExecutor* executor = nullptr;
    check(aclnnAddGetWorkspaceSize(self, other, alpha, out, &workspace, &executor), "aclnnAddGetWorkspaceSize");
    check(aclnnAdd(nullptr, workspace, executor, stream_), "aclnnAdd");
    aclDestroyTensor(self);
    aclDestroyTensor(other);
    aclDestroyTensor(out);
    aclDestroyScalar(alpha);
  }

  void synchronize() const { check(aclrtSynchronizeStream(stream_), "aclrtSynchronizeStream"); }

 private:
  aclTensor* tensor(void* data) const {
    const int64_t stride = 1;
    return aclCreateTensor(&elements_, 1, ACL_FLOAT, &stride, 0, ACL_FORMAT_ND, &elements_, 1, data);
  }

  int64_t elements_;
  aclrtStream stream_ = nullptr;
  void* memory_[3] = {};
};

}  // namespace

int main() {
  const c10::NoGradGuard no_grad;
  check(aclInit(nullptr), "aclInit");
  check(aclrtSetDevice(0), "aclrtSetDevice");
  std::printf("elements\taten\tcaller\ttotal\tshare\n");
  for (const int64_t elements : {1, 64, 1024}) {
    at::Tensor a = at::empty({elements}).fill_(1);
    at::Tensor b = at::empty({elements}).fill_(2);
    at::Tensor out = at::empty({elements});
    const Call call(elements);
    std::vector<double> aten;
    std::vector<double> caller;
    std::vector<double> total;
    for (int round = 0; round < kRounds; ++round) {
      double begin = now_us();
      for (int i = 0; i < kCalls; ++i) at::add_out(out, a, b);
      aten.push_back((now_us() - begin) / kCalls);
      begin = now_us();
      for (int i = 0; i < kCalls; ++i) call();
      caller.push_back((now_us() - begin) / kCalls);
      call.synchronize();
      total.push_back((now_us() - begin) / kCalls);
    }
    std::printf("%lld\t%.3f\t%.3f\t%.3f\t%.3f\n", static_cast<long long>(elements), median(aten), median(caller),
                median(total), median(total) - median(aten));
  }
  check(aclrtResetDevice(0), "aclrtResetDevice");
  return 0;
}
