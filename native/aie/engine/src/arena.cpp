// arena.cpp
#include "arena.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <pthread.h>

#include <algorithm>
#include <unordered_map>

namespace AscendIE {

namespace {

// Above the priority of PyTorch's own allocator, which is 0.
constexpr uint8_t kPriority = 1;

// Of the run that this thread is in.
thread_local const std::shared_ptr<Block>* t_block = nullptr;
thread_local const std::shared_ptr<Recorder>* t_recorder = nullptr;

}  // namespace

/// Notes when each allocation is made and freed.
class Recorder {
 public:
  size_t allocated(size_t size) {
    const std::lock_guard lock(mutex_);
    lifetimes_.push_back({size, events_++, SIZE_MAX});
    return lifetimes_.size() - 1;
  }

  void freed(size_t number) {
    const std::lock_guard lock(mutex_);
    lifetimes_[number].end = events_++;
  }

  MemoryPlan plan() {
    const std::lock_guard lock(mutex_);
    return plan_memory(lifetimes_, events_);
  }

 private:
  std::mutex mutex_;
  std::vector<Lifetime> lifetimes_;
  size_t events_ = 0;
};

/// Memory with places by a plan.
class Block {
 public:
  Block(std::shared_ptr<const MemoryPlan> plan, c10::Allocator& base)
      : plan_(std::move(plan)), memory_(base.allocate(plan_->total)) {}

  void begin() { next_ = 0; }

  /// Null if the plan has no place for it, or something that is still in use overlaps with it.
  void* allocate(size_t size) {
    const size_t number = next_++;
    if (number >= plan_->sizes.size() || plan_->sizes[number] != size || plan_->offsets[number] == kNoPlace) {
      return nullptr;
    }
    const size_t offset = plan_->offsets[number];
    const std::lock_guard lock(mutex_);
    for (const Place& place : used_) {
      if (offset < place.offset + place.size && place.offset < offset + size) return nullptr;
    }
    used_.push_back({offset, size});
    return static_cast<char*>(memory_.get()) + offset;
  }

  void free(const void* pointer) {
    const auto offset = static_cast<size_t>(static_cast<const char*>(pointer) - static_cast<char*>(memory_.get()));
    const std::lock_guard lock(mutex_);
    std::erase_if(used_, [&](const Place& place) { return place.offset == offset; });
  }

 private:
  struct Place {
    size_t offset, size;
  };

  const std::shared_ptr<const MemoryPlan> plan_;
  c10::DataPtr memory_;
  size_t next_ = 0;  // of the thread that runs
  std::mutex mutex_;
  std::vector<Place> used_;
};

namespace {

/// PyTorch's allocator, but for threads that are in a run. oneDNN takes memory without context, so what is to be done
/// with a pointer is found by its value.
class RunAllocator final : public c10::Allocator {
 public:
  static RunAllocator& get() {
    static RunAllocator* const allocator = [] {
      // Never freed: tensors may live until the process ends.
      auto* const made = new RunAllocator(*c10::GetCPUAllocator());
      c10::SetCPUAllocator(made, kPriority);
      // A process may fork while another thread is in a run: the child must not find the mutex locked for ever.
      pthread_atfork([] { get().mutex_.lock(); }, [] { get().mutex_.unlock(); }, [] { get().mutex_.unlock(); });
      return made;
    }();
    return *allocator;
  }

  c10::DataPtr allocate(size_t size) override {
    void* pointer = nullptr;
    if (t_block && size > 0) {
      pointer = (*t_block)->allocate(size);
      if (pointer) owned(pointer, {nullptr, *t_block, 0});
    } else if (t_recorder && size > 0) {
      pointer = base_.raw_allocate(size);
      owned(pointer, {*t_recorder, nullptr, (*t_recorder)->allocated(size)});
    }
    return pointer ? c10::DataPtr(pointer, pointer, &RunAllocator::free, at::kCPU) : base_.allocate(size);
  }
  c10::DeleterFnPtr raw_deleter() const override { return &RunAllocator::free; }
  void copy_data(void* to, const void* from, std::size_t count) const override { base_.copy_data(to, from, count); }
  c10::Allocator& base() { return base_; }

 private:
  /// Who gave the memory; it is kept alive by it.
  struct Owner {
    std::shared_ptr<Recorder> recorder;
    std::shared_ptr<Block> block;
    size_t number;
  };

  explicit RunAllocator(c10::Allocator& base) : base_(base) {}

  void owned(void* pointer, Owner owner) {
    const std::lock_guard lock(mutex_);
    owners_.insert_or_assign(pointer, std::move(owner));
  }

  Owner take(void* pointer) {
    const std::lock_guard lock(mutex_);
    const auto found = owners_.find(pointer);
    if (found == owners_.end()) return {};
    Owner owner = std::move(found->second);
    owners_.erase(found);
    return owner;
  }

  static void free(void* pointer) {
    RunAllocator& self = get();
    const Owner owner = self.take(pointer);
    if (owner.block) return owner.block->free(pointer);
    self.base_.raw_deallocate(pointer);
    if (owner.recorder) owner.recorder->freed(owner.number);
  }

  c10::Allocator& base_;
  std::mutex mutex_;
  std::unordered_map<void*, Owner> owners_;
};

}  // namespace

Arena::Arena() { RunAllocator::get(); }
Arena::~Arena() = default;

Arena::Run::Run(Arena& arena) : arena_(arena) {
  if (t_block || t_recorder) return;  // a run inside a run
  const std::lock_guard lock(arena.mutex_);
  if (!arena.plan_) {
    recorder_ = std::make_shared<Recorder>();
  } else if (arena.plan_->total > 0) {
    if (arena.idle_.empty()) {
      block_ = std::make_shared<Block>(arena.plan_, RunAllocator::get().base());
    } else {
      block_ = std::move(arena.idle_.back());
      arena.idle_.pop_back();
    }
    block_->begin();
  }
  if (block_) t_block = &block_;
  if (recorder_) t_recorder = &recorder_;
}

void Arena::Run::pause() {
  if (block_) t_block = nullptr;
  if (recorder_) t_recorder = nullptr;
}

Arena::Run::~Run() {
  const bool complete = t_recorder != &recorder_;  // otherwise an error ended the run
  pause();
  const std::lock_guard lock(arena_.mutex_);
  if (block_) arena_.idle_.push_back(std::move(block_));
  if (recorder_ && complete && !arena_.plan_) arena_.plan_ = std::make_shared<const MemoryPlan>(recorder_->plan());
}

}  // namespace AscendIE
