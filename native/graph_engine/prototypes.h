// native/graph_engine/prototypes.h
// Prototypes (REG_OP) of operator types. They live in Python (opwright/graph_engine/prototypes/cann.py), because they
// are read from the user's TorchAir and declared next to the user's kernels; opwright/graph_engine/prototype_bridge.py
// answers here.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/error.h"

namespace opwright::graph_engine {

// Names with a word each, in the order of the prototype.
using Words = std::vector<std::pair<std::string, std::string>>;

struct Prototype {
  Words inputs;      // "required", "optional" or "dynamic"
  Words outputs;     // "required" or "dynamic"
  Words attributes;  // the type, for example "VT_INT"
};

// nullptr for a type that nobody knows, and in a process without Python. Throws what Python could not do.
OPWRIGHT_API std::shared_ptr<const Prototype> find_prototype(const char* type);

}  // namespace opwright::graph_engine

extern "C" {

using OpwrightDescribe = void (*)(const char* type, void* answer);

OPWRIGHT_API void opwright_prototypes_register(OpwrightDescribe describe);
// The type is known. The next functions need this first.
OPWRIGHT_API void opwright_prototype_known(void* answer);
OPWRIGHT_API void opwright_prototype_input(void* answer, const char* name, const char* word);
OPWRIGHT_API void opwright_prototype_output(void* answer, const char* name, const char* word);
OPWRIGHT_API void opwright_prototype_attribute(void* answer, const char* name, const char* word);
OPWRIGHT_API void opwright_prototype_fail(void* answer, const char* text);
}
