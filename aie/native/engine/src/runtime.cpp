// runtime.cpp: engines and contexts over Executor.
#include "runtime/Runtime.h"

#include <ATen/ops/from_blob.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "error_list.h"
#include "impl.h"
#include "program.h"
#include "runtime/Executor.h"

namespace AscendIE {

struct Stream {};

struct EngineImpl {
  explicit EngineImpl(std::string_view model) : executor(model), program(executor.GetProgram()) {}

  Executor executor;
  const Program& program;

  /// Null if there is none of that name.
  const Binding* find(const char* name) const {
    const std::string_view wanted = name ? name : "";
    for (const auto* bindings : {&program.inputs, &program.outputs}) {
      for (const Binding& binding : *bindings) {
        if (binding.name == wanted) return &binding;
      }
    }
    return nullptr;
  }
};

struct ContextImpl {
  std::shared_ptr<const EngineImpl> engine;
  std::map<std::string, void*, std::less<>> addresses;
  std::map<std::string, std::vector<int64_t>, std::less<>> shapes;  // set for inputs, found for outputs
  ErrorList errors;

  const std::vector<int64_t>& shape(const Binding& binding) const {
    const auto found = shapes.find(binding.name);
    return found == shapes.end() ? binding.shape : found->second;
  }
  void* address(const Binding& binding) const {
    const auto found = addresses.find(binding.name);
    TORCH_CHECK_VALUE(found != addresses.end() && found->second, "'", binding.name,
                      "' has no memory: call SetTensorAddress");
    return found->second;
  }
  bool known(const char* call, const char* name) {
    if (engine->find(name)) return true;
    errors.add(std::string(call) + ": the model has no input or output '" + (name ? name : "") + "'");
    return false;
  }
  at::Tensor input(const Binding& binding) const;
  void run();
};

at::Tensor ContextImpl::input(const Binding& binding) const {
  const std::vector<int64_t>& sizes = shape(binding);
  TORCH_CHECK_VALUE(is_fixed(sizes), "input '", binding.name, "' has no fixed shape: call SetInputShape");
  const bool empty = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
  return at::from_blob(empty ? nullptr : address(binding), sizes, binding.type);
}

void ContextImpl::run() {
  const Program& program = engine->program;
  for (const Binding& binding : program.outputs) address(binding);
  Tensors inputs;
  for (const Binding& binding : program.inputs) inputs.push_back(input(binding));
  const Tensors outputs = engine->executor.Run(inputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Binding& binding = program.outputs[i];
    const at::Tensor values = outputs[i].contiguous();
    shapes[binding.name] = values.sizes().vec();
    if (values.numel() > 0) std::memcpy(address(binding), values.const_data_ptr(), values.nbytes());
  }
}

namespace {

ErrorList& runtime_errors() {
  static ErrorList errors;
  return errors;
}

const char* name_at(const std::vector<Binding>& bindings, size_t index) {
  return index < bindings.size() ? bindings[index].name.c_str() : nullptr;
}

/// The error that `run` throws, or nothing.
template <class Run>
std::string error_of(const Run& run) {
  try {
    run();
    return {};
  } catch (const c10::Error& e) {
    return e.what_without_backtrace();
  } catch (const std::exception& e) {
    return e.what();
  }
}

}  // namespace

int CreateStream(aieStream* stream) noexcept {
  if (!stream) return 1;
  *stream = std::make_unique<Stream>().release();
  return 0;
}

int SynchronizeStream(aieStream /*stream*/) noexcept { return 0; }

int DestroyStream(aieStream stream) noexcept {
  const std::unique_ptr<Stream> owned(stream);
  return owned ? 0 : 1;
}

Context::Context(std::unique_ptr<ContextImpl> impl) noexcept : impl_(std::move(impl)) {}
Context::~Context() = default;

bool Context::SetTensorAddress(const char* name, void* data) noexcept {
  if (!impl_->known("SetTensorAddress", name)) return false;
  impl_->addresses[name] = data;
  return true;
}

bool Context::SetInputShape(const char* name, const Dims& shape) noexcept {
  if (!impl_->known("SetInputShape", name)) return false;
  if (shape.TooLong()) {
    impl_->errors.add("SetInputShape('" + std::string(name) + "'): " + too_long(shape));
    return false;
  }
  impl_->shapes[name] = std::vector<int64_t>(shape.begin(), shape.end());
  return true;
}

Dims Context::GetTensorShape(const char* name) const noexcept {
  const Binding* const binding = impl_->engine->find(name);
  return binding ? Dims(impl_->shape(*binding)) : Dims();
}

bool Context::Enqueue(aieStream /*stream*/) noexcept {
  const std::string error = error_of([&] { impl_->run(); });
  if (!error.empty()) impl_->errors.add("Enqueue: " + error);
  return error.empty();
}

size_t Context::GetErrorsNum() const noexcept { return impl_->errors.size(); }
const char* Context::GetErrorByIndex(size_t index) const noexcept { return impl_->errors.at(index); }

Engine::Engine(std::shared_ptr<const EngineImpl> impl) noexcept : impl_(std::move(impl)) {}
Engine::~Engine() = default;

Context* Engine::CreateContext() noexcept {
  auto impl = std::make_unique<ContextImpl>();
  impl->engine = impl_;
  return std::make_unique<Context>(std::move(impl)).release();
}

size_t Engine::GetInputNum() const noexcept { return impl_->program.inputs.size(); }
size_t Engine::GetOutputNum() const noexcept { return impl_->program.outputs.size(); }
const char* Engine::GetInputName(size_t index) const noexcept { return name_at(impl_->program.inputs, index); }
const char* Engine::GetOutputName(size_t index) const noexcept { return name_at(impl_->program.outputs, index); }

DataType Engine::GetDataType(const char* name) const noexcept {
  const Binding* const binding = impl_->find(name);
  return binding ? data_type(binding->type) : DataType::UNKNOWN;
}

Dims Engine::GetShape(const char* name) const noexcept {
  const Binding* const binding = impl_->find(name);
  return binding ? Dims(binding->shape) : Dims();
}

Runtime* Runtime::GetInstance() noexcept {
  static Runtime instance;
  return &instance;
}

Engine* Runtime::DeserializeEngineFromMem(const void* model, size_t size) noexcept {
  std::shared_ptr<const EngineImpl> engine;
  const std::string error = error_of([&] {
    TORCH_CHECK_VALUE(model, "the model is null");
    engine = std::make_shared<EngineImpl>(std::string_view(static_cast<const char*>(model), size));
  });
  if (error.empty()) return std::make_unique<Engine>(std::move(engine)).release();
  runtime_errors().add("DeserializeEngineFromMem: " + error);
  return nullptr;
}

size_t Runtime::GetErrorsNum() const noexcept { return runtime_errors().size(); }

const char* Runtime::GetErrorByIndex(size_t index) const noexcept { return runtime_errors().at(index); }

}  // namespace AscendIE
