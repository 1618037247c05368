// native/live/dispatcher/handle_python.h
// The undo handle in Python. Both modules have their own, because either can be imported without the other.
#pragma once

#include <pybind11/pybind11.h>

#include "live/dispatcher/registration.h"

namespace opwright::live {

inline void bind_handle(pybind11::module_& module) {
  namespace py = pybind11;
  py::class_<Handle>(module, "Handle", py::module_local())
      .def("remove", &Handle::remove, "Undo the registration; a second call does nothing.")
      .def("__enter__", [](py::object self) { return self; })
      .def("__exit__", [](Handle& self, const py::args&) { self.remove(); });
}

}  // namespace opwright::live
