#include "runtime/order/system_calls.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string_view>

#include "runtime/memory/access.h"
#include "runtime/memory/memory_space.h"
#include "runtime/order/host_accesses.h"

namespace opwright::order {
namespace {

constexpr auto kRead = opwright::Access::kRead;    // by the kernel: of what the program sends
constexpr auto kWrite = opwright::Access::kWrite;  // of what it receives

// The calls, with the parameters of the C library's.

ssize_t follow_read(int file, void* to, size_t bytes) {
  const KernelAccess access("read", kWrite, to, bytes);
  return read(file, to, bytes);
}

ssize_t follow_pread(int file, void* to, size_t bytes, off_t at) {
  const KernelAccess access("pread", kWrite, to, bytes);
  return pread(file, to, bytes, at);
}

ssize_t follow_readv(int file, const iovec* parts, int count) {
  const KernelAccess access("readv", kWrite, parts, count < 0 ? 0 : count);
  return readv(file, parts, count);
}

ssize_t follow_preadv(int file, const iovec* parts, int count, off_t at) {
  const KernelAccess access("preadv", kWrite, parts, count < 0 ? 0 : count);
  return preadv(file, parts, count, at);
}

ssize_t follow_recv(int socket, void* to, size_t bytes, int flags) {
  const KernelAccess access("recv", kWrite, to, bytes);
  return recv(socket, to, bytes, flags);
}

ssize_t follow_recvfrom(int socket, void* to, size_t bytes, int flags, sockaddr* from, socklen_t* length) {
  const KernelAccess access("recvfrom", kWrite, to, bytes);
  return recvfrom(socket, to, bytes, flags, from, length);
}

ssize_t follow_recvmsg(int socket, msghdr* message, int flags) {
  const KernelAccess access("recvmsg", kWrite, message->msg_iov, message->msg_iovlen);
  return recvmsg(socket, message, flags);
}

size_t follow_fread(void* to, size_t size, size_t count, FILE* file) {
  const KernelAccess access("fread", kWrite, to, size * count);
  return std::fread(to, size, count, file);
}

ssize_t follow_write(int file, const void* from, size_t bytes) {
  const KernelAccess access("write", kRead, from, bytes);
  return write(file, from, bytes);
}

ssize_t follow_pwrite(int file, const void* from, size_t bytes, off_t at) {
  const KernelAccess access("pwrite", kRead, from, bytes);
  return pwrite(file, from, bytes, at);
}

ssize_t follow_writev(int file, const iovec* parts, int count) {
  const KernelAccess access("writev", kRead, parts, count < 0 ? 0 : count);
  return writev(file, parts, count);
}

ssize_t follow_pwritev(int file, const iovec* parts, int count, off_t at) {
  const KernelAccess access("pwritev", kRead, parts, count < 0 ? 0 : count);
  return pwritev(file, parts, count, at);
}

ssize_t follow_send(int socket, const void* from, size_t bytes, int flags) {
  const KernelAccess access("send", kRead, from, bytes);
  return send(socket, from, bytes, flags);
}

ssize_t follow_sendto(int socket, const void* from, size_t bytes, int flags, const sockaddr* to, socklen_t length) {
  const KernelAccess access("sendto", kRead, from, bytes);
  return sendto(socket, from, bytes, flags, to, length);
}

ssize_t follow_sendmsg(int socket, const msghdr* message, int flags) {
  const KernelAccess access("sendmsg", kRead, message->msg_iov, message->msg_iovlen);
  return sendmsg(socket, message, flags);
}

size_t follow_fwrite(const void* from, size_t size, size_t count, FILE* file) {
  const KernelAccess access("fwrite", kRead, from, size * count);
  return std::fwrite(from, size, count, file);
}

struct Call {
  std::string_view name;
  uintptr_t ours;
};

template <class Function>
uintptr_t address_of(Function* function) {
  return reinterpret_cast<uintptr_t>(function);
}

const auto& calls() {
  static const std::array instance = {
      Call{"read", address_of(follow_read)},
      Call{"pread", address_of(follow_pread)},
      Call{"pread64", address_of(follow_pread)},
      Call{"readv", address_of(follow_readv)},
      Call{"preadv", address_of(follow_preadv)},
      Call{"preadv64", address_of(follow_preadv)},
      Call{"recv", address_of(follow_recv)},
      Call{"recvfrom", address_of(follow_recvfrom)},
      Call{"recvmsg", address_of(follow_recvmsg)},
      Call{"fread", address_of(follow_fread)},
      Call{"fread_unlocked", address_of(follow_fread)},
      Call{"write", address_of(follow_write)},
      Call{"pwrite", address_of(follow_pwrite)},
      Call{"pwrite64", address_of(follow_pwrite)},
      Call{"writev", address_of(follow_writev)},
      Call{"pwritev", address_of(follow_pwritev)},
      Call{"pwritev64", address_of(follow_pwritev)},
      Call{"send", address_of(follow_send)},
      Call{"sendto", address_of(follow_sendto)},
      Call{"sendmsg", address_of(follow_sendmsg)},
      Call{"fwrite", address_of(follow_fwrite)},
      Call{"fwrite_unlocked", address_of(follow_fwrite)},
  };
  return instance;
}

#if defined(__x86_64__)
constexpr uint32_t kJumpSlot = R_X86_64_JUMP_SLOT, kGlobalData = R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
constexpr uint32_t kJumpSlot = R_AARCH64_JUMP_SLOT, kGlobalData = R_AARCH64_GLOB_DAT;
#endif

// A loaded library, or the program itself.
class Library {
 public:
  explicit Library(const dl_phdr_info& info) : base_(info.dlpi_addr) {
    for (const ElfW(Phdr)* part = info.dlpi_phdr; part != info.dlpi_phdr + info.dlpi_phnum; ++part) {
      const uintptr_t begin = base_ + part->p_vaddr;
      if (part->p_type == PT_DYNAMIC) read_dynamic(reinterpret_cast<const ElfW(Dyn)*>(begin));
      if (part->p_type == PT_LOAD) is_ours_ |= contains(begin, part->p_memsz, address_of(follow_read));
      if (part->p_type == PT_GNU_RELRO) sealed_ = {begin, part->p_memsz};
    }
  }

