// bind.cpp: torch_aie._C, what the Python package calls.
#include <c10/util/Exception.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "module_of.h"
#include "npu.h"
#include "torch_aie.h"

namespace py = pybind11;

namespace {

using torch_aie::torchscript::CompileSpec;
/// Least shape, greatest shape, number of the dtype.
using InputRow = std::tuple<std::vector<int64_t>, std::vector<int64_t>, int>;

torch_aie::Input input_of(const InputRow& row) {
  const auto& [least, greatest, number] = row;
  const auto dtype = static_cast<torch_aie::DataType>(number);
  const bool any = std::find(least.begin(), least.end(), -1) != least.end();  // a size without bounds is a range
  if (least == greatest && !any) return {least, dtype};
  return {least, greatest, dtype};
}

CompileSpec spec_of(const std::vector<std::vector<InputRow>>& profiles, const py::dict& options) {
  CompileSpec spec;
  for (const auto& rows : profiles) {
    auto& profile = spec.graph_inputs.inputs.emplace_back();
    for (const InputRow& row : rows) profile.push_back(input_of(row));
  }
  const auto set = [&](const char* name, auto& member) {
    if (options.contains(name)) member = options[name].cast<std::remove_reference_t<decltype(member)>>();
  };
  spec.precision_policy = static_cast<torch_aie::PrecisionPolicy>(options["precision_policy"].cast<int>());
  set("soc_version", spec.soc_version);
  set("min_block_size", spec.min_block_size);
  set("optimization_level", spec.optimization_level);
  set("default_buffer_size_vec", spec.default_buffer_size_vec);
  set("require_full_compilation", spec.require_full_compilation);
  set("truncate_long_and_double", spec.truncate_long_and_double);
  set("allow_tensor_replace_int", spec.allow_tensor_replace_int);
  set("torch_executed_ops", spec.torch_executed_ops);
  set("torch_executed_modules", spec.torch_executed_modules);
  return spec;
}

template <class Function>
auto without_gil(Function function) {
  const py::gil_scoped_release released;
  return function();
}

void translate(std::exception_ptr exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const c10::IndexError& e) {
    py::set_error(PyExc_IndexError, e.what_without_backtrace());
  } catch (const c10::TypeError& e) {
    py::set_error(PyExc_TypeError, e.what_without_backtrace());
  } catch (const c10::ValueError& e) {
    py::set_error(PyExc_ValueError, e.what_without_backtrace());
  } catch (const c10::Error& e) {
    py::set_error(PyExc_RuntimeError, e.what_without_backtrace());
  }
}

}  // namespace

PYBIND11_MODULE(_C, module) {
  py::register_local_exception_translator(translate);
  module.def("set_device", torch_aie::set_device);
  bind_npu(module);
  bind_module_of(module);
  module.def("finalize", torch_aie::finalize);
  module.def("compile", [](const torch::jit::Module& target, const std::vector<std::vector<InputRow>>& profiles,
                           const py::dict& options) {
    const CompileSpec spec = spec_of(profiles, options);
    return without_gil([&] { return torch_aie::torchscript::compile(target, spec); });
  });
  module.def("export_engine", [](const torch::jit::Module& target, const std::string& method,
                                 const std::vector<std::vector<InputRow>>& profiles, const py::dict& options) {
    const CompileSpec spec = spec_of(profiles, options);
    return py::bytes(without_gil([&] { return torch_aie::torchscript::export_engine(target, method, spec); }));
  });
}
