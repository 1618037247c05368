// native/collective/socket.h
// Sockets between the processes of this machine: names in Linux's abstract namespace, and connected pairs that are
// handed over to other processes.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "collective/limits.h"
#include "runtime/fd.h"

namespace opwright::collective {

// Throws HCCL_E_SYSCALL with errno's text.
[[noreturn]] void fail_call(const char* what);

std::pair<Fd, Fd> connected_pair();
// Not open if somebody listens at that name already.
Fd listen_at(const std::string& name);
// Not open if nobody listens there.
Fd connect_to(const std::string& name);
Fd accept_from(const Fd& listener);

// False if the other side has closed the connection, or the deadline has passed.
bool write_all(const Fd& fd, const void* data, size_t size, const Deadline& deadline);
bool read_all(const Fd& fd, void* data, size_t size, const Deadline& deadline);

// Hands a descriptor over to the process on the other side.
bool hand_over(const Fd& fd, const Fd& descriptor, const Deadline& deadline);
// Not open if there came none.
Fd take_over(const Fd& fd, const Deadline& deadline);

}  // namespace opwright::collective
