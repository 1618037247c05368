// native/runtime/memory/shared_file.h
// Memory in a file that lies in no folder (memfd) and that other processes of the same user find by its name, among
// what the process that made it has open (/proc/<pid>/fd). A number of a descriptor would not do: the next file that
// the process opens gets it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "runtime/error.h"
#include "runtime/fd.h"

namespace opwright::memory {

struct FileName {
  int process;
  uint32_t number;  // no other file of the process has it

  bool operator==(const FileName& other) const { return process == other.process && number == other.number; }
  bool operator<(const FileName& other) const {
    return std::pair(process, number) < std::pair(other.process, other.number);
  }
  std::string shown() const;  // "opwright-<process>-<number>"
};

class OPWRIGHT_API SharedFile {
 public:
  // A new one. Throws 207001 if the host has no memory.
  explicit SharedFile(size_t bytes);
  // One that its process still has open. Throws 107000 if there is none.
  explicit SharedFile(const FileName& name);

  const FileName& name() const noexcept { return name_; }
  size_t bytes() const noexcept { return bytes_; }
  int descriptor() const noexcept { return fd_.number(); }
  // Of the machine's memory: pages that nobody has touched are not there.
  size_t written_bytes() const;

  // Another view of all of it, which the caller unmaps. Throws 207001 if the host has no room.
  void* map() const;
  // Its begin gets what the pages hold, and is mapped in their place. What is written to them meanwhile is lost.
  void take_place_of(void* pages, size_t bytes) const;

 private:
  FileName name_;
  Fd fd_;
  size_t bytes_;
};

}  // namespace opwright::memory
