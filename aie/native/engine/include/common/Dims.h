// common/Dims.h: a shape of at most eight dimensions.
#ifndef ASCENDIE_COMMON_DIMS_H
#define ASCENDIE_COMMON_DIMS_H

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace AscendIE {

class Dims {
 public:
  static constexpr int32_t MAX_DIMS = 8;

  Dims() = default;
  /// Of more than eight sizes the first eight are kept, and what takes the shape records an error (TooLong).
  Dims(int32_t count, const int64_t* sizes) : count_(std::max(count, 0)) { std::copy_n(sizes, Size(), sizes_); }
  Dims(std::initializer_list<int64_t> sizes) : Dims(static_cast<int32_t>(sizes.size()), sizes.begin()) {}
  explicit Dims(const std::vector<int64_t>& sizes) : Dims(static_cast<int32_t>(sizes.size()), sizes.data()) {}

  int64_t& operator[](int32_t i) { return sizes_[i]; }
  const int64_t& operator[](int32_t i) const { return sizes_[i]; }
  bool operator==(const Dims& other) const {
    return count_ == other.count_ && std::equal(begin(), end(), other.begin());
  }
  bool operator!=(const Dims& other) const { return !(*this == other); }
  bool Empty() const { return count_ == 0; }
  int32_t Size() const { return std::min(count_, MAX_DIMS); }
  bool TooLong() const { return count_ > MAX_DIMS; }
  /// True if no size is -1.
  bool Fixed() const {
    return std::all_of(begin(), end(), [](int64_t size) { return size >= 0; });
  }
  /// How many sizes were given.
  int32_t Given() const { return count_; }
  const int64_t* Data() const { return sizes_; }
  const int64_t* begin() const { return sizes_; }
  const int64_t* end() const { return sizes_ + Size(); }

 private:
  int32_t count_ = 0;  // as given: above MAX_DIMS the shape is too long
  int64_t sizes_[MAX_DIMS] = {};
};

/// Sizes from `min` to `max`, both included; -1 in both: any size.
struct DimsRange {
  Dims min;
  Dims max;
};

}  // namespace AscendIE
#endif
