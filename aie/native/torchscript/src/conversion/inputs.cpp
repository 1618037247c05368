// conversion/inputs.cpp: checks of the declared inputs; which shapes stand for all that are declared.
#include "conversion/inputs.h"

#include <c10/util/Exception.h>

#include <algorithm>

#include "core/util/prelude.h"
#include "network/Samples.h"

namespace torch_aie::core::conversion {

namespace {

using AscendIE::DimsRange;
using Shape = std::vector<int64_t>;

constexpr size_t kMostGears = 100;
constexpr size_t kMostInputs = 4096;
constexpr size_t kMostDimensions = AscendIE::Dims::MAX_DIMS;
constexpr int64_t kAny = -1;
constexpr uint64_t kLargestBuffer = 36864;  // MB

const Shape& least(const Input& input) { return input.IsShapeRange() ? input.minShape : input.shape; }
const Shape& greatest(const Input& input) { return input.IsShapeRange() ? input.maxShape : input.shape; }

void check_shape(const Input& input, size_t i) {
  const Shape& low = least(input);
  const Shape& high = greatest(input);
  TORCH_CHECK_VALUE(low.size() == high.size() && low.size() <= kMostDimensions, "input ", i, ": got the least shape ",
                    low, " and the greatest ", high, ", allowed are shapes of one rank from 0 to ", kMostDimensions);
  for (size_t dim = 0; dim < low.size(); ++dim) {
    const bool any = input.IsShapeRange() && low[dim] == kAny && high[dim] == kAny;
    TORCH_CHECK_VALUE(any || (low[dim] >= 0 && low[dim] <= high[dim]), "input ", i, ": got dimension ", dim, " from ",
                      low[dim], " to ", high[dim],
                      ", allowed are sizes from 0, the least first, and in ranges -1 in both for any size");
  }
}

std::string names_of(const torch::jit::Graph& graph) {
  std::string names;
  for (const torch::jit::Value* input : graph.inputs().slice(1)) {
    names += (names.empty() ? ": %" : ", %") + input->debugName();
  }
  return names;
}

/// Checks one gear, or the only profile.
void check_profile(const InputProfile& profile, const GraphInputs& all, const torch::jit::Graph& graph) {
  const size_t wanted = graph.inputs().size() - 1;  // the first is the module
  TORCH_CHECK_VALUE(profile.size() == wanted, "got ", profile.size(), " inputs, but the graph has ", wanted,
                    names_of(graph));
  for (size_t i = 0; i < profile.size(); ++i) {
    check_shape(profile[i], i);
    const Input& first = all.inputs.front()[i];
    TORCH_CHECK_VALUE(all.inputs.size() == 1 || !profile[i].IsShapeRange(), "input ", i,
                      ": got a range of shapes in one of ", all.inputs.size(),
                      " profiles, allowed are several shapes, or one profile with ranges");
    TORCH_CHECK_VALUE(profile[i].dtype == first.dtype && least(profile[i]).size() == least(first).size(), "input ", i,
                      ": its profiles have other types or ranks, allowed are other sizes");
  }
}

void check(const torch::jit::Graph& graph, const torchscript::CompileOptions& options) {
  const auto& profiles = options.graph_inputs.inputs;
  TORCH_CHECK_VALUE(!profiles.empty() && profiles.size() <= kMostGears, "got ", profiles.size(),
                    " profiles of inputs, allowed are 1 to ", kMostGears);
  const size_t wanted = graph.inputs().size() - 1;
  TORCH_CHECK_VALUE(wanted <= kMostInputs, "the graph has ", wanted, " inputs, allowed are at most ", kMostInputs);
  for (const InputProfile& profile : profiles) check_profile(profile, options.graph_inputs, graph);
  for (size_t i = 0; i < wanted; ++i) {
    const torch::jit::Value* const value = graph.inputs()[i + 1];
    TORCH_CHECK_TYPE(value->type()->isSubtypeOf(*c10::TensorType::get()), "input ", i, " (%", value->debugName(),
                     ") is ", value->type()->repr_str(), ", allowed is Tensor");
  }
}

size_t outputs_of(const torch::jit::Graph& graph) {
  if (graph.outputs().size() != 1) return graph.outputs().size();
  const auto tuple = graph.outputs()[0]->type()->cast<c10::TupleType>();
  return tuple ? tuple->elements().size() : 1;
}

/// Outputs are allocated when their size is known: the sizes are checked, and nothing is reserved.
void check_buffers(const torch::jit::Graph& graph, const torchscript::CompileOptions& options) {
  const std::vector<uint64_t>& sizes = options.default_buffer_size_vec;
  TORCH_CHECK_VALUE(sizes.size() == 1 || sizes.size() == outputs_of(graph), "default_buffer_size_vec: got ",
                    sizes.size(), " sizes, allowed are 1, or one for each of the ", outputs_of(graph), " outputs");
  for (const uint64_t size : sizes) {
    TORCH_CHECK_VALUE(size >= 1 && size <= kLargestBuffer, "default_buffer_size_vec: got ", size,
                      " MB, allowed are 1 to ", kLargestBuffer);
  }
}

InputType type_of(const std::vector<InputProfile>& profiles, size_t i) {
  const Input& first = profiles.front()[i];
  InputType type{first.dtype == DataType::UNKNOWN ? at::kFloat : util::toScalarType(first.dtype), {}, {}, {}};
  for (const InputProfile& profile : profiles) {
    const DimsRange range{util::toDims(least(profile[i])), util::toDims(greatest(profile[i]))};
    type.profiles.push_back(range);
    type.samples.push_back(AscendIE::LeastSample(range));
    if (first.IsShapeRange()) type.samples.push_back(AscendIE::GreatestSample(range));
  }
  type.shape = type.samples.front();
  return type;
}

/// An input with one shape is the same with every choice.
void forget_equal_samples(InputType& type) {
  const bool fixed =
      std::all_of(type.samples.begin(), type.samples.end(), [&](const Shape& sample) { return sample == type.shape; });
  const bool any = !type.profiles.empty() && type.profiles.front().min != type.profiles.front().max;
  if (!fixed || any) return;
  type.samples.clear();
  type.profiles.clear();
}

/// A shape between two, with odd sizes where it can: most of what depends on sizes is seen with odd ones.
Shape between(const Shape& low, const Shape& high) {
  Shape shape = low;
  for (size_t i = 0; i < shape.size(); ++i) {
    shape[i] += (high[i] - low[i]) / 2;
    if (shape[i] % 2 == 0 && shape[i] + 1 < high[i]) ++shape[i];
  }
  return shape;
}

}  // namespace

std::vector<InputType> with_third_choice(std::vector<InputType> inputs) {
  for (InputType& input : inputs) {
    const bool range = input.profiles.size() == 1 && input.samples.size() == 2;
    if (range) input.samples.push_back(between(input.samples[0], input.samples[1]));
  }
  return inputs;
}

std::vector<InputType> input_types(const torch::jit::Graph& graph, const torchscript::CompileOptions& options) {
  check(graph, options);
  check_buffers(graph, options);
  std::vector<InputType> types;
  for (size_t i = 0; i + 1 < graph.inputs().size(); ++i) {
    types.push_back(type_of(options.graph_inputs.inputs, i));
    forget_equal_samples(types.back());
  }
  return types;
}

size_t choices(const std::vector<InputType>& inputs) {
  size_t most = 1;
  for (const InputType& input : inputs) most = std::max(most, input.samples.size());
  return most;
}

const std::vector<int64_t>& sample(const InputType& input, size_t choice) {
  return input.samples.empty() ? input.shape : input.samples.at(choice);
}

InputType inner_type(at::ScalarType type, std::vector<std::vector<int64_t>> samples,
                     const std::vector<InputType>& inputs) {
  InputType result{type, samples.front(), std::move(samples), {}};
  size_t gears = 1;
  for (const InputType& input : inputs) gears = std::max(gears, input.profiles.size());
  if (gears > 1) {
    for (const Shape& shape : result.samples) result.profiles.push_back({util::toDims(shape), util::toDims(shape)});
  } else {
    // Which sizes lie between is not known: an inner size may shrink while another grows.
    Shape any = result.shape;
    for (const Shape& shape : result.samples) {
      for (size_t i = 0; i < any.size(); ++i) any[i] = shape.at(i) == result.shape[i] ? any[i] : kAny;
    }
    result.profiles.push_back({util::toDims(any), util::toDims(any)});
  }
  forget_equal_samples(result);
  return result;
}

}  // namespace torch_aie::core::conversion
