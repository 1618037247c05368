// native/runtime/memory/guard/arena.cpp
#include "runtime/memory/guard/arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>

#include "runtime/memory/free_list.h"

namespace opwright::guard {
namespace {

constexpr size_t kCells = 512;
constexpr size_t kCellSize = size_t{512} << 20;
constexpr size_t kMostOperand = size_t{384} << 20;  // what remains guards it
constexpr size_t kMostOpened = 64;                  // pages of one cell, and of strays
constexpr size_t kMostHits = 16;                    // of one cell that are kept

size_t page_size() noexcept {
  static const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

}  // namespace

// Written by signal handlers of any thread: a slot is claimed by counting, and read when no kernel runs any more.
template <class Value, size_t kMost>
class Notes {
 public:
  // False if it is full.
  bool add(const Value& value) noexcept {
    const size_t index = count_.fetch_add(1);
    if (index >= kMost) return false;
    values_[index] = value;
    ready_[index].store(true, std::memory_order_release);
    return true;
  }
  std::vector<Value> all() const {
    std::vector<Value> result;
    for (size_t i = 0; i < std::min(count_.load(), kMost); ++i) {
      if (ready_[i].load(std::memory_order_acquire)) result.push_back(values_[i]);
    }
    return result;
  }
  bool empty() const noexcept { return count_.load() == 0; }
  void clear() noexcept {
    for (auto& each : ready_) each.store(false);
    count_.store(0);
  }

 private:
  std::atomic<size_t> count_{0};
  std::array<std::atomic<bool>, kMost> ready_{};
  std::array<Value, kMost> values_{};
};

struct Cell {
  std::atomic<bool> active{false};
  Room room;
  char function[96] = "";
  char operand[64] = "";
  Notes<Hit, kMostHits> hits;
  Notes<uintptr_t, kMostOpened> opened;
};

namespace {

class Arena {
 public:
  Arena() {
    void* const base = mmap(nullptr, kCells * kCellSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(base != MAP_FAILED, ACL_ERROR_RT_MEMORY_ALLOCATION, "the host cannot reserve ", kCells * kCellSize,
            " bytes of address space for guarded memory");
    base_ = reinterpret_cast<uintptr_t>(base);
    for (Cell& cell : cells_) free_.push_back(&cell);
  }

  Cell* take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (free_.empty()) return nullptr;
    Cell* const cell = free_.front();
    free_.pop_front();
    return cell;
  }
  // The last one to be taken again.
  void give(Cell* cell) {
    const std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(cell);
  }

  bool contains(uintptr_t address) const noexcept { return address - base_ < kCells * kCellSize; }
  Cell& cell_at(uintptr_t address) noexcept { return cells_[(address - base_) / kCellSize]; }
  uintptr_t begin_of(const Cell& cell) const noexcept {
    return base_ + static_cast<size_t>(&cell - cells_.data()) * kCellSize;
  }

  Notes<Stray, kMostHits> strays;
  Notes<uintptr_t, kMostOpened> opened;  // by strays

 private:
  uintptr_t base_ = 0;
  std::array<Cell, kCells> cells_;
  std::mutex mutex_;
  std::deque<Cell*> free_;
};

std::atomic<Arena*> made{nullptr};

Arena& arena() {
  static Arena* const instance = [] {
    auto* const result = new Arena();  // handlers may ask for it until the process ends
    made.store(result);
    return result;
  }();
  return *instance;
}

// Without contents and without access rights, as the pages around it.
void close_pages(uintptr_t begin, size_t size) noexcept {
  mmap(reinterpret_cast<void*>(begin), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

template <size_t kSize>
void copy_text(char (&target)[kSize], const char* source) noexcept {
  std::strncpy(target, source, kSize - 1);
  target[kSize - 1] = '\0';
}

// Each once: two threads can meet the same page at the same time.
template <class Pages>
std::vector<uintptr_t> distinct(const Pages& pages) {
  std::vector<uintptr_t> result = pages.all();
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

bool open_page(uintptr_t page, Mode mode) noexcept {
  auto* const begin = reinterpret_cast<void*>(page);
  if (mprotect(begin, page_size(), PROT_READ | PROT_WRITE) != 0) return false;
  fill(begin, page_size(), mode);
  return true;
}

Stray stray_in(const Cell& cell, const Hit& hit) noexcept {
  Stray result{};
  result.hit = hit;
  result.offset = static_cast<int64_t>(hit.address - reinterpret_cast<uintptr_t>(cell.room.begin));
  result.size = cell.room.size;
  std::memcpy(result.function, cell.function, sizeof result.function);
  std::memcpy(result.operand, cell.operand, sizeof result.operand);
  return result;
}

}  // namespace

Room open_room(size_t size, Mode mode, const char* function, const char* operand) {
  Room room;
  if (size > kMostOperand) return room;
  room.cell = arena().take();
  if (room.cell == nullptr) return room;
  room.size = size;
  room.mode = mode;
  room.pages_size = memory::round_up(size, page_size());
  const uintptr_t middle = arena().begin_of(*room.cell) + (kCellSize - room.pages_size) / 2;
  room.first_page = reinterpret_cast<unsigned char*>(middle / page_size() * page_size());
  room.begin = room.first_page + (mode == Mode::kEnd ? room.pages_size - size : 0);
  if (room.pages_size > 0) {
    require(mprotect(room.first_page, room.pages_size, PROT_READ | PROT_WRITE) == 0, ACL_ERROR_RT_MEMORY_ALLOCATION,
            "the host cannot provide ", room.pages_size, " bytes for a guarded operand");
  }
  Cell& cell = *room.cell;
  cell.room = room;
  copy_text(cell.function, function);
  copy_text(cell.operand, operand);
  cell.hits.clear();
  cell.opened.clear();
  cell.active.store(true, std::memory_order_release);
  return room;
}

Closed close_room(const Room& room) noexcept {
  Closed result;
  Cell& cell = *room.cell;
  cell.active.store(false);
  result.hits = cell.hits.all();
  for (const uintptr_t page : distinct(cell.opened)) {
    result.written_outside += changed_in(reinterpret_cast<void*>(page), page_size(), room.mode).count;
    close_pages(page, page_size());
  }
  if (room.pages_size > 0) close_pages(reinterpret_cast<uintptr_t>(room.first_page), room.pages_size);
  arena().give(&cell);
  return result;
}

std::vector<Stray> take_strays() {
  Arena* const present = made.load();
  if (present == nullptr || present->opened.empty()) return {};
  std::vector<Stray> result = present->strays.all();
  for (const uintptr_t page : distinct(present->opened)) close_pages(page, page_size());
  present->strays.clear();
  present->opened.clear();
  return result;
}

bool is_in_arena(uintptr_t address) noexcept {
  const Arena* const present = made.load();
  return present != nullptr && present->contains(address);
}

bool let_through(const Hit& hit) noexcept {
  if (!is_in_arena(hit.address)) return false;
  Arena& present = *made.load();
  Cell& cell = present.cell_at(hit.address);
  const bool active = cell.active.load(std::memory_order_acquire);
  const uintptr_t page = hit.address / page_size() * page_size();
  if (!(active ? cell.opened : present.opened).add(page)) return false;  // it has no end
  if (!open_page(page, active ? cell.room.mode : mode())) return false;
  if (active) {
    cell.hits.add(hit);
  } else {
    present.strays.add(stray_in(cell, hit));
  }
  return true;
}

}  // namespace opwright::guard
