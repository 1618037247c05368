"""The headers of the stable build: how an aclnn function is called, and what kernels share."""

from __future__ import annotations

__all__ = ["ACLNN_CALL", "TENSORS"]

ACLNN_CALL = """\
// aclnn_call.h: calls an aclnn function on the current stream, with libtorch's stable ABI only.
//
// CANN's functions are looked up by name. torch_npu's task queue is not used: the getter of the stream
// empties it before it hands the stream out, so that what was called before runs before, and phase 2
// follows at once. The price is that a call waits until all queued operators are submitted.
#pragma once

#include <dlfcn.h>
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

struct aclOpExecutor;
struct aclTensor;
struct aclTensorList;
struct aclScalar;
struct aclIntArray;
struct aclFloatArray;
struct aclBoolArray;

namespace NAMESPACE::aclnn {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

inline std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) {
    if (!part.empty()) {
      parts.push_back(part);
    }
  }
  return parts;
}

inline std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Libraries in the order in which torch_npu searches them.
inline std::vector<std::string> library_names() {
  std::vector<std::string> names;
  for (const std::string& root : split(environment("ASCEND_CUSTOM_OPP_PATH"), ':')) {
    names.push_back(root + "/op_api/lib/libcust_opapi.so");
  }
  const std::string vendors = environment("ASCEND_OPP_PATH") + "/vendors/";
  std::ifstream config(vendors + "config.ini");
  for (std::string line; std::getline(config, line);) {
    if (line.rfind("load_priority=", 0) == 0) {
      for (const std::string& vendor : split(line.substr(line.find('=') + 1), ',')) {
        names.push_back(vendors + vendor + "/op_api/lib/libcust_opapi.so");
      }
    }
  }
  for (const char* part : {"", "_math", "_nn", "_cv", "_transformer", "_legacy"}) {
    names.push_back(std::string("libopapi") + part + ".so");
  }
  return names;
}

inline const std::vector<void*>& libraries() {
  static const std::vector<void*> handles = [] {
    std::vector<void*> found;
    for (const std::string& name : library_names()) {
      if (void* handle = dlopen(name.c_str(), RTLD_LAZY)) {
        found.push_back(handle);
      }
    }
    return found;
  }();
  return handles;
}

inline void* find(const std::string& name) {
  for (void* library : libraries()) {
    if (void* address = dlsym(library, name.c_str())) {
      return address;
    }
  }
  STD_TORCH_CHECK(false, name, " is in no libcust_opapi.so or libopapi.so; set ASCEND_CUSTOM_OPP_PATH before the start");
}

template <typename Signature>
Signature* object_function(const char* name) {
  return reinterpret_cast<Signature*>(find(name));
}

inline std::string recent_error() {
  static const auto get = reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, "aclGetRecentErrMsg"));
  const char* text = get == nullptr ? nullptr : get();
  return text == nullptr ? "" : text;
}

// The two phases of an aclnn function.
struct Function {
  explicit Function(const std::string& function_name)
      : name(function_name), execute(find(name)), prepare(find(name + "GetWorkspaceSize")) {}

  std::string name;
  void* execute;
  void* prepare;
};

// Values of CANN's aclDataType.
inline int acl_dtype(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Float:
      return 0;
    case ScalarType::Half:
      return 1;
    case ScalarType::Char:
      return 2;
    case ScalarType::Int:
      return 3;
    case ScalarType::Byte:
      return 4;
    case ScalarType::Short:
      return 6;
    case ScalarType::UInt16:
      return 7;
    case ScalarType::UInt32:
      return 8;
    case ScalarType::Long:
      return 9;
    case ScalarType::UInt64:
      return 10;
    case ScalarType::Double:
      return 11;
    case ScalarType::Bool:
      return 12;
    case ScalarType::ComplexFloat:
      return 16;
    case ScalarType::ComplexDouble:
      return 17;
    case ScalarType::BFloat16:
      return 27;
    case ScalarType::ComplexHalf:
      return 33;
    case ScalarType::Float8_e5m2:
      return 35;
    case ScalarType::Float8_e4m3fn:
      return 36;
    case ScalarType::Float8_e8m0fnu:
      return 37;
    case ScalarType::Float4_e2m1fn_x2:
      return 40;
    default:
      STD_TORCH_CHECK(false, "aclnn functions have no dtype ", dtype);
  }
}

constexpr int kFormatND = 2;

// Values of aclFormat for a plain layout, as torch_npu chooses them.
inline int plain_format(int64_t axes) {
  switch (axes) {
    case 3:
      return 47;  // NCL
    case 4:
      return 0;  // NCHW
    case 5:
      return 30;  // NCDHW
    default:
      return kFormatND;
  }
}

// A tensor in a private format looks plain from here, but its bytes are not; only torch_npu knows.
inline void check_plain(const Tensor& tensor) {
  StableIValue stack[] = {torch::stable::detail::from(tensor)};
  STABLE_TORCH_ERROR_CODE_CHECK(torch_call_dispatcher("npu::get_npu_format", "", stack, TORCH_ABI_VERSION));
  const auto format = torch::stable::detail::to<int64_t>(stack[0]);
  const bool plain = format == kFormatND || format == 0 || format == 1 || format == 27 || format == 30 || format == 47;
  STD_TORCH_CHECK(plain, "a tensor has the private format ", format,
                  ", which the stable ABI cannot pass; convert it with torch_npu.npu_format_cast(tensor, 2)");
}

// A number that is passed as aclScalar.
struct Scalar {
  template <typename Number>
  explicit Scalar(Number number) {
    if constexpr (std::is_same_v<Number, bool>) {
      value.boolean = number;
      dtype = acl_dtype(ScalarType::Bool);
    } else if constexpr (std::is_integral_v<Number>) {
      value.integer = number;
      dtype = acl_dtype(ScalarType::Long);
    } else {
      value.real = number;
      dtype = acl_dtype(ScalarType::Double);
    }
  }

  union {
    bool boolean;
    int64_t integer;
    double real;
  } value;
  int dtype;
};

// CANN's objects of one call; they are destroyed after phase 2.
class Objects {
 public:
  Objects() = default;
  Objects(const Objects&) = delete;
  Objects& operator=(const Objects&) = delete;
  ~Objects() {
    for (auto destroy = destroy_.rbegin(); destroy != destroy_.rend(); ++destroy) {
      (*destroy)();
    }
  }

  template <typename Value, std::enable_if_t<std::is_arithmetic_v<Value> || std::is_pointer_v<Value>, int> = 0>
  Value to_c(Value value) {
    return value;
  }
  int to_c(ScalarType dtype) { return acl_dtype(dtype); }
  char* to_c(const std::string& text) { return const_cast<char*>(text.c_str()); }
  aclTensor* to_c(const Tensor& tensor) { return owned(view_or_null(tensor), "aclDestroyTensor"); }
  aclTensorList* to_c(const std::vector<Tensor>& tensors) { return list(tensors); }
  aclTensorList* to_c(const std::vector<std::optional<Tensor>>& tensors) { return list(tensors); }
  aclIntArray* to_c(const std::vector<int64_t>& values) {
    static const auto create = object_function<aclIntArray*(const int64_t*, uint64_t)>("aclCreateIntArray");
    return owned(create(values.data(), values.size()), "aclDestroyIntArray");
  }
  aclFloatArray* to_c(const std::vector<double>& values) {
    static const auto create = object_function<aclFloatArray*(const float*, uint64_t)>("aclCreateFloatArray");
    const std::vector<float> narrowed(values.begin(), values.end());
    return owned(create(narrowed.data(), narrowed.size()), "aclDestroyFloatArray");
  }
  aclBoolArray* to_c(const std::vector<bool>& values) {
    static const auto create = object_function<aclBoolArray*(const bool*, uint64_t)>("aclCreateBoolArray");
    const auto plain = std::make_unique<bool[]>(values.size());
    std::copy(values.begin(), values.end(), plain.get());
    return owned(create(plain.get(), values.size()), "aclDestroyBoolArray");
  }
  aclScalar* to_c(Scalar scalar) {
    static const auto create = object_function<aclScalar*(void*, int)>("aclCreateScalar");
    return owned(create(&scalar.value, scalar.dtype), "aclDestroyScalar");
  }
  template <typename Value>
  auto to_c(const std::optional<Value>& value) -> decltype(to_c(*value)) {
    return value.has_value() ? to_c(*value) : nullptr;
  }

 private:
  static aclTensor* view(const Tensor& tensor) {
    static const auto create = object_function<aclTensor*(const int64_t*, uint64_t, int, const int64_t*, int64_t, int,
                                                          const int64_t*, uint64_t, void*)>("aclCreateTensor");
    check_plain(tensor);
    int64_t bytes = 0;
    STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_get_storage_size(tensor.get(), &bytes));
    const auto item = static_cast<int64_t>(tensor.element_size());
    const int64_t elements = bytes / item;
    void* const storage = static_cast<char*>(tensor.data_ptr()) - tensor.storage_offset() * item;
    return create(tensor.sizes().data(), tensor.dim(), acl_dtype(tensor.scalar_type()), tensor.strides().data(),
                  tensor.storage_offset(), plain_format(tensor.dim()), &elements, 1, storage);
  }

  static aclTensor* view_or_null(const Tensor& tensor) { return tensor.defined() ? view(tensor) : nullptr; }
  static aclTensor* view_or_null(const std::optional<Tensor>& tensor) {
    return tensor.has_value() ? view_or_null(*tensor) : nullptr;
  }

  // A list owns its tensors; an empty one is null, as torch_npu passes it.
  template <typename Tensors>
  aclTensorList* list(const Tensors& tensors) {
    static const auto create = object_function<aclTensorList*(aclTensor* const*, uint64_t)>("aclCreateTensorList");
    std::vector<aclTensor*> views;
    for (const auto& tensor : tensors) {
      views.push_back(view_or_null(tensor));
    }
    return views.empty() ? nullptr : owned(create(views.data(), views.size()), "aclDestroyTensorList");
  }

  template <typename Object>
  Object* owned(Object* object, const char* destroyer) {
    static const auto destroy = object_function<int(const Object*)>(destroyer);
    if (object != nullptr) {
      destroy_.emplace_back([object] { destroy(object); });
    }
    return object;
  }

  std::vector<std::function<void()>> destroy_;
};

// Calls a function on the current stream of a device. Each parameter becomes the C type that it converts to and
// nothing else, so numbers have to come in exactly the type of the function's signature.
template <typename... Parameters>
void call(const Function& function, const torch::stable::Device& device, const Parameters&... parameters) {
  Objects objects;
  const auto values = std::make_tuple(objects.to_c(parameters)...);
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  int status = std::apply(
      [&](auto... value) {
        const auto phase_1 = reinterpret_cast<int (*)(decltype(value)..., uint64_t*, aclOpExecutor**)>(function.prepare);
        return phase_1(value..., &size, &executor);
      },
      values);
  STD_TORCH_CHECK(status == 0, function.name, "GetWorkspaceSize failed with code ", status, ": ", recent_error());
  // Freed when phase 2 is submitted: the allocator gives the memory only to later work of the stream.
  std::optional<Tensor> workspace;
  if (size != 0) {
    const auto bytes = static_cast<int64_t>(size);
    workspace = torch::stable::empty({&bytes, 1}, ScalarType::Byte, std::nullopt, device);
  }
  void* const memory = workspace.has_value() ? workspace->data_ptr() : nullptr;
  void* const stream = torch::stable::accelerator::getCurrentStream(device.index()).nativeHandle();
  const auto phase_2 = reinterpret_cast<int (*)(void*, uint64_t, aclOpExecutor*, void*)>(function.execute);
  status = phase_2(memory, size, executor, stream);
  STD_TORCH_CHECK(status == 0, function.name, " failed with code ", status, ": ", recent_error());
}

}  // namespace NAMESPACE::aclnn
"""

