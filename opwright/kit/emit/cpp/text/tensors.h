// Functions of the emitted tensors.h. A section is a function that units call, and the headers it needs;
// each may use those above it.

//@ empty <ATen/ops/empty_ops.h>
// A contiguous tensor without values. at::empty would bring ATen/Context.h, a second of compile time.
inline at::Tensor empty(c10::SymIntArrayRef sizes, at::ScalarType dtype, at::Device device) {
  return at::_ops::empty_memory_format::call(sizes, dtype, std::nullopt, device, std::nullopt, std::nullopt);
}

//@ common_device <initializer_list>
// Finds the device of a call's tensors, and checks that it is one.
class CommonDevice {
 public:
  CommonDevice(const char* op, const char* const* names) : op_(op), name_(names) {}

  template <typename Value>
  void add(const Value& value) {
    check(value);
    ++name_;
  }
  at::Device get() const {
    TORCH_CHECK(device_, op_, ": no argument decides the device; give at least one tensor");
    return *device_;
  }

 private:
  void check(const at::Tensor& tensor) {
    if (!tensor.defined() || tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
      return;
    }
    TORCH_CHECK(!device_ || tensor.device() == *device_, op_, ": argument '", *name_, "' is on ", tensor.device(),
                ", but argument '", first_, "' is on ", *device_);
    if (!device_) {
      device_ = tensor.device();
      first_ = *name_;
    }
  }
  template <typename Tensors>
  void check(const Tensors& tensors) {
    for (const auto& tensor : tensors) {
      check(static_cast<const std::optional<at::Tensor>&>(tensor));
    }
  }
  void check(const std::optional<at::Tensor>& tensor) {
    if (tensor.has_value()) {
      check(*tensor);
    }
  }

  const char* op_;
  const char* const* name_;
  const char* first_ = nullptr;
  std::optional<at::Device> device_;
};
template <typename... Tensors>
at::Device common_device(const char* op, std::initializer_list<const char*> names, const Tensors&... tensors) {
  CommonDevice common(op, names.begin());
  (common.add(tensors), ...);
  return common.get();
}

//@ check_dtype
inline void check_dtype(const char* what, const at::Tensor& tensor, at::ArrayRef<at::ScalarType> allowed) {
  for (const at::ScalarType dtype : allowed) {
    if (tensor.scalar_type() == dtype) {
      return;
    }
  }
  TORCH_CHECK_TYPE(false, what, " has dtype ", tensor.scalar_type(), "; allowed: ", allowed);
}
inline void check_dtype(const char* what, const std::optional<at::Tensor>& tensor,
                        at::ArrayRef<at::ScalarType> allowed) {
  if (tensor.has_value()) {
    check_dtype(what, *tensor, allowed);
  }
}
inline void check_dtype(const char* what, at::TensorList tensors, at::ArrayRef<at::ScalarType> allowed) {
  for (const at::Tensor& tensor : tensors) {
    check_dtype(what, tensor, allowed);
  }
}

//@ part <algorithm>
// Sizes from start to stop, by the rules of Python's slices.
inline c10::SymIntArrayRef part(c10::SymIntArrayRef sizes, int64_t start, std::optional<int64_t> stop = std::nullopt) {
  const auto rank = static_cast<int64_t>(sizes.size());
  const auto bound = [rank](int64_t index) { return std::clamp<int64_t>(index < 0 ? index + rank : index, 0, rank); };
  const int64_t first = bound(start);
  return sizes.slice(first, std::max<int64_t>(bound(stop.value_or(rank)) - first, 0));
}

//@ join <c10/core/SymIntArrayRef.h> <ATen/core/DimVector.h>
inline c10::SymDimVector join(std::initializer_list<c10::SymIntArrayRef> parts) {
  c10::SymDimVector sizes;
  for (const c10::SymIntArrayRef part : parts) {
    sizes.append(part.begin(), part.end());
  }
  return sizes;
}

//@ equal
inline bool equal(c10::SymIntArrayRef sizes, c10::SymIntArrayRef others) {
  if (sizes.size() != others.size()) {
    return false;
  }
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    if (!sizes[axis].sym_eq(others[axis]).expect_true(__FILE__, __LINE__)) {
      return false;
    }
  }
  return true;
}

//@ broadcast <ATen/ExpandUtils.h>
inline c10::SymDimVector broadcast(std::initializer_list<c10::SymIntArrayRef> shapes) {
  c10::SymDimVector sizes;
  for (const c10::SymIntArrayRef shape : shapes) {
    sizes = at::infer_size_symdimvector(sizes, shape);
  }
  return sizes;
}

//@ reduced <c10/core/WrapDimMinimal.h> <vector>
// A shape after a reduction; no axes are all axes.
inline c10::SymDimVector reduced(c10::SymIntArrayRef sizes, at::OptionalIntArrayRef axes, bool keep) {
  const auto rank = static_cast<int64_t>(sizes.size());
  const bool all = !axes.has_value() || axes->empty();
  std::vector<bool> is_reduced(sizes.size(), all);
  for (const int64_t axis : all ? at::IntArrayRef() : *axes) {
    const int64_t wrapped = c10::maybe_wrap_dim(axis, rank);
    if (rank > 0) {
      is_reduced[wrapped] = true;
    }
  }
  c10::SymDimVector result;
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (!is_reduced[axis]) {
      result.push_back(sizes[axis]);
    } else if (keep) {
      result.emplace_back(1);
    }
  }
  return result;
}

