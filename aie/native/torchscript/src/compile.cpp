// compile.cpp: compile and export_engine.
#include <c10/util/Exception.h>

#include <algorithm>
#include <memory>

#include "builder/Builder.h"
#include "conversion/conversion.h"
#include "conversion/inputs.h"
#include "converters/registry.h"
#include "engine.h"
#include "log/log.h"
#include "lowering/lowering.h"
#include "lowering/specialize.h"
#include "npu.h"
#include "partition/kept.h"
#include "partition/observation.h"
#include "partition/partition.h"
#include "partition/stitching.h"
#include "torch_aie.h"

namespace torch_aie {

namespace {

using core::conversion::InputType;
using core::conversion::Segment;
using core::lowering::Lowered;
using torch::jit::Value;
using torchscript::CompileOptions;
using EnginePtr = c10::intrusive_ptr<core::runtime::Engine>;

constexpr uint64_t kLargestBlock = 1024;

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "\n  " + line;
  return text;
}

/// Errors about what was asked without C++'s backtrace, which programs would print with what().
template <class Function>
auto plainly(Function function) {
  try {
    return function();
  } catch (const c10::ValueError& e) {
    throw c10::ValueError(std::string(e.what_without_backtrace()));
  } catch (const c10::TypeError& e) {
    throw c10::TypeError(std::string(e.what_without_backtrace()));
  } catch (const c10::IndexError& e) {
    throw c10::IndexError(std::string(e.what_without_backtrace()));
  }
}

void check(const CompileOptions& options) {
  TORCH_CHECK_VALUE(options.min_block_size >= 1 && options.min_block_size <= kLargestBlock, "min_block_size: got ",
                    options.min_block_size, ", allowed are 1 to ", kLargestBlock);
  TORCH_CHECK_VALUE(options.optimization_level >= 0 && options.optimization_level <= 2, "optimization_level: got ",
                    options.optimization_level, ", allowed are 0, 1, 2");
  for (const std::string& name : options.torch_executed_ops) {
    TORCH_CHECK_VALUE(name.find("::") != std::string::npos, "torch_executed_ops: got '", name,
                      "', allowed are names of operators such as aten::relu");
  }
}

/// A method's graph, what is known of it, and who runs what.
class Partition {
 public:
  Partition(const torch::jit::Module& module, const std::string& method, const CompileOptions& options)
      : options(options), lowered(core::lowering::lower(module, method, options)) {
    core::conversion::converters::expect_registered(*lowered.graph, options);
    core::partition::warn_of_unknown_names(*lowered.graph, options);
    device::move_to_host(*lowered.graph);
    inputs_ = core::conversion::input_types(*lowered.graph, options);
    make_plans();
    const bool sizes = core::conversion::choices(inputs_) > 1 && !options.allow_tensor_replace_int;
    if (sizes || !left_over().empty() || core::partition::needs_types(*lowered.graph, options)) learn();
  }
  Partition(const Partition&) = delete;
  Partition& operator=(const Partition&) = delete;

  std::vector<std::string> left_over() const { return core::partition::left_over(*lowered.graph, *placement_); }

  /// One for each segment with members, block by block. A node that its converter declines goes to libtorch, and the
  /// graph is divided again.
  std::vector<std::vector<EnginePtr>> engines() {
    for (;;) {
      try {
        return convert();
      } catch (const core::conversion::Declined& declined) {
        log(Level::kWarning, declined.what());
        if (!knowledge_.observations) {
          learn();  // which may replace the node
        } else {
          knowledge_.declined.insert(declined.node());
          make_plans();
        }
        expect_whole();
      }
    }
  }

  /// Whether there is one engine that takes the inputs of the graph and nothing else, and so checks them.
  bool whole() const {
    if (plans.size() != 1 || plans.front().segments.size() != 1) return false;
    const std::vector<Value*>& taken = plans.front().segments.front().inputs;
    const auto all = lowered.graph->inputs().slice(1);
    return taken.size() == all.size() && std::all_of(all.begin(), all.end(), [&](Value* input) {
             return std::find(taken.begin(), taken.end(), input) != taken.end();
           });
  }
  const std::vector<InputType>& inputs() const { return inputs_; }

  /// An error with everything that runs on libtorch, if the graph was to be compiled as a whole.
  void expect_whole() const {
    if (!options.require_full_compilation) return;
    const std::vector<std::string> left = left_over();
    TORCH_CHECK_VALUE(left.empty(), "the graph cannot be compiled as a whole; these run on libtorch:", joined(left));
  }

