// tensors.h: small functions that the kernels share.
#pragma once

#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace NAMESPACE {

using torch::headeronly::ScalarType;
using torch::stable::Device;
using torch::stable::Tensor;
using Sizes = std::vector<int64_t>;

inline Tensor empty(const Sizes& sizes, ScalarType dtype, const Device& device) {
  return torch::stable::empty(sizes, dtype, std::nullopt, device);
}

// Finds the device of a call's tensors, and checks that it is one.
class CommonDevice {
 public:
  CommonDevice(const char* op, const char* const* names) : op_(op), name_(names) {}

  template <typename Value>
  void add(const Value& value) {
    check(value);
    ++name_;
  }
  Device get() const {
    STD_TORCH_CHECK(device_.has_value(), op_, ": no argument decides the device; give at least one tensor");
    return *device_;
  }

 private:
  void check(const Tensor& tensor) {
    if (!tensor.defined()) {
      return;
    }
    STD_TORCH_CHECK(!device_.has_value() || tensor.device() == *device_, op_, ": arguments '", *name_, "' and '",
                    first_, "' are on different devices");
    if (!device_.has_value()) {
      device_ = tensor.device();
      first_ = *name_;
    }
  }
  void check(const std::optional<Tensor>& tensor) {
    if (tensor.has_value()) {
      check(*tensor);
    }
  }
  template <typename Tensors>
  void check(const std::vector<Tensors>& tensors) {
    for (const auto& tensor : tensors) {
      check(tensor);
    }
  }

  const char* op_;
  const char* const* name_;
  const char* first_ = nullptr;
  std::optional<Device> device_;
};
template <typename... Tensors>
Device common_device(const char* op, std::initializer_list<const char*> names, const Tensors&... tensors) {
  CommonDevice common(op, names.begin());
  (common.add(tensors), ...);
  return common.get();
}

inline void check_dtype(const char* what, const Tensor& tensor, std::initializer_list<ScalarType> allowed) {
  const ScalarType dtype = tensor.scalar_type();
  if (std::find(allowed.begin(), allowed.end(), dtype) != allowed.end()) {
    return;
  }
  std::string names;
  for (const ScalarType each : allowed) {
    names += std::string(names.empty() ? "" : ", ") + torch::headeronly::toString(each);
  }
  STD_TORCH_CHECK(false, what, " has dtype ", dtype, "; allowed: [", names, "]");
}
inline void check_dtype(const char* what, const std::optional<Tensor>& tensor,
                        std::initializer_list<ScalarType> allowed) {
  if (tensor.has_value()) {
    check_dtype(what, *tensor, allowed);
  }
}
inline void check_dtype(const char* what, const std::vector<Tensor>& tensors,
                        std::initializer_list<ScalarType> allowed) {
  for (const Tensor& tensor : tensors) {
    check_dtype(what, tensor, allowed);
  }
}

inline Sizes sizes_of(const Tensor& tensor) {
  const auto sizes = tensor.sizes();
  return Sizes(sizes.begin(), sizes.end());
}

// Sizes from start to stop, by the rules of Python's slices.
inline Sizes part(const Sizes& sizes, int64_t start, std::optional<int64_t> stop = std::nullopt) {
  const auto rank = static_cast<int64_t>(sizes.size());
  const auto bound = [rank](int64_t index) { return std::clamp<int64_t>(index < 0 ? index + rank : index, 0, rank); };
  const int64_t first = bound(start);
  const int64_t last = std::max(first, bound(stop.value_or(rank)));
  return Sizes(sizes.begin() + first, sizes.begin() + last);
}

inline Sizes join(std::initializer_list<Sizes> parts) {
  Sizes sizes;
  for (const Sizes& part : parts) {
    sizes.insert(sizes.end(), part.begin(), part.end());
  }
  return sizes;
}

inline bool equal(const Sizes& sizes, const Sizes& others) { return sizes == others; }

inline std::string text(const Sizes& sizes) {
  std::string result;
  for (const int64_t size : sizes) {
    result += (result.empty() ? "" : ", ") + std::to_string(size);
  }
  return "[" + result + "]";
}

