// native/collective/socket.cpp
#include "collective/socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "hccl/hccl_types.h"
#include "runtime/error.h"

namespace opwright::collective {
namespace {

constexpr int kBacklog = 256;
constexpr int kSocketSlice = 1000;  // milliseconds
// Milliseconds until descriptors that are on their way may have arrived: a user may have as many of them as a process
// may have open (ETOOMANYREFS), and nothing shows when there are fewer.
constexpr int kDelivery = 5;

struct Address {
  sockaddr_un value{};
  socklen_t size = 0;
};

// The first byte of an abstract name is zero; its length ends it.
Address address_of(const std::string& name) {
  Address address;
  address.value.sun_family = AF_UNIX;
  require(name.size() + 1 <= sizeof(address.value.sun_path), HCCL_E_PARA, "the socket name '", name, "' is too long");
  std::memcpy(address.value.sun_path + 1, name.data(), name.size());
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

const sockaddr* plain(const Address& address) { return reinterpret_cast<const sockaddr*>(&address.value); }

Fd make_socket() {
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.open()) fail_call("socket");
  return fd;
}

bool wait_for(const Fd& fd, short events, const Deadline& deadline) {
  while (!deadline.passed()) {
    pollfd entry{fd.number(), events, 0};
    if (poll(&entry, 1, deadline.left(kSocketSlice)) > 0) return true;
  }
  return false;
}

// True when the call that answered -1 shall be made again after a wait.
bool again() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

// A message of one byte and one descriptor.
struct Parcel {
  char byte = 0;
  iovec content{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};

  Parcel() {
    header.msg_iov = &content;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
  }
};

// Names of sockets have no owner: whoever runs on this machine may take one, or call it.
bool of_this_user(const Fd& fd) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(fd.number(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) fail_call("getsockopt");
  return peer.uid == geteuid();
}

}  // namespace

void fail_call(const char* what) {
  const bool many = errno == EMFILE;  // a communicator of n ranks has n - 1 sockets in each of them
  fail(HCCL_E_SYSCALL, what, ": ", std::strerror(errno), many ? "; raise this process's limit (ulimit -n)" : "");
}

std::pair<Fd, Fd> connected_pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) fail_call("socketpair");
  return {Fd(ends[0]), Fd(ends[1])};
}

Fd listen_at(const std::string& name) {
  Fd fd = make_socket();
  const Address address = address_of(name);
  if (bind(fd.number(), plain(address), address.size) != 0) {
    if (errno == EADDRINUSE) return Fd();
    fail_call("bind");
  }
  if (listen(fd.number(), kBacklog) != 0) fail_call("listen");
  return fd;
}

Fd connect_to(const std::string& name) {
  Fd fd = make_socket();
  const Address address = address_of(name);
  int answer;
  do {
    answer = connect(fd.number(), plain(address), address.size);
  } while (answer != 0 && errno == EINTR);
  if (answer == 0) {
    require(of_this_user(fd), HCCL_E_SYSCALL, "the socket name '", name, "' belongs to a process of another user");
    return fd;
  }
  if (errno == ECONNREFUSED || errno == ENOENT) return Fd();
  fail_call("connect");
}

Fd accept_from(const Fd& listener) {
  Fd guest(accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC));
  return guest.open() && of_this_user(guest) ? std::move(guest) : Fd();
}

bool write_all(const Fd& fd, const void* data, size_t size, const Deadline& deadline) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t count = send(fd.number(), next, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0) {
      next += count;
      size -= static_cast<size_t>(count);
    } else if (!again() || !wait_for(fd, POLLOUT, deadline)) {
      return false;
    }
  }
  return true;
}

bool read_all(const Fd& fd, void* data, size_t size, const Deadline& deadline) {
  char* next = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t count = recv(fd.number(), next, size, MSG_DONTWAIT);
    if (count > 0) {
      next += count;
      size -= static_cast<size_t>(count);
    } else if (count == 0 || !again() || !wait_for(fd, POLLIN, deadline)) {
      return false;
    }
  }
  return true;
}

bool hand_over(const Fd& fd, const Fd& descriptor, const Deadline& deadline) {
  Parcel parcel;
  cmsghdr* const part = CMSG_FIRSTHDR(&parcel.header);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof(int));
  const int number = descriptor.number();
  std::memcpy(CMSG_DATA(part), &number, sizeof(number));
  while (sendmsg(fd.number(), &parcel.header, MSG_NOSIGNAL | MSG_DONTWAIT) != 1) {
    if (errno == ETOOMANYREFS && !deadline.passed()) {
      poll(nullptr, 0, kDelivery);
    } else if (!again() || !wait_for(fd, POLLOUT, deadline)) {
      return false;
    }
  }
  return true;
}

Fd take_over(const Fd& fd, const Deadline& deadline) {
  Parcel parcel;
  ssize_t count;
  while ((count = recvmsg(fd.number(), &parcel.header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT)) != 1) {
    if (count == 0 || !again() || !wait_for(fd, POLLIN, deadline)) return Fd();
  }
  const cmsghdr* const part = CMSG_FIRSTHDR(&parcel.header);
  if (part == nullptr || part->cmsg_type != SCM_RIGHTS) return Fd();
  int number;
  std::memcpy(&number, CMSG_DATA(part), sizeof(number));
  return Fd(number);
}

}  // namespace opwright::collective
