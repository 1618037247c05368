// native/ascendc/package/template_keys.cpp
#include "ascendc/package/template_keys.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <string>

#include "ascendc/host_api/tiling/template_argument.h"
#include "runtime/error.h"

namespace opwright::ascendc {
namespace {

constexpr uint64_t kNoKernel = ~uint64_t{0};

const TemplateParameter* named(const TemplateParameters& parameters, const std::string& name) {
  for (const TemplateParameter& parameter : parameters) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

// A value that stands for the dtype or format of a port.
bool is_of_port(uint64_t value) { return (value >> 32) != 0; }

void add_instances(const TemplateParameters& declared, const TemplateParameters& selection, size_t parameter,
                   Instance& instance, std::vector<Instance>& result) {
  if (parameter == declared.size()) {
    if (encode(declared, instance.values, instance.key)) result.push_back(instance);
    return;
  }
  const TemplateParameter* const chosen = named(selection, declared[parameter].name);
  for (const uint64_t value : values_of(chosen == nullptr ? declared[parameter] : *chosen)) {
    instance.values.push_back(value);
    add_instances(declared, selection, parameter + 1, instance, result);
    instance.values.pop_back();
  }
}

}  // namespace

std::vector<uint64_t> values_of(const TemplateParameter& parameter) {
  if (parameter.kind != TemplateParameter::kUint) return parameter.values;
  const auto& given = parameter.values;
  std::vector<uint64_t> result;
  if (given.empty()) return result;
  size_t next = 1;
  if (given[0] != ASCENDC_TPL_UI_LIST && given.size() > 1) {
    const size_t ranges = given[next++];
    for (size_t i = 0; i < ranges && next + 1 < given.size(); ++i, next += 2) {
      for (uint64_t value = given[next]; value <= given[next + 1]; ++value) result.push_back(value);
    }
  }
  if (given[0] != ASCENDC_TPL_UI_RANGE) result.insert(result.end(), given.begin() + next, given.end());
  return result;
}

bool encode(const TemplateParameters& declared, const std::vector<uint64_t>& values, uint64_t& key) {
  key = 0;
  uint32_t shift = 0;
  if (values.size() != declared.size()) return false;
  for (size_t i = 0; i < declared.size(); ++i) {
    const std::vector<uint64_t> allowed = values_of(declared[i]);
    const auto place = std::find(allowed.begin(), allowed.end(), values[i]);
    const bool of_port = !allowed.empty() && is_of_port(allowed.front());
    if (place == allowed.end() && !of_port) return false;
    const bool by_place = declared[i].kind == TemplateParameter::kUint;
    const uint64_t code = by_place ? static_cast<uint64_t>(place - allowed.begin()) : values[i];
    const uint32_t bits = declared[i].bits;
    if (bits > 63 || shift + bits > 64) return false;  // keys have 64 bits
    if (bits > 0) key |= (code & ((uint64_t{1} << bits) - 1)) << shift;
    shift += bits;
  }
  return true;
}

std::vector<Instance> instances_of(const TemplateParameters& declared,
                                   const std::vector<TemplateParameters>& selected) {
  std::vector<Instance> result;
  for (const TemplateParameters& selection : selected) {
    Instance instance{0, {}, -1};
    if (const auto* const type = named(selection, "kernel_type"); type != nullptr && !type->values.empty()) {
      instance.kernel_type = static_cast<int64_t>(type->values.front());
    }
    add_instances(declared, selection, 0, instance, result);
  }
  return result;
}

uint64_t template_key(const TemplateParameters& declared, const std::vector<TemplateParameters>& selected,
                      const std::vector<uint64_t>& values) {
  uint64_t key = 0;
  if (encode(declared, values, key)) {
    for (const Instance& instance : instances_of(declared, selected)) {
      if (instance.key == key) return key;
    }
  }
  std::string given;
  for (size_t i = 0; i < values.size(); ++i) {
    given += text(i == 0 ? "" : ", ", i < declared.size() ? declared[i].name : "?", "=", values[i]);
  }
  std::fprintf(stderr, "opwright: ASCENDC_TPL_SEL selects no kernel with %s\n", given.c_str());
  return kNoKernel;
}

}  // namespace opwright::ascendc
