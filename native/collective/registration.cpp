// native/collective/registration.cpp
// Memory that a caller announces to a communicator. HCCL saves copies with it; on the twin it changes nothing but what
// is checked. What would let a rank reach another rank's memory is refused: each process has its own.
#include "collective/communicator.h"
#include "collective/refuse.h"
#include "hccl/hccl.h"
#include "runtime/memory/memory.h"

using namespace opwright;
using namespace opwright::collective;

void Communicator::add_range(const void* begin, size_t size) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ranges_[begin] = size;
}

void Communicator::remove_range(const void* begin) {
  const std::lock_guard<std::mutex> lock(mutex_);
  require(ranges_.erase(begin) == 1, HCCL_E_PARA, "no memory range was set at ", begin);
}

void Communicator::require_in_range(const void* begin, size_t size) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto first = reinterpret_cast<uintptr_t>(begin);
  for (const auto& [start, length] : ranges_) {
    const auto from = reinterpret_cast<uintptr_t>(start);
    if (first >= from && first - from <= length && size <= length - (first - from)) return;
  }
  opwright::fail(HCCL_E_PARA, size, " bytes at ", begin,
                 " do not lie in a range that was set with HcclCommSetMemoryRange");
}

void* Communicator::add_registration(const void* begin, size_t size) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return const_cast<void*>(static_cast<const void*>(&*registrations_.insert({begin, size}).first));
}

void Communicator::remove_registration(void* handle) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto it = registrations_.begin(); it != registrations_.end(); ++it) {
    if (static_cast<const void*>(&*it) != handle) continue;
    registrations_.erase(it);
    return;
  }
  opwright::fail(HCCL_E_PARA, "handle ", handle, " is not one that HcclCommRegister gave for this communicator");
}

namespace {

template <class Body>
HcclResult run(const char* function, HcclComm comm, Body&& body) {
  return static_cast<HcclResult>(call(
      function,
      [&] {
        require(comm != nullptr, HCCL_E_PTR, "parameter 'comm' is null");
        body(*communicators().find(comm));
      },
      arg("comm", comm)));
}

void require_zero(uint64_t value, const char* name) {
  require(value == 0, HCCL_E_PARA, "parameter '", name, "' is ", value, "; allowed: 0");
}

}  // namespace

HcclResult HcclCommSetMemoryRange(HcclComm comm, void* baseVirPtr, size_t size, size_t alignment, uint64_t flags) {
  return run("HcclCommSetMemoryRange", comm, [&](Communicator& communicator) {
    require_zero(alignment, "alignment");
    require_zero(flags, "flags");
    require(memory::is_device_address(baseVirPtr), HCCL_E_PARA, "parameter 'baseVirPtr': ", baseVirPtr,
            " is not a device address");
    communicator.add_range(baseVirPtr, size);
  });
}

HcclResult HcclCommUnsetMemoryRange(HcclComm comm, void* baseVirPtr) {
  return run("HcclCommUnsetMemoryRange", comm,
             [&](Communicator& communicator) { communicator.remove_range(baseVirPtr); });
}

HcclResult HcclCommActivateCommMemory(HcclComm comm, void* virPtr, size_t size, size_t offset, aclrtDrvMemHandle,
                                      uint64_t flags) {
  return run("HcclCommActivateCommMemory", comm, [&](Communicator& communicator) {
    require_zero(offset, "offset");
    require_zero(flags, "flags");
    communicator.require_in_range(virPtr, size);
  });
}

HcclResult HcclCommDeactivateCommMemory(HcclComm comm, void* virPtr) {
  return run("HcclCommDeactivateCommMemory", comm,
             [&](Communicator& communicator) { communicator.require_in_range(virPtr, 0); });
}

HcclResult HcclCommRegister(HcclComm comm, void* addr, uint64_t size, void** handle, uint32_t flag) {
  return run("HcclCommRegister", comm, [&](Communicator& communicator) {
    require_zero(flag, "flag");
    memory::checked_alias(addr, size, "parameter 'addr'", HCCL_E_PARA);
    void*& result = out(handle, "handle", HCCL_E_PTR);
    result = communicator.add_registration(addr, size);
  });
}

HcclResult HcclCommDeregister(HcclComm comm, void* handle) {
  return run("HcclCommDeregister", comm, [&](Communicator& communicator) { communicator.remove_registration(handle); });
}

OPWRIGHT_REFUSE_COLLECTIVE(HcclCommExchangeMem, (HcclComm, void*, uint32_t*, uint32_t), OPWRIGHT_NO_REMOTE_MEMORY)
OPWRIGHT_REFUSE_COLLECTIVE(HcclCommSymWinDeregister, (CommSymWindow), OPWRIGHT_NO_REMOTE_MEMORY)
OPWRIGHT_REFUSE_COLLECTIVE(HcclCommSymWinRegister, (HcclComm, void*, uint64_t, CommSymWindow*, uint32_t),
                           OPWRIGHT_NO_REMOTE_MEMORY)
