// executor.cpp: runs a program's steps in order; a value is freed after its last use.
#include "runtime/Executor.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/ScalarType.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/Exception.h>
#include <unistd.h>

#include <algorithm>

#include "arena.h"
#include "passes/passes.h"
#include "profiles.h"
#include "program.h"
#include "validation.h"
#include "weights.h"

namespace AscendIE {

namespace {

at::Tensor in_precision(const at::Tensor& tensor, at::ScalarType compute) {
  return tensor.is_floating_point() ? tensor.to(compute) : tensor;
}

void run_operation(const Step& step, at::ScalarType compute, Tensors& values) {
  Tensors operands;
  for (const uint32_t input : step.inputs) operands.push_back(values[input]);
  Tensors results = step.operation->run(Call(operands, step.attributes, compute));
  for (size_t i = 0; i < step.outputs.size(); ++i) values[step.outputs[i]] = std::move(results.at(i));
}

void run_step(const Step& step, at::ScalarType compute, Tensors& values) {
  if (step.kernel) {
    step.kernel(values);
  } else {
    run_operation(step, compute, values);
  }
  for (const uint32_t value : step.last_used) values[value].reset();
}

using Shapes = std::vector<c10::DimVector>;

Shapes shapes_of(const Tensors& tensors) {
  Shapes shapes;
  shapes.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) shapes.emplace_back(tensor.sizes());
  return shapes;
}

std::string describe(const std::vector<Binding>& inputs, const Shapes& shapes) {
  std::string text = "an engine with the inputs";
  for (size_t i = 0; i < shapes.size(); ++i) {
    text += c10::str(i == 0 ? " '" : ", '", inputs[i].name, "' of shape ", at::IntArrayRef(shapes[i]));
  }
  return text;
}

/// The caller's result: memory of its own (a constant may be written), strides as PyTorch's own results have them.
at::Tensor result_of(const Binding& output, const at::Tensor& value, at::Device device, const Program& program) {
  const at::Tensor result = value.to(at::TensorOptions(output.type).device(device));
  if (program.constant(output.value) && result.is_same(value)) return result.clone();
  const bool channels_last =
      result.is_contiguous(at::MemoryFormat::ChannelsLast) || result.is_contiguous(at::MemoryFormat::ChannelsLast3d);
  return channels_last ? result.contiguous() : result;
}

bool has_fixed_shapes(const Program& program) {
  return std::all_of(program.types.begin(), program.types.end(),
                     [](const ValueType& type) { return is_fixed(type.shape); });
}

/// ATen's functions as a model means them: without gradients, and without autocast, which would choose their types.
struct Plainly {
  at::AutoDispatchBelowAutograd no_gradients;
  c10::impl::ExcludeDispatchKeyGuard no_autocast{c10::autocast_dispatch_keyset};
};

/// More than half of the machine's memory: then a run when a model is loaded may end the process.
bool is_large(const Program& program) {
  const double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  double bytes = 0;
  for (const ValueType& type : program.types) {
    double size = static_cast<double>(c10::elementSize(type.type));
    for (const int64_t dimension : type.shape) size *= static_cast<double>(dimension);
    bytes += size;
  }
  return bytes > memory / 2;
}

}  // namespace

struct Executor::Shared {
  explicit Shared(std::shared_ptr<Program> program) : weights(std::move(program)) {}
  Weights weights;
  Arena arena;
};

Executor::Executor(std::string_view model) {
  const Plainly plainly;
  Program program = deserialize(model);
  validate(program);
  undamaged([&] { prepare(program); });
  const auto made = std::make_shared<Program>(std::move(program));
  program_ = made;
  shared_ = std::make_shared<Shared>(made);
  if (has_fixed_shapes(*made)) undamaged([&] { Rehearse(); });
}

/// Runs the model once, so that its memory is planned before the first call.
void Executor::Rehearse() {
  if (is_large(*program_)) {
    remark_ = "its values may need more than half of the memory, so it was not run when it was loaded";
    return;
  }
  try {
    Tensors inputs;
    for (const Binding& input : program_->inputs) inputs.push_back(at::zeros(input.shape, input.type));
    Compute(std::move(inputs));
  } catch (const c10::Error& e) {
    // Models need not take zeros (divisions of integers): then the first run that succeeds plans.
    remark_ = std::string("it does not take zeros: ") + e.what_without_backtrace();
  }
}

Executor::~Executor() = default;

std::string Executor::Model() const {
  const Plainly plainly;
  return serialize(shared_->weights.snapshot());
}

std::vector<at::Tensor> Executor::Run(std::vector<at::Tensor> inputs) const {
  return undamaged([&] { return Compute(std::move(inputs)); });
}

std::vector<at::Tensor> Executor::Compute(std::vector<at::Tensor> inputs) const {
  const Plainly plainly;
  const Program& program = *program_;
  check_inputs(program.inputs, inputs);
  const at::ScalarType compute = program.compute();
  Tensors constants(program.values);
  shared_->weights.give(constants);  // may pack them again: not in the memory of the run
  Arena::Run memory(shared_->arena);
  Tensors values = std::move(constants);  // freed before the run of the arena ends
  for (size_t i = 0; i < inputs.size(); ++i) {
    values[program.inputs[i].value] = in_precision(inputs[i].to(at::kCPU), compute);
  }
  const at::Device device = inputs.empty() ? at::Device(at::kCPU) : inputs.front().device();
  const Shapes shapes = shapes_of(inputs);
  inputs.clear();
  try {
    for (const Step& step : program.steps) run_step(step, compute, values);
  } catch (c10::Error& e) {  // each input is as declared, but they may not fit each other
    e.add_context(describe(program.inputs, shapes));
    throw;
  }
  memory.pause();
  std::vector<at::Tensor> outputs;
  for (const Binding& output : program.outputs) {
    outputs.push_back(result_of(output, values[output.value], device, program));
  }
  return outputs;
}

}  // namespace AscendIE