  const CompileOptions options;
  Lowered lowered;
  std::vector<core::partition::BlockPlan> plans;

 private:
  /// Runs the graph, which is needed only if a part of it stays on libtorch: operators of users may have a converter
  /// and nothing else.
  void learn() {
    if (core::conversion::choices(inputs_) == 2) look_between();
    do {
      observations_ = core::partition::observe(lowered, inputs_);
    } while (core::lowering::specialize(lowered.graph, observations_));
    knowledge_.observations = &observations_;
    make_plans();
  }

  /// A size inside of the graph that is the same at both ends of a range may be another between them. Not all models
  /// take the sizes between.
  void look_between() {
    std::vector<InputType> more = core::conversion::with_third_choice(inputs_);
    if (core::conversion::choices(more) == 2) return;  // gears
    try {
      core::partition::observe(lowered, more);
      inputs_ = std::move(more);
    } catch (const c10::Error& e) {
      log(Level::kInfo, "sizes between the ends of the range are not looked at: ", e.what_without_backtrace());
    }
  }

  void make_plans() {
    placement_ = std::make_unique<core::partition::Placement>(lowered.graph, options, knowledge_);
    plans = core::partition::plan(lowered.graph, *placement_, options);
  }

  std::vector<std::vector<EnginePtr>> convert() const {
    std::vector<std::vector<EnginePtr>> engines;
    for (const auto& plan : plans) {
      auto& of_block = engines.emplace_back();
      for (const Segment& segment : plan.segments) {
        if (segment.members.empty()) continue;
        of_block.push_back(c10::make_intrusive<core::runtime::Engine>(
            core::conversion::convert(segment, types_of(segment.inputs), options)));
      }
    }
    return engines;
  }

  std::vector<InputType> types_of(const std::vector<Value*>& values) const {
    const auto graph_inputs = lowered.graph->inputs();
    std::vector<InputType> types;
    for (const Value* value : values) {
      const auto found = std::find(graph_inputs.begin(), graph_inputs.end(), value);
      types.push_back(found != graph_inputs.end() ? inputs_.at(found - graph_inputs.begin() - 1)
                                                  : *observations_.at(value).tensor);
    }
    return types;
  }

  std::vector<InputType> inputs_;
  core::partition::Observations observations_;
  core::partition::Knowledge knowledge_;
  std::unique_ptr<core::partition::Placement> placement_;
};

torch::jit::Module compile_options(const torch::jit::Module& module, CompileOptions options) {
  check(options);
  if (options.require_full_compilation) options.min_block_size = 1;
  Partition partition(module, "forward", options);
  partition.expect_whole();
  const std::vector<std::vector<EnginePtr>> engines = partition.engines();
  log(Level::kInfo, "on libtorch:", joined(partition.left_over()));
  Lowered& lowered = partition.lowered;
  size_t count = 0;
  for (size_t i = 0; i < engines.size(); ++i) {
    core::partition::stitch(lowered, partition.plans[i], {engines[i].begin(), engines[i].end()}, count);
  }
  if (count == 0) log(Level::kWarning, "no part of the graph runs on an engine");
  if (!partition.whole()) core::conversion::expect_declared(*lowered.graph, partition.inputs());
  core::lowering::finish(lowered, options);
  device::follow_inputs(*lowered.graph);
  return lowered.module;
}

std::string export_method(const torch::jit::Module& module, const std::string& method, CompileOptions options) {
  check(options);
  options.min_block_size = 1;
  options.require_full_compilation = true;
  Partition partition(module, method, options);
  partition.expect_whole();
  const std::vector<std::vector<EnginePtr>> engines = partition.engines();
  TORCH_CHECK_VALUE(engines.size() == 1 && engines.front().size() == 1,
                    "no operator of the graph has a converter: there is no engine to export");
  return engines.front().front()->model();
}

}  // namespace

void set_device(int id) {
  plainly([id] { device::choose(id); });
}

void finalize() { AscendIE::Finalize(); }

namespace torchscript {

torch::jit::Module compile(const torch::jit::Module& module, const CompileSpec& spec) {
  return plainly([&] { return compile_options(module, spec); });
}

std::string export_engine(const torch::jit::Module& module, const std::string& method_name, const CompileSpec& spec) {
  return plainly([&] { return export_method(module, method_name, spec); });
}

}  // namespace torchscript
}  // namespace torch_aie