TENSORS = """\
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
    STD_TORCH_CHECK(device_.has_value(), op_, ": no argument tells the device; give at least one tensor");
    return *device_;
  }

 private:
  void check(const Tensor& tensor) {
    if (!tensor.defined()) {
      return;
    }
    STD_TORCH_CHECK(!device_.has_value() || tensor.device() == *device_, op_, ": arguments '", *name_, "' and '", first_,
                    "' are on different devices");
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
    STD_TORCH_CHECK(-rank <= axis && axis < rank, "axis ", axis, " of a tensor with ", rank, " axes");
    is_reduced[axis < 0 ? axis + rank : axis] = true;
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
inline int64_t modulo(int64_t dividend, int64_t divisor) { return dividend - floor_divide(dividend, divisor) * divisor; }

inline int64_t size_of(const Tensor& tensor, int64_t axis) {
  const int64_t rank = tensor.dim();
  STD_TORCH_CHECK(-rank <= axis && axis < rank, "axis ", axis, " of a tensor with ", rank, " axes");
  return tensor.sizes()[axis < 0 ? axis + rank : axis];
}

// An element of a list argument; a negative index counts from the end.
inline int64_t element(const Sizes& values, int64_t index) {
  const auto count = static_cast<int64_t>(values.size());
  STD_TORCH_CHECK(-count <= index && index < count, "a list has ", count, " elements; element ", index, " is asked for");
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
"""
