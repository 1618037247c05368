// native/runtime/handle.h
// Tables of live handles. A handle that CANN's callers hold is the address of the object; a handle that is not in the
// table (destroyed, foreign, garbage) is reported instead of dereferenced.
#pragma once

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "runtime/error.h"

namespace opwright {

template <class T>
class Handles {
 public:
  // `kind` is the word for error texts, `code` the error for a handle that is not live.
  Handles(const char* kind, int code) : kind_(kind), code_(code) {}

  void* add(std::shared_ptr<T> object) {
    void* const handle = object.get();
    const std::unique_lock<std::shared_mutex> lock(mutex_);
    live_[handle] = std::move(object);
    return handle;
  }

  std::shared_ptr<T> find(const void* handle) const {
    {
      const std::shared_lock<std::shared_mutex> lock(mutex_);
      const auto it = live_.find(handle);
      if (it != live_.end()) return it->second;
    }
    reject(handle);
  }

  std::shared_ptr<T> remove(const void* handle) {
    const std::unique_lock<std::shared_mutex> lock(mutex_);
    const auto it = live_.find(handle);
    if (it == live_.end()) reject(handle);
    std::shared_ptr<T> object = std::move(it->second);
    live_.erase(it);
    return object;
  }

  // For objects whose handle may be gone already, or never was given out.
  void remove_if_live(const void* handle) {
    const std::unique_lock<std::shared_mutex> lock(mutex_);
    live_.erase(handle);
  }

  std::vector<std::shared_ptr<T>> all() const {
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    std::vector<std::shared_ptr<T>> objects;
    objects.reserve(live_.size());
    for (const auto& entry : live_) objects.push_back(entry.second);
    return objects;
  }

 private:
  [[noreturn]] void reject(const void* handle) const {
    fail(code_, kind_, " ", handle, " does not exist (destroyed, or not created by this runtime)");
  }

  const char* const kind_;
  const int code_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<const void*, std::shared_ptr<T>> live_;
};

}  // namespace opwright
