// native/runtime/api/virtual_memory.cpp
// Address ranges and physical blocks (torch_npu's expandable segments), and sharing between processes.
#include "runtime/memory/virtual_memory.h"

#include <algorithm>
#include <cstring>

#include "acl/acl_rt.h"
#include "runtime/call.h"
#include "runtime/device.h"
#include "runtime/memory/memory.h"
#include "runtime/memory/shared_memory.h"

using namespace opwright;

namespace {

// Of exports, that any process may import; of imports, that peers may use them: both hold here in any case.
void require_flag(uint64_t flags) {
  require(flags <= 1, ACL_ERROR_RT_PARAM_INVALID, "parameter 'flags' is ", flags, "; allowed: 0, 1");
}

// Where physical blocks exist.
int device_in(const aclrtMemLocation& location) {
  require(location.type == ACL_MEM_LOCATION_TYPE_DEVICE, ACL_ERROR_FEATURE_UNSUPPORTED,
          "physical blocks exist on devices only; location type ", static_cast<int>(location.type), " was asked for");
  return device_at(static_cast<int>(location.id)).id();
}

// Copies reach every mapping from the host and from all devices, and kernels do too.
void require_reachable(const aclrtMemAccessDesc& desc) {
  require(desc.flags == ACL_RT_MEM_ACCESS_FLAGS_READWRITE, ACL_ERROR_FEATURE_UNSUPPORTED, "access ",
          static_cast<int>(desc.flags), " cannot be set: mapped memory can be read and written; allowed: ",
          static_cast<int>(ACL_RT_MEM_ACCESS_FLAGS_READWRITE), " (ACL_RT_MEM_ACCESS_FLAGS_READWRITE)");
  if (desc.location.type != ACL_MEM_LOCATION_TYPE_HOST) device_in(desc.location);
}

}  // namespace

aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp* prop, aclrtMemGranularityOptions option,
                                          size_t* granularity) {
  return call(
      "aclrtMemGetAllocationGranularity",
      [&] {
        device_in(out(prop, "prop").location);
        require(option == ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM || option == ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED,
                ACL_ERROR_RT_PARAM_INVALID, "parameter 'option' is ", static_cast<int>(option),
                "; allowed: 0 (minimum), 1 (recommended)");
        out(granularity, "granularity") = memory::kGranularity;
      },
      arg("option", option));
}

aclError aclrtMemSetAccess(void* virPtr, size_t size, aclrtMemAccessDesc* desc, size_t count) {
  return call(
      "aclrtMemSetAccess",
      [&] {
        memory::require_mapping(virPtr, size);
        require(count > 0, ACL_ERROR_RT_PARAM_INVALID, "parameter 'count' is 0");
        const aclrtMemAccessDesc* const first = &out(desc, "desc");
        std::for_each(first, first + count, require_reachable);
      },
      arg("virPtr", virPtr), arg("size", size), arg("count", count));
}

aclError aclrtReserveMemAddress(void** virPtr, size_t size, size_t alignment, void* expectPtr, uint64_t flags) {
  return call(
      "aclrtReserveMemAddress",
      [&] {
        require(expectPtr == nullptr, ACL_ERROR_FEATURE_UNSUPPORTED,
                "a wished address cannot be granted; pass null as expectPtr");
        void*& result = out(virPtr, "virPtr");
        result = memory::reserve(current_device().id(), size, alignment);
      },
      arg("size", size), arg("alignment", alignment), arg("flags", flags));
}

aclError aclrtReleaseMemAddress(void* virPtr) {
  return call("aclrtReleaseMemAddress", [&] { memory::unreserve(virPtr); }, arg("virPtr", virPtr));
}

aclError aclrtMallocPhysical(aclrtDrvMemHandle* handle, size_t size, const aclrtPhysicalMemProp* prop, uint64_t flags) {
  return call(
      "aclrtMallocPhysical",
      [&] {
        require(prop != nullptr, ACL_ERROR_RT_PARAM_INVALID, "parameter 'prop' is null");
        const int device = device_in(prop->location);
        aclrtDrvMemHandle& result = out(handle, "handle");
        result = memory::create_physical(device, size);
      },
      arg("size", size), arg("flags", flags));
}

aclError aclrtFreePhysical(aclrtDrvMemHandle handle) {
  return call("aclrtFreePhysical", [&] { memory::destroy_physical(handle); }, arg("handle", handle));
}

