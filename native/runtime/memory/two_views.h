// native/runtime/memory/two_views.h
// Memory that is mapped twice: its owner's view can lose access rights that the twin's view keeps.
#pragma once

#include <cstddef>

namespace opwright::memory {

class TwoViews {
 public:
  // Throws 207001 if the host has no memory. Both views are readable and writable, and begin with zeros.
  explicit TwoViews(size_t bytes);
  ~TwoViews();
  TwoViews(const TwoViews&) = delete;
  TwoViews& operator=(const TwoViews&) = delete;

  void* of_owner() const noexcept { return of_owner_; }
  void* of_twin() const noexcept { return is_joined_ ? of_owner_ : of_twin_; }
  // The owner's pages are to be replaced: from now on the twin reaches them where the owner does.
  void join() noexcept { is_joined_ = true; }
  size_t bytes() const noexcept { return bytes_; }  // whole pages

 private:
  size_t bytes_;
  void* of_owner_ = nullptr;
  void* of_twin_ = nullptr;
  bool is_joined_ = false;
};

}  // namespace opwright::memory