//@ floor_divide
// Rounded down, as Python does.
inline c10::SymInt floor_divide(const c10::SymInt& dividend, const c10::SymInt& divisor) {
  const auto known_dividend = dividend.maybe_as_int();
  const auto known_divisor = divisor.maybe_as_int();
  TORCH_CHECK_VALUE(known_divisor != 0, "the rule for an output's size divides ", dividend, " by 0");
  if (!known_dividend || !known_divisor) {
    return dividend / divisor;
  }
  const int64_t quotient = *known_dividend / *known_divisor;
  const int64_t rest = *known_dividend % *known_divisor;
  return rest != 0 && (rest < 0) != (*known_divisor < 0) ? quotient - 1 : quotient;
}

//@ ceil_divide
inline c10::SymInt ceil_divide(const c10::SymInt& dividend, const c10::SymInt& divisor) {
  return floor_divide(dividend + divisor - 1, divisor);
}

//@ modulo
inline c10::SymInt modulo(const c10::SymInt& dividend, const c10::SymInt& divisor) {
  return dividend - floor_divide(dividend, divisor) * divisor;
}

//@ tensor_at
// A tensor of a list argument; a negative index counts from the end.
inline const at::Tensor& tensor_at(at::TensorList tensors, int64_t index, const char* name) {
  const auto count = static_cast<int64_t>(tensors.size());
  TORCH_CHECK_INDEX(-count <= index && index < count, "argument '", name, "' has ", count,
                    " tensor(s), so there is none with index ", index);
  return tensors[index < 0 ? index + count : index];
}

//@ element
// An element of a list argument; a negative index counts from the end.
template <typename Element>
Element element(at::ArrayRef<Element> values, int64_t index, const char* name) {
  const auto count = static_cast<int64_t>(values.size());
  TORCH_CHECK_INDEX(-count <= index && index < count, "argument '", name, "' has ", count,
                    " element(s), so there is none with index ", index);
  return values[index < 0 ? index + count : index];
}

//@ contiguous <vector>
inline std::optional<at::Tensor> contiguous(const std::optional<at::Tensor>& tensor) {
  return tensor.has_value() ? std::optional<at::Tensor>(tensor->contiguous()) : std::nullopt;
}
inline std::vector<at::Tensor> contiguous(at::TensorList tensors) {
  std::vector<at::Tensor> result;
  for (const at::Tensor& tensor : tensors) {
    result.push_back(tensor.contiguous());
  }
  return result;
}

//@ defined_or_not <ATen/core/List.h> <vector>
// The tensors of a Tensor?[]; None becomes an undefined tensor.
inline std::vector<at::Tensor> defined_or_not(const c10::List<std::optional<at::Tensor>>& tensors) {
  std::vector<at::Tensor> result;
  for (const std::optional<at::Tensor>& tensor : tensors) {
    result.push_back(tensor.value_or(at::Tensor()));
  }
  return result;
}

//@ clone_all <vector>
inline std::vector<at::Tensor> clone_all(at::TensorList tensors) {
  std::vector<at::Tensor> result;
  for (const at::Tensor& tensor : tensors) {
    result.push_back(tensor.clone());
  }
  return result;
}

//@ floats <vector>
inline std::vector<float> floats(at::ArrayRef<double> values) { return {values.begin(), values.end()}; }
inline std::optional<std::vector<float>> floats(std::optional<at::ArrayRef<double>> values) {
  return values.has_value() ? std::optional(floats(*values)) : std::nullopt;
}

//@ bools <ATen/core/List.h> <vector>
inline std::vector<bool> bools(const c10::List<bool>& values) { return {values.begin(), values.end()}; }
inline std::optional<std::vector<bool>> bools(const std::optional<c10::List<bool>>& values) {
  return values.has_value() ? std::optional(bools(*values)) : std::nullopt;
}

//@ scalars <vector>
template <typename Number>
std::vector<at::Scalar> scalars(at::ArrayRef<Number> values) {
  return {values.begin(), values.end()};
}

//@ text_of <string>
inline std::string text_of(c10::string_view text) { return std::string(text); }
inline std::optional<std::string> text_of(std::optional<c10::string_view> text) {
  return text.has_value() ? std::optional(std::string(*text)) : std::nullopt;
}

//@ narrow
// An integer in the type that the aclnn function takes.
template <typename Integer>
Integer narrow(const char* what, int64_t value) {
  const auto narrowed = static_cast<Integer>(value);
  TORCH_CHECK_VALUE(static_cast<int64_t>(narrowed) == value && (narrowed < 0) == (value < 0), what, " is ", value,
                    ", which the aclnn function has no room for");
  return narrowed;
}