aclError aclrtMapMem(void* virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle, uint64_t flags) {
  return call(
      "aclrtMapMem", [&] { memory::map(virPtr, size, offset, handle); }, arg("virPtr", virPtr), arg("size", size),
      arg("offset", offset), arg("handle", handle), arg("flags", flags));
}

aclError aclrtUnmapMem(void* virPtr) {
  return call(
      "aclrtUnmapMem",
      [&] {
        if (memory::is_device_address(virPtr)) wait_for_users_on(memory::device_of(virPtr));
        memory::unmap(virPtr);
      },
      arg("virPtr", virPtr));
}

aclError aclrtMemExportToShareableHandle(aclrtDrvMemHandle handle, aclrtMemHandleType handleType, uint64_t flags,
                                         uint64_t* shareableHandle) {
  return call(
      "aclrtMemExportToShareableHandle",
      [&] {
        require(handleType == ACL_MEM_HANDLE_TYPE_NONE, ACL_ERROR_FEATURE_UNSUPPORTED, "parameter 'handleType' is ",
                static_cast<int>(handleType), "; allowed: 0 (ACL_MEM_HANDLE_TYPE_NONE)");
        require_flag(flags);
        out(shareableHandle, "shareableHandle") = memory::export_physical(handle);
      },
      arg("handle", handle), arg("handleType", handleType), arg("flags", flags));
}

aclError aclrtMemImportFromShareableHandle(uint64_t shareableHandle, int32_t deviceId, aclrtDrvMemHandle* handle) {
  return call(
      "aclrtMemImportFromShareableHandle",
      [&] {
        aclrtDrvMemHandle& result = out(handle, "handle");
        device_at(deviceId);  // it has to be one; the block can be mapped on any
        result = memory::import_physical(shareableHandle);
      },
      arg("shareableHandle", shareableHandle), arg("deviceId", deviceId));
}

// Any process of the same user may import: the lists of processes that CANN keeps are not kept here.
aclError aclrtMemSetPidToShareableHandle(uint64_t shareableHandle, int32_t* pid, size_t pidNum) {
  return call(
      "aclrtMemSetPidToShareableHandle",
      [&] {
        out(pid, "pid");
        memory::require_exported(shareableHandle);
      },
      arg("shareableHandle", shareableHandle), arg("pidNum", pidNum));
}

aclError aclrtIpcMemGetExportKey(void* devPtr, size_t size, char* key, size_t len, uint64_t flags) {
  return call(
      "aclrtIpcMemGetExportKey",
      [&] {
        out(key, "key");
        require_flag(flags);
        const std::string made = memory::export_key(devPtr, size);
        require(made.size() < len, ACL_ERROR_RT_PARAM_INVALID, "parameter 'len' is ", len, ", but the key has ",
                made.size() + 1, " characters");
        std::memset(key, 0, len);
        made.copy(key, made.size());
      },
      arg("devPtr", devPtr), arg("size", size), arg("flags", flags));
}

aclError aclrtIpcMemImportByKey(void** devPtr, const char* key, uint64_t flags) {
  return call(
      "aclrtIpcMemImportByKey",
      [&] {
        require_flag(flags);
        void*& result = out(devPtr, "devPtr");
        result = memory::import_key(&out(key, "key"), current_device().id());
      },
      arg("key", key), arg("flags", flags));
}

aclError aclrtIpcMemSetImportPid(const char* key, int32_t* pid, size_t num) {
  return call(
      "aclrtIpcMemSetImportPid",
      [&] {
        out(pid, "pid");
        memory::require_exported(&out(key, "key"));
      },
      arg("key", key), arg("num", num));
}

aclError aclrtIpcMemClose(const char* key) {
  return call(
      "aclrtIpcMemClose",
      [&] {
        out(key, "key");
        if (const auto device = memory::device_of_import(key)) wait_for_users_on(*device);
        memory::close_key(key);
      },
      arg("key", key));
}

#define NO_SHARED_EVENTS "events are not shared between processes; synchronize before the other process uses the memory"
OPWRIGHT_REFUSE(aclError, aclrtIpcGetEventHandle, (aclrtEvent, aclrtIpcEventHandle*), NO_SHARED_EVENTS)
OPWRIGHT_REFUSE(aclError, aclrtIpcOpenEventHandle, (aclrtIpcEventHandle, aclrtEvent*), NO_SHARED_EVENTS)
