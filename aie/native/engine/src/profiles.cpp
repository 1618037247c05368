// profiles.cpp: see profiles.h.
#include "profiles.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <sstream>

#include "network/Samples.h"
#include "runtime/Inputs.h"

namespace AscendIE {

namespace {

// Sizes that stand for any: two, to see what depends on them; large enough for networks that halve images.
constexpr int64_t kAnySmall = 32;
constexpr int64_t kAnyLarge = 64;
constexpr int64_t kAny = -1;

at::IntArrayRef sizes(const Dims& dims) { return {dims.Data(), static_cast<size_t>(dims.Size())}; }

void check(const DimsRange& range) {
  TORCH_CHECK_VALUE(range.min.Size() == range.max.Size(), "the least shape ", sizes(range.min), " and the greatest ",
                    sizes(range.max), " have other ranks");
  for (int32_t i = 0; i < range.min.Size(); ++i) {
    const int64_t least = range.min[i];
    const int64_t greatest = range.max[i];
    const bool any = least == kAny && greatest == kAny;
    TORCH_CHECK_VALUE(any || (least >= 0 && least <= greatest), "dimension ", i, ": got ", least, " to ", greatest,
                      ", allowed are sizes from 0, the least first, and -1 in both for any size");
  }
}

/// A size without bounds is `any`.
std::vector<int64_t> end_of(const DimsRange& range, const Dims& end, int64_t any) {
  std::vector<int64_t> shape = sizes(end).vec();
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == kAny) shape[i] = any;
    if (range.max[static_cast<int32_t>(i)] > 1) shape[i] = std::max<int64_t>(shape[i], 1);
  }
  return shape;
}

bool is_one_shape(const DimsRange& range) { return range.min == range.max && range.min.Fixed(); }

std::vector<std::vector<int64_t>> sample_shapes(const std::vector<DimsRange>& profiles,
                                                const std::vector<Dims>& samples) {
  std::vector<std::vector<int64_t>> shapes;
  for (const Dims& sample : samples) shapes.push_back(sizes(sample).vec());
  if (!shapes.empty()) return shapes;
  for (const DimsRange& range : profiles) {
    shapes.push_back(LeastSample(range));
    if (profiles.size() == 1 && !is_one_shape(range)) shapes.push_back(GreatestSample(range));
  }
  return shapes;
}

bool fits(at::IntArrayRef shape, const ShapeRange& range) {
  if (shape.size() != range.min.size()) return false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (range.min[i] != kAny && (shape[i] < range.min[i] || shape[i] > range.max[i])) return false;
  }
  return true;
}

std::string text_of(const ShapeRange& range) {
  std::ostringstream text;
  text << at::IntArrayRef(range.min);
  if (range.min != range.max) text << " to " << at::IntArrayRef(range.max);
  return text.str();
}

std::string allowed(const Binding& binding) {
  std::ostringstream text;
  if (binding.profiles.empty()) text << at::IntArrayRef(binding.shape);
  for (const ShapeRange& range : binding.profiles) text << (text.tellp() > 0 ? ", " : "") << text_of(range);
  return text.str();
}

bool fits(const Binding& binding, const at::Tensor& given) {
  if (binding.profiles.empty()) return given.sizes() == at::IntArrayRef(binding.shape);
  return std::any_of(binding.profiles.begin(), binding.profiles.end(),
                     [&](const ShapeRange& range) { return fits(given.sizes(), range); });
}

/// Each input fits a gear: all have to fit the same one.
void expect_one_gear(const std::vector<Binding>& bindings, const Tensors& given) {
  size_t gears = 1;
  for (const Binding& binding : bindings) gears = std::max(gears, binding.profiles.size());
  if (gears == 1) return;
  for (size_t gear = 0; gear < gears; ++gear) {
    bool all = true;
    for (size_t i = 0; i < given.size(); ++i) {
      all &= bindings[i].profiles.empty() || fits(given[i].sizes(), bindings[i].profiles.at(gear));
    }
    if (all) return;
  }
  std::ostringstream text;
  for (size_t i = 0; i < given.size(); ++i) {
    text << "\n  input '" << bindings[i].name << "': " << given[i].sizes() << ", gears: " << allowed(bindings[i]);
  }
  TORCH_CHECK_VALUE(false, "the shapes of the inputs are of different gears, allowed are shapes of one of the ", gears,
                    ":", text.str());
}

}  // namespace

