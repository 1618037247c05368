// native/user_kernels/prepare.cpp
// The executor of a user kernel: copies of the arguments, handed to the dispatcher when the task runs.
#include "user_kernels/prepare.h"

#include <cstring>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "nnopbase/executor.h"
#include "nnopbase/operand.h"
#include "nnopbase/validate.h"
#include "runtime/call.h"
#include "user_kernels/dispatch.h"

namespace opwright::user_kernels {
namespace {

using Tensors = std::vector<std::optional<aclTensor>>;
using Scalars = std::vector<aclScalar>;

// A copied argument. An absent one keeps std::monostate.
struct Kept {
  const char* name;
  Kind kind;
  bool input;
  std::variant<std::monostate, Tensors, Scalars, std::vector<int64_t>, std::vector<float>, std::vector<uint8_t>,
               std::string, int64_t, double>
      value;
};

Tensors copied_tensors(const char* name, const aclTensor* const* tensors, size_t count) {
  Tensors result;
  result.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    if (tensors[i] == nullptr) {
      result.emplace_back();
      continue;
    }
    require(bits_of(tensors[i]->dtype) >= 8, ACLNN_ERR_PARAM_INVALID, "parameter '", name,
            "': a reference function cannot see ", dtype_name(tensors[i]->dtype));
    validate(*tensors[i], name);
    result.emplace_back(*tensors[i]);
  }
  return result;
}

Kept keep(const Argument& argument) {
  Kept kept{argument.name, argument.kind, argument.input, {}};
  const void* const object = argument.object;
  switch (argument.kind) {
    case Kind::kInt:
    case Kind::kBool:
    case Kind::kDtype:
      kept.value = argument.integer;
      return kept;
    case Kind::kReal:
      kept.value = argument.real;
      return kept;
    default:
      break;
  }
  if (object == nullptr) {
    require(!argument.required, ACLNN_ERR_PARAM_NULLPTR, "parameter '", argument.name, "' is null, but it is required");
    return kept;
  }
  switch (argument.kind) {
    case Kind::kTensor: {
      const auto* const tensor = static_cast<const aclTensor*>(object);
      kept.value = copied_tensors(argument.name, &tensor, 1);
      break;
    }
    case Kind::kTensorList: {
      const auto& tensors = static_cast<const aclTensorList*>(object)->tensors;
      kept.value = copied_tensors(argument.name, tensors.data(), tensors.size());
      break;
    }
    case Kind::kScalar:
      kept.value = Scalars{*static_cast<const aclScalar*>(object)};
      break;
    case Kind::kScalarList: {
      Scalars scalars;
      for (const aclScalar* scalar : static_cast<const aclScalarList*>(object)->scalars) {
        require(scalar != nullptr, ACLNN_ERR_PARAM_NULLPTR, "parameter '", argument.name, "' contains null");
        scalars.push_back(*scalar);
      }
      kept.value = std::move(scalars);
      break;
    }
    case Kind::kInts:
      kept.value = static_cast<const aclIntArray*>(object)->values;
      break;
    case Kind::kFloats:
      kept.value = static_cast<const aclFloatArray*>(object)->values;
      break;
    case Kind::kBools:
      kept.value = static_cast<const aclBoolArray*>(object)->values;
      break;
    case Kind::kText:
      kept.value = std::string(static_cast<const char*>(object));
      break;
    default:
      break;
  }
  return kept;
}

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

std::string joined(const std::vector<std::string>& parts) {
  std::string result;
  for (const std::string& part : parts) result += (result.empty() ? "" : ", ") + part;
  return "[" + result + "]";
}

template <class Values>
std::string describe_values(const Values& values) {
  std::vector<std::string> parts;
  for (const auto value : values) parts.push_back(text(+value));
  return joined(parts);
}

std::string describe_tensors(const Tensors& tensors, bool list) {
  std::vector<std::string> parts;
  for (const auto& tensor : tensors) parts.push_back(tensor ? summary(*tensor) : "null");
  return list ? joined(parts) : parts.front();
}

std::string describe(const Kept& kept) {
  return std::visit(
      Overloaded{[](std::monostate) { return std::string("null"); },
                 [&](const Tensors& tensors) { return describe_tensors(tensors, kept.kind == Kind::kTensorList); },
                 [](const Scalars& scalars) {
                   std::vector<std::string> parts;
                   for (const aclScalar& scalar : scalars) parts.push_back(dtype_name(scalar.dtype) + " scalar");
                   return parts.size() == 1 ? parts.front() : joined(parts);
                 },
                 [](const std::string& words) { return words; }, [](int64_t value) { return text(value); },
                 [](double value) { return text(value); }, [](const auto& values) { return describe_values(values); }},
      kept.value);
}

TensorView view(const std::optional<aclTensor>& tensor) {
  if (!tensor) return {};
  void* const storage = storage_of(*tensor);
  return {tensor->dtype,
          1,
          static_cast<int64_t>(tensor->sizes.size()),
          tensor->sizes.data(),
          tensor->strides.data(),
          tensor->offset,
          storage,
          storage == nullptr ? 0 : tensor->storage_bytes()};
}

ScalarView view(const aclScalar& scalar) {
  ScalarView result{scalar.dtype, 0, {}};
  std::memcpy(result.value, scalar.value, sizeof result.value);
  return result;
}

// The views of all arguments; the arrays that they point to live here and in the executor.
class Views {
 public:
  explicit Views(const std::vector<Kept>& arguments) {
    arguments_.reserve(arguments.size());
    for (const Kept& kept : arguments) add(kept);
  }
  const ArgumentView* data() const { return arguments_.data(); }

