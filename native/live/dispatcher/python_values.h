// native/live/dispatcher/python_values.h
// Arguments on a dispatcher's stack <-> Python objects. The caller holds the GIL.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>
#include <pybind11/pybind11.h>

#include <string>

namespace opwright::live {

struct PythonArguments {
  pybind11::tuple args;
  pybind11::dict kwargs;
};

// All arguments of the schema, defaults included; those after the star by name.
PythonArguments python_arguments(const c10::FunctionSchema& schema, c10::ArrayRef<c10::IValue> values);

// Pushes what a Python function returned for the schema; raises TypeError if it does not have the schema's returns.
void push_results(const c10::FunctionSchema& schema, const pybind11::object& result, torch::jit::Stack* stack);

}  // namespace opwright::live
