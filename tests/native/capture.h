// tests/native/capture.h
// Shared by scenarios of captured graphs.
#pragma once

#include <cstdint>
#include <vector>

#include "acl/acl_mdl.h"
#include "streams.h"

namespace opwright::test {

// Bytes of device memory, to be filled by captured tasks and read back by the test.
class Block {
 public:
  explicit Block(size_t size = 64) : size_(size) { OK(aclrtMalloc(&address_, size, ACL_MEM_MALLOC_HUGE_FIRST)); }
  void* get() const { return address_; }
  size_t size() const { return size_; }
  void fill(int value, aclrtStream stream) const { OK(aclrtMemsetAsync(address_, size_, value, size_, stream)); }
  void copy_from(const Block& other, aclrtStream stream) const {
    OK(aclrtMemcpyAsync(address_, size_, other.get(), size_, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
  }
  void set(int value) const { OK(aclrtMemset(address_, size_, value, size_)); }
  int read() const {
    std::vector<unsigned char> bytes(size_);
    OK(aclrtMemcpy(bytes.data(), size_, address_, size_, ACL_MEMCPY_DEVICE_TO_HOST));
    for (const unsigned char byte : bytes) CHECK_EQ(byte, bytes.front());
    return bytes.front();
  }
  void release() {
    OK(aclrtFree(address_));
    address_ = nullptr;
  }

 private:
  void* address_ = nullptr;
  size_t size_;
};

inline void begin(aclrtStream stream, aclmdlRICaptureMode mode = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL) {
  OK(aclmdlRICaptureBegin(stream, mode));
}

inline aclmdlRI end(aclrtStream stream) {
  aclmdlRI graph = nullptr;
  OK(aclmdlRICaptureEnd(stream, &graph));
  CHECK(graph != nullptr);
  return graph;
}

inline void replay(aclmdlRI graph, aclrtStream stream) {
  OK(aclmdlRIExecuteAsync(graph, stream));
  OK(aclrtSynchronizeStream(stream));
}

struct CaptureInfo {
  aclmdlRICaptureStatus status = ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED;
  aclmdlRI graph = nullptr;
};

inline CaptureInfo info_of(aclrtStream stream) {
  CaptureInfo info;
  OK(aclmdlRICaptureGetInfo(stream, &info.status, &info.graph));
  return info;
}

inline aclmdlRICaptureStatus status_of(aclrtStream stream) { return info_of(stream).status; }

// The graph that the stream is being captured into.
inline aclmdlRI graph_of(aclrtStream stream) { return info_of(stream).graph; }

// A condition of that graph, which each replay sets to `value`.
inline aclmdlRICondHandle new_condition(aclrtStream stream, uint64_t value) {
  aclmdlRICondHandle handle = nullptr;
  OK(aclmdlRICondHandleCreate(graph_of(stream), value, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, &handle));
  return handle;
}

// After a refusal: the stream runs what it gets, and can be captured again.
inline void check_usable(aclrtStream stream) {
  CHECK_EQ(status_of(stream), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  const Block block;
  block.fill(5, stream);
  OK(aclrtSynchronizeStream(stream));
  CHECK_EQ(block.read(), 5);
  begin(stream);
  block.fill(6, stream);
  const aclmdlRI graph = end(stream);
  CHECK_EQ(block.read(), 5);
  replay(graph, stream);
  CHECK_EQ(block.read(), 6);
  OK(aclmdlRIDestroy(graph));
}

}  // namespace opwright::test
