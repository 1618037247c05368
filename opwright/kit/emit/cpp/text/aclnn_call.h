// Parts of the emitted aclnn_call.h: sections in the order in which they are put together, and what the
// C types of parameters add: torch_npu's functions (declared) and conversions of our own (to_c).

//@ top
// aclnn_call.h: calls an aclnn function on the current stream, through torch_npu's task queue.
//
// The declarations are those of torch_npu's op_plugin/utils/op_api_common_base.h, whose macro
// EXEC_NPU_CMD_EXT does the same. They stand here because that header alone takes 8 seconds to compile.
#pragma once

//@ generator header
#include <ATen/core/Generator.h>
//@ headers
#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
//@ mutex header
#include <mutex>
//@ more headers
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

struct aclOpExecutor;
//@ entry points

// Functions of CANN, whose libraries torch_npu loads: nothing is linked with them. Weak, so that a linker which allows
// nothing undefined accepts them.
extern "C" __attribute__((weak)) const char* aclGetRecentErrMsg();
extern "C" __attribute__((weak)) int aclrtCtxSetSysParamOpt(int option, int64_t value);

void* GetOpApiFuncAddr(const char* name);
void GetApiFunc(const char* execute_name, const char* prepare_name, void*& execute, void*& prepare);
uint32_t OpApiGetTaskQueueEnable();
void* GetAclStream();
void* GetWorkSpaceAddr(uint64_t size);
void InitExecCommonCtx();
void UnInitExecCommonCtx();
void ReleaseExecCommonCtx();
void InitExecSubTheadCtx(void* stream);
int ExecuteApiFunc(const void* execute, void* stream, void* workspace, uint64_t size, aclOpExecutor* executor);
int ExecuteApiFuncV2(const void* execute, void* stream, uint64_t size, aclOpExecutor* executor);
void RunAclCall(const std::string& name, const std::function<int()>& task);

//@ state

// Releases of torch_npu without levels of determinism do not export these: they are null there.
namespace c10_npu {
__attribute__((weak)) uint32_t GetDeterministicLevel();
}  // namespace c10_npu

namespace at_npu::native {
__attribute__((weak)) void ApplyDeterministicLevel(int64_t level, bool deterministic, bool is_opapi);
}  // namespace at_npu::native

namespace at {
class Context;
Context& globalContext();
}  // namespace at

namespace NAMESPACE::aclnn {

// at::Context::deterministicAlgorithms() const; ATen/Context.h takes a second to compile.
bool deterministic_algorithms(const at::Context* context) __asm__("_ZNK2at7Context23deterministicAlgorithmsEv");

// The two phases of an aclnn function, found where EXEC_NPU_CMD finds them.
struct Function {
  explicit Function(const std::string& function_name) : name(function_name) {
    GetApiFunc(name.c_str(), (name + "GetWorkspaceSize").c_str(), execute, prepare);
  }

