// native/runtime/descriptors/data_buffer.cpp
// aclDataBuffer: create, read, change, destroy.
#include "runtime/descriptors/data_buffer.h"

#include <memory>

#include "acl/acl_desc.h"
#include "acl/acl_op.h"
#include "runtime/call.h"

using namespace opwright;

aclDataBuffer* aclCreateDataBuffer(void* data, size_t size) {
  aclDataBuffer* created = nullptr;
  call(
      "aclCreateDataBuffer", [&] { created = std::make_unique<aclDataBuffer>(aclDataBuffer{data, size}).release(); },
      arg("data", data), arg("size", size));
  return created;
}

aclError aclDestroyDataBuffer(const aclDataBuffer* dataBuffer) {
  return call("aclDestroyDataBuffer", [&] { std::unique_ptr<const aclDataBuffer>{dataBuffer}.reset(); });
}

aclError aclUpdateDataBuffer(aclDataBuffer* dataBuffer, void* data, size_t size) {
  return call(
      "aclUpdateDataBuffer",
      [&] { out(dataBuffer, "dataBuffer", ACL_ERROR_INVALID_PARAM) = aclDataBuffer{data, size}; }, arg("data", data),
      arg("size", size));
}

void* aclGetDataBufferAddr(const aclDataBuffer* dataBuffer) {
  void* address = nullptr;
  call("aclGetDataBufferAddr", [&] { address = out(dataBuffer, "dataBuffer", ACL_ERROR_INVALID_PARAM).data; });
  return address;
}

size_t aclGetDataBufferSizeV2(const aclDataBuffer* dataBuffer) {
  size_t size = 0;
  call("aclGetDataBufferSizeV2", [&] { size = out(dataBuffer, "dataBuffer", ACL_ERROR_INVALID_PARAM).size; });
  return size;
}

// 32 bits by its signature; CANN has V2 for buffers of 4 GiB and more.
uint32_t aclGetDataBufferSize(const aclDataBuffer* dataBuffer) {
  return static_cast<uint32_t>(aclGetDataBufferSizeV2(dataBuffer));
}
