// native/runtime/cuda_build.cpp: torch_npu beside a CUDA build of torch.
//
// Such a build registers the keys of its allocator's configuration when it is loaded, and torch takes
// each key once. torch_npu registers keys of the same names, which ends the process. This library is
// loaded after torch and before torch_npu's own initialisation: here CUDA's keys make room. Nobody
// misses them, because torch_npu itself refuses to run beside a GPU that torch can use.
#include <dlfcn.h>

#include <string>
#include <unordered_set>

namespace {

using Keys = std::unordered_set<std::string>;

// c10::CachingAllocator::AcceleratorAllocatorConfig::getMutableKeys(); a torch without it keeps no keys.
constexpr const char* KEYS = "_ZN3c1016CachingAllocator26AcceleratorAllocatorConfig14getMutableKeysB5cxx11Ev";

// Those of c10/cuda/CUDAAllocatorConfig.h; the others are those of all devices.
constexpr const char* OF_CUDA[] = {
    "backend",
    "graph_capture_record_stream_reuse",
    "per_process_memory_fraction",
    "pinned_free_catch_all",
    "pinned_num_register_threads",
    "pinned_reserve_segment_size_mb",
    "pinned_use_cuda_host_register",
    "pinned_use_hip_host_register",
    "release_lock_on_cudamalloc",
    "release_lock_on_hipmalloc",
    "throw_on_cudamalloc_oom",
};

__attribute__((constructor)) void make_room() {
  // Not among the libraries of this one, and not in the global scope: Python loads torch for itself.
  void* c10 = dlopen("libc10.so", RTLD_LAZY | RTLD_NOLOAD);
  if (c10 == nullptr) return;
  if (const auto keys = reinterpret_cast<Keys& (*)()>(dlsym(c10, KEYS))) {
    for (const char* key : OF_CUDA) keys().erase(key);
  }
  dlclose(c10);
}

}  // namespace