  // The calls that the library imports now lead here. Ours still lead to the C library.
  void redirect() const {
    if (is_ours_ || symbols_ == nullptr || strings_ == nullptr) return;
    redirect(jumps_, bytes_of_jumps_);
    redirect(relocations_, bytes_of_relocations_);
  }

 private:
  struct Range {
    uintptr_t begin = 0;
    size_t bytes = 0;
  };

  static bool contains(uintptr_t begin, size_t bytes, uintptr_t address) {
    return begin <= address && address - begin < bytes;
  }

  // The loader has made addresses of what the file has as offsets, but not in all objects (the kernel's vDSO).
  template <class Table>
  void assign(const Table*& table, const ElfW(Dyn) & entry) const {
    const uintptr_t address = entry.d_un.d_ptr;
    table = reinterpret_cast<const Table*>(address < base_ ? base_ + address : address);
  }

  void read_dynamic(const ElfW(Dyn) * entry) {
    for (; entry->d_tag != DT_NULL; ++entry) {
      switch (entry->d_tag) {
        case DT_SYMTAB:
          assign(symbols_, *entry);
          break;
        case DT_STRTAB:
          assign(strings_, *entry);
          break;
        case DT_JMPREL:
          assign(jumps_, *entry);
          break;
        case DT_PLTRELSZ:
          bytes_of_jumps_ = entry->d_un.d_val;
          break;
        case DT_RELA:
          assign(relocations_, *entry);
          break;
        case DT_RELASZ:
          bytes_of_relocations_ = entry->d_un.d_val;
          break;
        default:
          break;
      }
    }
  }

  void redirect(const ElfW(Rela) * table, size_t bytes) const {
    if (table == nullptr) return;
    for (size_t i = 0; i < bytes / sizeof *table; ++i) {
      const uint32_t kind = ELF64_R_TYPE(table[i].r_info);
      if (kind != kJumpSlot && kind != kGlobalData) continue;
      const ElfW(Sym) & symbol = symbols_[ELF64_R_SYM(table[i].r_info)];
      if (symbol.st_shndx != SHN_UNDEF) continue;  // a function of its own with this name
      const std::string_view name = strings_ + symbol.st_name;
      for (const Call& call : calls()) {
        if (call.name == name) write_slot(base_ + table[i].r_offset, call.ours);
      }
    }
  }

  void write_slot(uintptr_t slot, uintptr_t function) const {
    const uintptr_t page = slot / memory::page_bytes() * memory::page_bytes();
    const bool is_sealed = contains(sealed_.begin, sealed_.bytes, slot);
    auto* const start = reinterpret_cast<void*>(page);
    if (is_sealed && mprotect(start, memory::page_bytes(), PROT_READ | PROT_WRITE) != 0) return;
    reinterpret_cast<std::atomic<uintptr_t>*>(slot)->store(function);  // other threads may be calling it
    if (is_sealed) mprotect(start, memory::page_bytes(), PROT_READ);
  }

  const uintptr_t base_;
  bool is_ours_ = false;
  Range sealed_;  // read-only since the library was loaded
  const ElfW(Sym) * symbols_ = nullptr;
  const char* strings_ = nullptr;
  const ElfW(Rela) * jumps_ = nullptr;
  size_t bytes_of_jumps_ = 0;
  const ElfW(Rela) * relocations_ = nullptr;
  size_t bytes_of_relocations_ = 0;
};

unsigned long long count_of_loads() {
  unsigned long long count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* result) {
        *static_cast<unsigned long long*>(result) = info->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

}  // namespace

void follow_system_calls() {
  static std::atomic<unsigned long long> known{0};
  const unsigned long long count = count_of_loads();
  if (known.exchange(count) == count) return;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void*) {
        Library(*info).redirect();
        return 0;
      },
      nullptr);
}

}  // namespace opwright::order
