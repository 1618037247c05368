// arena.cpp
#include "arena.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <unordered_map>

#include "run_mutex.h"

namespace AscendIE {

namespace {

// Above the priority of PyTorch's own allocator, which is 0.
constexpr uint8_t kPriority = 1;

// Of the run that this thread is in.
thread_local const std::shared_ptr<Block>* t_block = nullptr;
thread_local const std::shared_ptr<Recorder>* t_recorder = nullptr;

}  // namespace

/// Notes when each allocation is made and freed. `run_mutex` guards it.
class Recorder {
 public:
  size_t allocated(size_t size) {
    lifetimes_.push_back({size, events_++, SIZE_MAX});
    return lifetimes_.size() - 1;
  }
  void freed(size_t number) { lifetimes_[number].end = events_++; }
  MemoryPlan plan() const { return plan_memory(lifetimes_, events_); }

 private:
  std::vector<Lifetime> lifetimes_;
  size_t events_ = 0;
};

/// Memory with places by a plan. `run_mutex` guards the places.
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
    for (const Place& place : used_) {
      if (offset < place.offset + place.size && place.offset < offset + size) return nullptr;
    }
    used_.push_back({offset, size});
    return static_cast<char*>(memory_.get()) + offset;
  }

  void free(const void* pointer) {
    const auto offset = static_cast<size_t>(static_cast<const char*>(pointer) - static_cast<char*>(memory_.get()));
    std::erase_if(used_, [&](const Place& place) { return place.offset == offset; });
  }

 private:
  struct Place {
    size_t offset, size;
  };

  const std::shared_ptr<const MemoryPlan> plan_;
  c10::DataPtr memory_;
  size_t next_ = 0;  // of the thread that runs
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
      return made;
    }();
    return *allocator;
  }

  c10::DataPtr allocate(size_t size) override {
    void* pointer = nullptr;
    if (t_block && size > 0) {
      pointer = placed(*t_block, size);
    } else if (t_recorder && size > 0) {
      pointer = recorded(*t_recorder, size);
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

  void* placed(const std::shared_ptr<Block>& block, size_t size) {
    const std::lock_guard lock(run_mutex());
    void* const pointer = block->allocate(size);
    if (pointer) owners_.insert_or_assign(pointer, Owner{nullptr, block, 0});
    return pointer;
  }

  void* recorded(const std::shared_ptr<Recorder>& recorder, size_t size) {
    void* const pointer = base_.raw_allocate(size);
    const std::lock_guard lock(run_mutex());
    owners_.insert_or_assign(pointer, Owner{recorder, nullptr, recorder->allocated(size)});
    return pointer;
  }

  /// The owner dies behind the lock: a block frees memory.
  Owner take(void* pointer) {
    const std::lock_guard lock(run_mutex());
    const auto found = owners_.find(pointer);
    if (found == owners_.end()) return {};
    Owner owner = std::move(found->second);
    owners_.erase(found);
    if (owner.block) owner.block->free(pointer);
    if (owner.recorder) owner.recorder->freed(owner.number);
    return owner;
  }

  static void free(void* pointer) {
    RunAllocator& self = get();
    const Owner owner = self.take(pointer);
    if (!owner.block) self.base_.raw_deallocate(pointer);
  }

  c10::Allocator& base_;
  std::unordered_map<void*, Owner> owners_;
};

}  // namespace

Arena::Arena() { RunAllocator::get(); }
Arena::~Arena() = default;

void Arena::enter(Run& run) {
  const std::lock_guard lock(run_mutex());
  if (!plan_) {
    run.recorder_ = std::make_shared<Recorder>();
  } else if (!idle_.empty()) {
    run.block_ = std::move(idle_.back());
    idle_.pop_back();
  }
}

Arena::Run::Run(Arena& arena) : arena_(arena) {
  if (t_block || t_recorder) return;  // a run inside a run
  arena.enter(*this);
  // A plan stays as it is once it is made.
  if (!recorder_ && !block_ && arena.plan_->total > 0) {
    block_ = std::make_shared<Block>(arena.plan_, RunAllocator::get().base());
  }
  if (block_) {
    block_->begin();
    t_block = &block_;
  }
  if (recorder_) t_recorder = &recorder_;
}

void Arena::Run::pause() {
  if (block_) t_block = nullptr;
  if (recorder_) t_recorder = nullptr;
}

void Arena::learn(const Recorder& shared) {
  const Recorder seen = [&] {
    const std::lock_guard lock(run_mutex());
    return shared;
  }();
  auto plan = std::make_shared<const MemoryPlan>(seen.plan());
  const std::lock_guard lock(run_mutex());
  if (!plan_) plan_ = std::move(plan);
}

Arena::Run::~Run() {
  const bool complete = t_recorder != &recorder_;  // otherwise an error ended the run
  pause();
  if (recorder_ && complete) arena_.learn(*recorder_);
  const std::lock_guard lock(run_mutex());
  if (block_) arena_.idle_.push_back(std::move(block_));
}

}  // namespace AscendIE
