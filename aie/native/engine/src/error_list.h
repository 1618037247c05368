// error_list.h: errors that any thread may add and read, as GetErrorsNum and GetErrorByIndex show them.
#pragma once

#include <deque>
#include <mutex>
#include <string>

namespace AscendIE {

class ErrorList {
 public:
  void add(std::string text) {
    const std::lock_guard lock(mutex_);
    texts_.push_back(std::move(text));
  }
  size_t size() const {
    const std::lock_guard lock(mutex_);
    return texts_.size();
  }
  /// Null for an index that is too large; the text stays where it is.
  const char* at(size_t index) const {
    const std::lock_guard lock(mutex_);
    return index < texts_.size() ? texts_[index].c_str() : nullptr;
  }

 private:
  mutable std::mutex mutex_;
  std::deque<std::string> texts_;
};

}  // namespace AscendIE