  std::string name;
  void* execute = nullptr;
  void* prepare = nullptr;
};

template <typename Signature>
Signature* object_function(const char* name) {
  return reinterpret_cast<Signature*>(GetOpApiFuncAddr(name));
}

// Numbers and null pointers are passed as they are; everything else is converted.
template <typename Value>
constexpr bool is_plain = std::is_arithmetic_v<Value> || std::is_pointer_v<Value>;

// The C value of a parameter.
template <typename Value, std::enable_if_t<is_plain<Value>, int> = 0>
Value to_c(const Value& value) {
  return value;
}
//@ convert
template <typename Value, std::enable_if_t<!is_plain<Value>, int> = 0>
auto to_c(const Value& value) -> decltype(ConvertType(value)) {
  return ConvertType(value);
}

// The object that travels to the task queue's thread in its place: torch_npu's copy, or else the value itself.
template <typename Value, std::enable_if_t<!is_plain<Value>, int> = 0>
auto copy(const Value& value, int /*preferred*/) -> decltype(CopyTypeV2(value)) {
  return CopyTypeV2(value);
}
template <typename Value>
Value copy(const Value& value, long /*otherwise*/) {
  return value;
}

// Destroys what a conversion made.
template <typename Value>
void release(const Value& /*value*/) {}
template <typename Object>
void destroy(const Object* object, const char* name) {
  static const auto function = object_function<int(const Object*)>(name);
  if (object != nullptr) {
    function(object);
  }
}
//@ bottom

template <typename... Objects>
void release_all(const std::tuple<Objects...>& objects) {
  std::apply([](auto... object) { (release(object), ...); }, objects);
}

struct Prepared {
  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
};

// Phase 1.
template <typename... Objects>
Prepared prepare(const Function& function, const std::tuple<Objects...>& objects) {
  Prepared prepared;
  const auto phase_1 = reinterpret_cast<int (*)(Objects..., uint64_t*, aclOpExecutor**)>(function.prepare);
  const int status = std::apply(
      [&](auto... object) { return phase_1(object..., &prepared.workspace_size, &prepared.executor); }, objects);
  if (status != 0) {
    release_all(objects);
    TORCH_CHECK(false, function.name, "GetWorkspaceSize failed with code ", status, ": ", aclGetRecentErrMsg());
  }
  return prepared;
}

inline uint32_t deterministic_level() {
  return c10_npu::GetDeterministicLevel == nullptr ? 0 : c10_npu::GetDeterministicLevel();
}

// Hands the user's choice of deterministic algorithms to CANN; without levels it is one switch of ACL.
inline void apply_determinism(uint32_t level) {
  constexpr int kDeterministic = 0;  // ACL_OPT_DETERMINISTIC
  const bool is_wanted = deterministic_algorithms(&at::globalContext());
  if (at_npu::native::ApplyDeterministicLevel != nullptr) {
    at_npu::native::ApplyDeterministicLevel(level, is_wanted, true);
  } else {
    aclrtCtxSetSysParamOpt(kDeterministic, is_wanted ? 1 : 0);
  }
}

// Phase 1 on the calling thread, phase 2 on the queue's thread.
template <typename... Parameters>
void call_prepared(const Function& function, const Parameters&... parameters) {
  InitExecCommonCtx();
  void* const stream = GetAclStream();
  apply_determinism(deterministic_level());
  const auto objects = std::make_tuple(to_c(parameters)...);
  const Prepared prepared = prepare(function, objects);
  void* const workspace = GetWorkSpaceAddr(prepared.workspace_size);
  RunAclCall(function.name, [=, execute = function.execute]() {
    InitExecSubTheadCtx(stream);
    const int status = ExecuteApiFunc(execute, stream, workspace, prepared.workspace_size, prepared.executor);
    release_all(objects);
    ReleaseExecCommonCtx();
    return status;
  });
  UnInitExecCommonCtx();
}

// Both phases on the queue's thread, which works on copies of the parameters.
template <typename... Parameters>
void call_queued(const Function& function, const Parameters&... parameters) {
  void* const stream = GetAclStream();
  const uint32_t level = deterministic_level();
  RunAclCall(function.name, [stream, level, &function, copies = std::make_tuple(copy(parameters, 0)...)]() {
    InitExecSubTheadCtx(stream);
    apply_determinism(level);
    InitExecCommonCtx();
    const auto objects = std::apply([](const auto&... value) { return std::make_tuple(to_c(value)...); }, copies);
    const Prepared prepared = prepare(function, objects);
    const int status = ExecuteApiFuncV2(function.execute, stream, prepared.workspace_size, prepared.executor);
    release_all(objects);
    ReleaseExecCommonCtx();
    UnInitExecCommonCtx();
    return status;
  });
}

// Calls a function, which must be static: the queue may run it later. Each parameter becomes the C type that
// it converts to and nothing else, so numbers have to come in exactly the type of the function's signature.
template <typename... Parameters>
void call(const Function& function, const Parameters&... parameters) {
  if (OpApiGetTaskQueueEnable() == 2) {
    call_queued(function, parameters...);
  } else {
    call_prepared(function, parameters...);
  }
}

}  // namespace NAMESPACE::aclnn
//@ declared generator

// torch_npu's generator of random numbers, as far as it is called here: torch_npu/csrc/aten/NPUGeneratorImpl.h.
namespace at_npu {
struct NPUGeneratorImpl : c10::GeneratorImpl {
  std::pair<uint64_t, uint64_t> philox_engine_inputs(uint64_t increment);
};
namespace detail {
const at::Generator& getDefaultNPUGenerator(c10::DeviceIndex device = -1);
}  // namespace detail
}  // namespace at_npu
//@ draw

struct Drawn {
  int64_t seed, offset;
};

