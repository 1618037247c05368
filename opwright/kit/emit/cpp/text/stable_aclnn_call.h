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
  STD_TORCH_CHECK(false, name,
                  " is in no libcust_opapi.so or libopapi.so; set ASCEND_CUSTOM_OPP_PATH before the start");
}

template <typename Signature>
Signature* object_function(const char* name) {
  return reinterpret_cast<Signature*>(find(name));
}

inline std::string recent_error() {
  // torch_npu is loaded with its libraries, but not into the global scope.
  static const auto get = [] {
    void* loaded = dlopen("libascendcl.so", RTLD_LAZY | RTLD_NOLOAD);
    return reinterpret_cast<const char* (*)()>(dlsym(loaded == nullptr ? RTLD_DEFAULT : loaded, "aclGetRecentErrMsg"));
  }();
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
        const auto phase_1 =
            reinterpret_cast<int (*)(decltype(value)..., uint64_t*, aclOpExecutor**)>(function.prepare);
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
