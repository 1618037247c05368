// native/opapi/signature.h
// A number for everything about a call that phase 1 can refuse: function, dtypes, shapes, attributes. Calls are
// repeated far more often than they differ, and a call like an accepted one costs one lookup.
#pragma once

#include <c10/core/Scalar.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "nnopbase/objects.h"

namespace opwright::opapi {

class OPWRIGHT_API Signature {
 public:
  enum class Detail { kShapes, kDtypes };  // kDtypes leaves out sizes and strides

  // `function` has static storage: its address stands for the function.
  Signature(const char* function, Detail detail) : detail_(detail) {
    mix(static_cast<uint64_t>(reinterpret_cast<uintptr_t>(function)) + static_cast<uint64_t>(detail));
  }

  void add(const aclTensor& tensor);
  void add(int64_t value) {
    mix(static_cast<uint64_t>(value));
    largest_ = std::max(largest_, value < 0 ? -(value + 1) : value);
  }
  // Learning rates and their like change in each step: what counts is where a number lies among 0 and 1, and the
  // magnitude of an integer.
  void add(double value);
  void add(const at::Scalar& value);
  void add(const std::string& value);
  void add_choice(int code) { mix(static_cast<uint64_t>(code)); }
  void add_absent() { mix(kAbsent); }

  uint64_t hash() const noexcept { return state_ ^ (state_ >> 32); }
  // The largest magnitude among the integer attributes.
  int64_t largest_integer() const noexcept { return largest_; }

 private:
  static constexpr uint64_t kAbsent = 0x6E6F6E65;  // no size, no dtype

  void mix(uint64_t word) noexcept {
    state_ = (((state_ << 5) | (state_ >> 59)) ^ word) * 0x9E3779B97F4A7C15u;  // the golden ratio: an odd number
  }

  uint64_t state_ = 0;
  int64_t largest_ = 0;
  Detail detail_;
};

}  // namespace opwright::opapi