// Draws seed and offset of one call: from the generator that the caller gives, else from that of the device. The next
// call gets an offset that is 10 higher, as in op-plugin's adapters.
inline Drawn draw(const std::optional<at::Generator>& generator) {
  const at::Generator& source =
      generator.has_value() && generator->defined() ? *generator : at_npu::detail::getDefaultNPUGenerator();
  TORCH_CHECK(source.device().is_privateuseone(), "Expected a 'npu' device type for generator but found '",
              source.device().type(), "'");
  auto* const state = static_cast<at_npu::NPUGeneratorImpl*>(source.unsafeGetGeneratorImpl());
  const std::lock_guard<std::mutex> lock(state->mutex_);
  const auto [seed, offset] = state->philox_engine_inputs(10);
  return {static_cast<int64_t>(seed), static_cast<int64_t>(offset)};
}
//@ declared aclTensor
aclTensor* ConvertType(const at::Tensor& tensor);
aclTensor* ConvertType(const std::optional<at::Tensor>& tensor);
std::shared_ptr<TensorStruct> CopyTypeV2(const at::Tensor& tensor);
std::shared_ptr<TensorStruct> CopyTypeV2(const std::optional<at::Tensor>& tensor);
aclTensor* ConvertTypeV2(std::shared_ptr<TensorStruct> tensor);
//@ to_c aclTensor
inline aclTensor* to_c(const std::shared_ptr<TensorStruct>& tensor) { return ConvertTypeV2(tensor); }
//@ declared aclTensorList
aclTensorList* ConvertType(const at::TensorList& tensors);
std::vector<std::shared_ptr<TensorStruct>> CopyTypeV2(const at::TensorList& tensors);
aclTensorList* ConvertTypeV2(const std::vector<std::shared_ptr<TensorStruct>>& tensors);
//@ to_c aclTensorList
inline aclTensorList* to_c(const std::vector<std::shared_ptr<TensorStruct>>& tensors) { return ConvertTypeV2(tensors); }
//@ declared aclScalar
aclScalar* ConvertType(const at::Scalar& scalar);
aclScalar* ConvertType(const std::optional<at::Scalar>& scalar);
//@ declared aclScalarList
aclScalarList* ConvertType(const at::ArrayRef<at::Scalar>& scalars);
//@ to_c aclScalarList
inline aclScalarList* to_c(const std::vector<at::Scalar>& scalars) {
  return ConvertType(at::ArrayRef<at::Scalar>(scalars));
}
//@ declared aclIntArray
aclIntArray* ConvertType(const at::IntArrayRef& values);
aclIntArray* ConvertType(const at::ArrayRef<c10::SymInt>& values);
aclIntArray* ConvertType(const c10::OptionalIntArrayRef& values);
aclIntArray* ConvertType(const c10::OptionalArrayRef<c10::SymInt>& values);
std::vector<int64_t> CopyTypeV2(const at::IntArrayRef& values);
std::vector<int64_t> CopyTypeV2(const at::ArrayRef<c10::SymInt>& values);
std::optional<std::vector<int64_t>> CopyTypeV2(const c10::OptionalIntArrayRef& values);
std::optional<std::vector<int64_t>> CopyTypeV2(const c10::OptionalArrayRef<c10::SymInt>& values);
aclIntArray* ConvertTypeV2(const std::vector<int64_t>& values);
aclIntArray* ConvertTypeV2(const std::optional<std::vector<int64_t>>& values);
//@ to_c aclIntArray
inline aclIntArray* to_c(const std::vector<int64_t>& values) { return ConvertTypeV2(values); }
inline aclIntArray* to_c(const std::optional<std::vector<int64_t>>& values) { return ConvertTypeV2(values); }
//@ to_c aclFloatArray
inline aclFloatArray* to_c(const std::vector<float>& values) {
  static const auto create = object_function<aclFloatArray*(const float*, uint64_t)>("aclCreateFloatArray");
  return create(values.data(), values.size());
}
inline aclFloatArray* to_c(const std::optional<std::vector<float>>& values) {
  return values.has_value() ? to_c(*values) : nullptr;
}
//@ declared aclBoolArray
aclBoolArray* ConvertTypeV2(const std::vector<bool>& values);
//@ to_c aclBoolArray
inline aclBoolArray* to_c(const std::vector<bool>& values) { return ConvertTypeV2(values); }
inline aclBoolArray* to_c(const std::optional<std::vector<bool>>& values) {
  return values.has_value() ? ConvertTypeV2(*values) : nullptr;
}
//@ to_c char
inline char* to_c(const std::string& text) { return const_cast<char*>(text.c_str()); }
inline char* to_c(const std::optional<std::string>& text) { return text.has_value() ? to_c(*text) : nullptr; }
//@ declared aclDataType
int ConvertType(at::ScalarType dtype);  // aclDataType