 private:
  void add(const Kept& kept) {
    ArgumentView result{kept.name, kept.kind, 1, 0, nullptr, 0, 0};
    std::visit(Overloaded{[&](std::monostate) { result.present = 0; },
                          [&](const Tensors& tensors) { set(result, converted<TensorView>(tensors, tensors_)); },
                          [&](const Scalars& scalars) { set(result, converted<ScalarView>(scalars, scalars_)); },
                          [&](int64_t value) { result.integer = value; }, [&](double value) { result.real = value; },
                          [&](const auto& values) { set(result, values); }},
               kept.value);
    arguments_.push_back(result);
  }

  template <class Values>
  static void set(ArgumentView& result, const Values& values) {
    result.count = values.size();
    result.items = values.data();
  }

  template <class View, class Values>
  static const std::vector<View>& converted(const Values& values, std::vector<std::vector<View>>& store) {
    std::vector<View> views;
    views.reserve(values.size());
    for (const auto& value : values) views.push_back(view(value));
    store.push_back(std::move(views));
    return store.back();  // moving the outer vector keeps the arrays where they are
  }

  std::vector<ArgumentView> arguments_;
  std::vector<std::vector<TensorView>> tensors_;
  std::vector<std::vector<ScalarView>> scalars_;
};

// A prototype does not say whether an output is read before it is written; CANN's names of in-place parameters do.
Access access(const Kept& kept) {
  const std::string name = kept.name;
  const bool in_place = name.size() > 3 && name.compare(name.size() - 3, 3, "Ref") == 0;
  return {kept.input || in_place, !kept.input};
}

class Executor final : public aclOpExecutor {
 public:
  Executor(const char* function, std::vector<Kept> arguments) : function_(function), arguments_(std::move(arguments)) {}

  void run() override {
    const Views views(arguments_);
    dispatch(function_, views.data(), arguments_.size());
  }
  const char* name() const noexcept override { return function_; }
  std::string trace_args() const override {
    std::string result;
    for (const Kept& kept : arguments_) {
      result += (result.empty() ? "" : ",") + trace::quote(kept.name) + ":" + trace::quote(describe(kept));
    }
    return result;
  }
  std::unique_ptr<aclOpExecutor> clone() const override { return std::make_unique<Executor>(function_, arguments_); }
  std::vector<std::vector<aclTensor*>> tensors() override {
    std::vector<std::vector<aclTensor*>> result;
    for (Kept& kept : arguments_) {
      if (kept.kind != Kind::kTensor && kept.kind != Kind::kTensorList) continue;
      result.emplace_back();
      if (auto* const tensors = std::get_if<Tensors>(&kept.value)) {
        for (auto& tensor : *tensors) result.back().push_back(tensor ? &*tensor : nullptr);
      } else if (kept.kind == Kind::kTensor) {
        result.back().push_back(nullptr);
      }
    }
    return result;
  }
  std::vector<MemoryRange> memory_ranges() override {
    std::vector<MemoryRange> result;
    for (Kept& kept : arguments_) {
      auto* const tensors = std::get_if<Tensors>(&kept.value);
      if (tensors == nullptr) continue;
      for (const auto& tensor : *tensors) add_range(tensor ? &*tensor : nullptr, kept.name, access(kept), result);
    }
    return result;
  }
  size_t input_count() const override {
    size_t count = 0;
    for (const Kept& kept : arguments_) count += size_t{kept.input};
    return count;
  }

 private:
  const char* const function_;
  std::vector<Kept> arguments_;
};

}  // namespace

aclnnStatus prepare(const char* function, std::initializer_list<Argument> arguments, uint64_t* workspace_size,
                    aclOpExecutor** executor) noexcept {
  const std::string phase = std::string(function) + "GetWorkspaceSize";
  return opwright::prepare(phase.c_str(), function, workspace_size, executor, [&] {
    std::vector<Kept> kept;
    kept.reserve(arguments.size());
    for (const Argument& argument : arguments) kept.push_back(keep(argument));
    require_reference(function);
    return std::make_unique<Executor>(function, std::move(kept));
  });
}

aclnnStatus execute(const char* function, void* workspace, uint64_t workspace_size, aclOpExecutor* executor,
                    aclrtStream stream) noexcept {
  return opwright::execute(function, workspace, workspace_size, executor, stream);
}

}  // namespace opwright::user_kernels