inline Sizes broadcast(std::initializer_list<Sizes> shapes) {
  Sizes together;
  for (Sizes sizes : shapes) {
    if (sizes.size() > together.size()) {
      std::swap(sizes, together);
    }
    for (size_t i = 1; i <= sizes.size(); ++i) {
      int64_t& there = together[together.size() - i];
      const int64_t here = sizes[sizes.size() - i];
      STD_TORCH_CHECK(there == here || there == 1 || here == 1, "shapes cannot be broadcast: ", text(together), " and ",
                      text(sizes));
      there = there == 1 ? here : there;
    }
  }
  return together;
}

// A shape after a reduction; no axes are all axes.
inline Sizes reduced(const Sizes& sizes, const std::optional<Sizes>& axes, bool keep) {
  const auto rank = static_cast<int64_t>(sizes.size());
  std::vector<bool> is_reduced(sizes.size(), !axes.has_value() || axes->empty());
  for (const int64_t axis : axes.value_or(Sizes())) {
    const int64_t wide = rank > 0 ? rank : 1;  // a tensor without axes has 0 and -1, as in PyTorch
    STD_TORCH_CHECK(-wide <= axis && axis < wide, "axis ", axis, " of a tensor with ", rank, " axes");
    if (rank > 0) {
      is_reduced[axis < 0 ? axis + rank : axis] = true;
    }
  }
  Sizes result;
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (!is_reduced[axis]) {
      result.push_back(sizes[axis]);
    } else if (keep) {
      result.push_back(1);
    }
  }
  return result;
}

// Rounded down, as Python does.
inline int64_t floor_divide(int64_t dividend, int64_t divisor) {
  STD_TORCH_CHECK(divisor != 0, "the rule for an output's size divides ", dividend, " by 0");
  const int64_t rest = dividend % divisor;
  return dividend / divisor - (rest != 0 && (rest < 0) != (divisor < 0) ? 1 : 0);
}
inline int64_t ceil_divide(int64_t dividend, int64_t divisor) { return floor_divide(dividend + divisor - 1, divisor); }
inline int64_t modulo(int64_t dividend, int64_t divisor) {
  return dividend - floor_divide(dividend, divisor) * divisor;
}

inline int64_t size_of(const Tensor& tensor, int64_t axis) {
  const int64_t rank = tensor.dim();
  STD_TORCH_CHECK(-rank <= axis && axis < rank, "axis ", axis, " of a tensor with ", rank, " axes");
  return tensor.sizes()[axis < 0 ? axis + rank : axis];
}

// A tensor of a list argument; a negative index counts from the end.
inline const Tensor& tensor_at(const std::vector<Tensor>& tensors, int64_t index, const char* name) {
  const auto count = static_cast<int64_t>(tensors.size());
  STD_TORCH_CHECK(-count <= index && index < count, "argument '", name, "' has ", count,
                  " tensor(s), so there is none with index ", index);
  return tensors[index < 0 ? index + count : index];
}

// An element of a list argument; a negative index counts from the end.
inline int64_t element(const Sizes& values, int64_t index, const char* name) {
  const auto count = static_cast<int64_t>(values.size());
  STD_TORCH_CHECK(-count <= index && index < count, "argument '", name, "' has ", count,
                  " element(s), so there is none with index ", index);
  return values[index < 0 ? index + count : index];
}

// An integer in the type that the aclnn function takes.
template <typename Integer>
Integer narrow(const char* what, int64_t value) {
  const auto narrowed = static_cast<Integer>(value);
  STD_TORCH_CHECK(static_cast<int64_t>(narrowed) == value && (narrowed < 0) == (value < 0), what, " is ", value,
                  ", which the aclnn function has no room for");
  return narrowed;
}

inline std::vector<Tensor> clone_all(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> result;
  for (const Tensor& tensor : tensors) {
    result.push_back(torch::stable::clone(tensor));
  }
  return result;
}

inline std::optional<Tensor> contiguous(const std::optional<Tensor>& tensor) {
  return tensor.has_value() ? std::optional<Tensor>(torch::stable::contiguous(*tensor)) : std::nullopt;
}
inline std::vector<Tensor> contiguous(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> result;
  for (const Tensor& tensor : tensors) {
    result.push_back(torch::stable::contiguous(tensor));
  }
  return result;
}

}  // namespace NAMESPACE
