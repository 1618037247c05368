// native/ascendc/package/template_keys.h
// Kernels that are templates: all selected combinations of parameter values, each with its tiling key.
#pragma once

#include <cstdint>
#include <vector>

#include "node/registry.h"

namespace opwright::ascendc {

// A parameter's values with ranges written out: 2, 0,2, 3,5, 10 after UI_MIX are 0 1 2 3 4 5 10.
std::vector<uint64_t> values_of(const TemplateParameter& parameter);

// The key of one value for each declared parameter: a number for integers is its place in the declaration's list, other
// values are themselves; the first parameter has the lowest bits. False if a value was not declared.
bool encode(const TemplateParameters& declared, const std::vector<uint64_t>& values, uint64_t& key);

struct Instance {
  uint64_t key;
  std::vector<uint64_t> values;
  int64_t kernel_type;  // -1: not selected
};
// Every combination that a selection has.
std::vector<Instance> instances_of(const TemplateParameters& declared, const std::vector<TemplateParameters>& selected);

}  // namespace opwright::ascendc
