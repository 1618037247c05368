// native/live/call/reference.cpp
#include "live/call/reference.h"

#include <dlfcn.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "user_kernels/prepare.h"

namespace py = pybind11;

namespace opwright::live {
namespace {

using user_kernels::Argument;
using user_kernels::Kind;

// user_kernels::prepare and execute, by the names that their declarations get.
struct Twin {
  decltype(&user_kernels::prepare) prepare = nullptr;
  decltype(&user_kernels::execute) execute = nullptr;
};

constexpr char kPrepare[] =
    "_ZN8opwright12user_kernels7prepareEPKcSt16initializer_listINS0_8ArgumentEEPmPP13aclOpExecutor";
constexpr char kExecute[] = "_ZN8opwright12user_kernels7executeEPKcPvmP13aclOpExecutorS3_";

const Twin& twin() {
  static const Twin instance = [] {
    Twin result;
    // The real libnnopbase has neither.
    void* const library = dlopen("libnnopbase.so", RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) return result;
    result.prepare = reinterpret_cast<decltype(Twin::prepare)>(dlsym(library, kPrepare));
    result.execute = reinterpret_cast<decltype(Twin::execute)>(dlsym(library, kExecute));
    return result;
  }();
  return instance;
}

// The twin keeps pointers to names, in executors that may run after the plan is gone.
const char* interned(const std::string& text) {
  static std::mutex mutex;
  static auto* const texts = new std::set<std::string>;
  const std::lock_guard<std::mutex> lock(mutex);
  return texts->insert(text).first->c_str();
}

// The registration of a reference function, as Python has it; None if there is none. The caller holds the GIL.
py::object registration(const std::string& name) {
  py::module_::import("opwright.twin.user_kernels.bridge").attr("connect")(name);
  return py::module_::import("opwright.twin.user_kernels.registry").attr("registry").attr("find")(name);
}

py::object form_of(const py::object& registration, const std::string& name) {
  for (const py::handle form : registration.attr("interface").attr("functions")) {
    if (form.attr("name").cast<std::string>() == name) return py::reinterpret_borrow<py::object>(form);
  }
  throw py::value_error(name + ": its registration has no function of this name");  // the registry sees to that
}

Kind kind_of(CType ctype) {
  switch (ctype) {
    case CType::kTensor:
      return Kind::kTensor;
    case CType::kTensorList:
      return Kind::kTensorList;
    case CType::kScalar:
      return Kind::kScalar;
    case CType::kScalarList:
      return Kind::kScalarList;
    case CType::kIntArray:
      return Kind::kInts;
    case CType::kFloatArray:
      return Kind::kFloats;
    case CType::kBoolArray:
      return Kind::kBools;
    case CType::kText:
      return Kind::kText;
    case CType::kInteger:
      return Kind::kInt;
    case CType::kDouble:
    case CType::kFloat:
      return Kind::kReal;
    case CType::kBool:
      return Kind::kBool;
    case CType::kDtype:
      break;
  }
  return Kind::kDtype;
}

// prepare() takes its arguments as an initializer list, whose length is part of the program: one call for each length.
constexpr size_t kMost = 64;
using Prepare = int (*)(const char*, const Argument*, uint64_t*, aclOpExecutor**);

template <size_t... I>
int prepare(const char* function, const Argument* arguments, uint64_t* size, aclOpExecutor** executor,
            std::index_sequence<I...>) {
  return twin().prepare(function, {arguments[I]...}, size, executor);
}

template <size_t Count>
int prepare(const char* function, const Argument* arguments, uint64_t* size, aclOpExecutor** executor) {
  return prepare(function, arguments, size, executor, std::make_index_sequence<Count>());
}

template <size_t... Count>
constexpr std::array<Prepare, sizeof...(Count)> prepares(std::index_sequence<Count...>) {
  return {&prepare<Count>...};
}

class ReferenceFunction final : public Function {
 public:
  ReferenceFunction(const Plan& plan, const py::object& form) : function_(interned(plan.function)) {
    size_t position = 0;
    for (const py::handle parameter : form.attr("parameters")) {
      parameters_.push_back(
          {interned(parameter.attr("name").cast<std::string>()), kind_of(plan.parameters[position++].ctype),
           parameter.attr("role").cast<std::string>() == "input", !parameter.attr("optional").cast<bool>()});
    }
  }

  int phase1(const Plan&, const Values& values, uint64_t* workspace_size, aclOpExecutor** executor) const override {
    static constexpr auto calls = prepares(std::make_index_sequence<kMost + 1>());
    std::vector<Argument> arguments = parameters_;
    for (size_t i = 0; i < values.size(); ++i) {
      switch (arguments[i].kind) {
        case Kind::kInt:
        case Kind::kBool:
        case Kind::kDtype:
          arguments[i].integer = values[i].integer;
          break;
        case Kind::kReal:
          arguments[i].real = values[i].real;
          break;
        default:
          arguments[i].object = values[i].object;
      }
    }
    return calls[values.size()](function_, arguments.data(), workspace_size, executor);
  }
  npu::Phase2 phase2() const override { return {nullptr, twin().execute, function_}; }

 private:
  const char* const function_;
  std::vector<Argument> parameters_;  // without values
};

// Raises unless the reference function takes the C types that the plan passes.
void require_same_parameters(const Plan& plan, const py::object& registration, const py::object& form) {
  std::vector<std::string> passed, taken;
  for (const Parameter& parameter : plan.parameters) passed.push_back(parameter.c_name);
  for (const py::handle parameter : form.attr("parameters")) {
    taken.push_back(parameter.attr("ctype").attr("value").cast<std::string>());
  }
  TORCH_CHECK(passed == taken, plan.name, ": the reference function of ", plan.function, " at ",
              registration.attr("where").cast<std::string>(), " is declared as ", py::str(form).cast<std::string>(),
              ", but the operator passes (", c10::Join(", ", passed), "). Give both the same parameters");
  TORCH_CHECK(passed.size() <= kMost, plan.name, ": ", plan.function, " takes ", passed.size(),
              " parameters; a reference function can have ", kMost);
}

}  // namespace

std::unique_ptr<const Function> find_reference(const Plan& plan) {
  if (twin().prepare == nullptr || twin().execute == nullptr) return nullptr;
  const py::gil_scoped_acquire locked;
  const py::object found = registration(plan.function);
  if (found.is_none()) return nullptr;
  const py::object form = form_of(found, plan.function);
  require_same_parameters(plan, found, form);
  return std::make_unique<ReferenceFunction>(plan, form);
}

bool is_stand_in(void* function) {
  Dl_info info;
  if (twin().prepare == nullptr || dladdr(function, &info) == 0) return false;
  const py::gil_scoped_acquire locked;
  const py::module_ process = py::module_::import("opwright.twin.user_kernels.process");
  return process.attr("is_stand_in")(info.dli_fname).cast<bool>();
}

bool has_reference(const std::string& name) {
  if (twin().prepare == nullptr) return false;
  const py::gil_scoped_acquire locked;
  return !registration(name).is_none();
}

}  // namespace opwright::live
