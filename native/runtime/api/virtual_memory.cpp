// native/runtime/api/virtual_memory.cpp
// Address ranges and physical blocks (torch_npu's expandable segments), and sharing between processes.
#include "runtime/virtual_memory.h"

#include "acl/acl_rt.h"
#include "runtime/call.h"
#include "runtime/device.h"
#include "runtime/memory.h"

using namespace opwright;

aclError aclrtReserveMemAddress(void** virPtr, size_t size, size_t alignment, void* expectPtr, uint64_t flags) {
  return call(
      "aclrtReserveMemAddress",
      [&] {
        require(expectPtr == nullptr, ACL_ERROR_FEATURE_UNSUPPORTED,
                "a wished address cannot be granted; pass null as expectPtr");
        out(virPtr, "virPtr") = memory::reserve(current_device().id(), size, alignment);
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
        require(prop->location.type == ACL_MEM_LOCATION_TYPE_DEVICE, ACL_ERROR_FEATURE_UNSUPPORTED,
                "physical blocks exist on devices only; location type ", static_cast<int>(prop->location.type),
                " was asked for");
        out(handle, "handle") = memory::create_physical(device_at(static_cast<int>(prop->location.id)).id(), size);
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
        if (memory::is_device_address(virPtr) && Stream::current() == nullptr) {
          for (const auto& stream : streams_of(memory::device_of(virPtr))) stream->wait(std::nullopt);
        }
        memory::unmap(virPtr);
      },
      arg("virPtr", virPtr));
}

#define NO_SHARING "device memory and events are not shared between processes; share a CPU tensor and copy it"
OPWRIGHT_REFUSE(aclError, aclrtMemExportToShareableHandle, (aclrtDrvMemHandle, aclrtMemHandleType, uint64_t, uint64_t*),
                NO_SHARING)
OPWRIGHT_REFUSE(aclError, aclrtMemImportFromShareableHandle, (uint64_t, int32_t, aclrtDrvMemHandle*), NO_SHARING)
OPWRIGHT_REFUSE(aclError, aclrtMemSetPidToShareableHandle, (uint64_t, int32_t*, size_t), NO_SHARING)
OPWRIGHT_REFUSE(aclError, aclrtIpcMemGetExportKey, (void*, size_t, char*, size_t, uint64_t), NO_SHARING)
OPWRIGHT_REFUSE(aclError, aclrtIpcMemImportByKey, (void**, const char*, uint64_t), NO_SHARING)
OPWRIGHT_REFUSE(aclError, aclrtIpcMemSetImportPid, (const char*, int32_t*, size_t), NO_SHARING)
OPWRIGHT_REFUSE(aclError, aclrtIpcMemClose, (const char*), NO_SHARING)
OPWRIGHT_REFUSE(aclError, aclrtIpcGetEventHandle, (aclrtEvent, aclrtIpcEventHandle*), NO_SHARING)
OPWRIGHT_REFUSE(aclError, aclrtIpcOpenEventHandle, (aclrtIpcEventHandle, aclrtEvent*), NO_SHARING)
