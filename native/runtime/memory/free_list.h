// native/runtime/memory/free_list.h
// Which parts of an address range are free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

namespace opwright::memory {

inline size_t round_up(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

// First fit; neighbours are merged. Not thread-safe.
class FreeList {
 public:
  FreeList(uintptr_t begin, size_t size) { ranges_[begin] = size; }

  // 0 when no range is large enough.
  uintptr_t take(size_t size, size_t alignment) {
    for (auto it = ranges_.begin(); it != ranges_.end(); ++it) {
      const uintptr_t begin = round_up(it->first, alignment);
      const uintptr_t end = it->first + it->second;
      if (begin >= end || end - begin < size) continue;
      const uintptr_t head = it->first;
      ranges_.erase(it);
      if (begin > head) ranges_[head] = begin - head;
      if (begin + size < end) ranges_[begin + size] = end - begin - size;
      return begin;
    }
    return 0;
  }

  void give(uintptr_t begin, size_t size) {
    auto next = ranges_.lower_bound(begin);
    if (next != ranges_.end() && begin + size == next->first) {
      size += next->second;
      next = ranges_.erase(next);
    }
    if (next != ranges_.begin()) {
      const auto previous = std::prev(next);
      if (previous->first + previous->second == begin) {
        previous->second += size;
        return;
      }
    }
    ranges_[begin] = size;
  }

 private:
  std::map<uintptr_t, size_t> ranges_;
};

}  // namespace opwright::memory