std::vector<int64_t> LeastSample(const DimsRange& range) { return end_of(range, range.min, kAnySmall); }
std::vector<int64_t> GreatestSample(const DimsRange& range) { return end_of(range, range.max, kAnyLarge); }

std::vector<Inferred> choices_of(const std::vector<DimsRange>& profiles, const std::vector<Dims>& samples,
                                 at::ScalarType type) {
  TORCH_CHECK_VALUE(!profiles.empty(), "got no profile, allowed is at least 1");
  for (const DimsRange& range : profiles) {
    check(range);
    TORCH_CHECK_VALUE(range.min.Size() == profiles[0].min.Size(), "the profiles have the ranks ",
                      profiles[0].min.Size(), " and ", range.min.Size(), ", allowed is one rank");
    TORCH_CHECK_VALUE(profiles.size() == 1 || range.min == range.max, "got ", profiles.size(),
                      " profiles with a range of sizes, allowed are several shapes, or one range");
  }
  std::vector<Inferred> choices;
  for (const auto& shape : sample_shapes(profiles, samples)) {
    choices.push_back({at::empty(shape, at::TensorOptions(type).device(at::kMeta)), {}});
  }
  return choices;
}

void expect_as_many_choices(const TensorImpl& input, const TensorImpl& other) {
  const bool alike = input.choices.size() == 1 || other.choices.size() <= 1 ||
                     (input.choices.size() == other.choices.size() && input.profiles.size() == other.profiles.size());
  TORCH_CHECK_VALUE(alike, "got ", input.profiles.size(), " profiles and ", input.choices.size(),
                    " samples, but input ", in_quotes(other.name), " has ", other.profiles.size(), " and ",
                    other.choices.size());
}

std::vector<ShapeRange> ranges_of(const std::vector<DimsRange>& profiles) {
  if (profiles.size() == 1 && is_one_shape(profiles[0])) return {};
  std::vector<ShapeRange> ranges;
  for (const DimsRange& range : profiles) ranges.push_back({sizes(range.min).vec(), sizes(range.max).vec()});
  return ranges;
}

void check_inputs(const std::vector<Binding>& bindings, const Tensors& given) {
  TORCH_CHECK_VALUE(given.size() == bindings.size(), "got ", given.size(), " inputs, allowed are ", bindings.size());
  for (size_t i = 0; i < given.size(); ++i) {
    const Binding& binding = bindings[i];
    TORCH_CHECK_VALUE(given[i].defined(), "input '", binding.name, "' is undefined");
    TORCH_CHECK_TYPE(given[i].scalar_type() == binding.type, "input '", binding.name, "': got dtype ",
                     given[i].scalar_type(), ", allowed is ", binding.type);
    TORCH_CHECK_VALUE(fits(binding, given[i]), "input '", binding.name, "': got shape ", given[i].sizes(),
                      ", allowed is ", allowed(binding));
  }
  expect_one_gear(bindings, given);
}

void CheckInputs(const std::vector<DeclaredInput>& declared, const std::vector<at::Tensor>& given) {
  std::vector<Binding> bindings;
  for (const DeclaredInput& input : declared) {
    TORCH_CHECK_VALUE(!input.profiles.empty(), "input '", input.name, "' has no profile");
    bindings.push_back({0, input.name, input.type, sizes(input.profiles[0].min).vec(), ranges_of(input.profiles)});
  }
  check_inputs(bindings, given);
}

}  // namespace AscendIE
