// registry.cpp: the converters of this process, whichever library they come from.
#include <ATen/core/operator_name.h>
#include <c10/util/Exception.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>

#include <map>
#include <memory>
#include <mutex>
#include <sstream>

#include "core/conversion/converters/converters.h"
#include "custom_pass.h"
#include "log.h"

namespace torch_aie::core::conversion::converters {

namespace {

struct Less {
  bool operator()(const c10::OperatorName& a, const c10::OperatorName& b) const {
    return std::tie(a.name, a.overload_name) < std::tie(b.name, b.overload_name);
  }
};

// Converters are kept when they are replaced: a compilation in another thread may be calling one.
struct Registry {
  std::mutex lock;
  std::map<c10::OperatorName, std::vector<std::unique_ptr<Converter>>, Less> converters;
};

Registry& registry() {
  static Registry* const instance = new Registry;  // never freed: libraries may be unloaded after static objects
  return *instance;
}

}  // namespace

RegisterNodeConverters& RegisterNodeConverters::pattern(const std::string& schema, Converter converter) & {
  const c10::OperatorName name = torch::jit::parseSchema(schema).operator_name();
  TORCH_CHECK_VALUE(converter, "the converter of ", schema, " is empty");
  Registry& all = registry();
  const std::lock_guard guard(all.lock);
  auto& registered = all.converters[name];
  if (!registered.empty()) log(Level::kWarning, "the converter of ", name, " is replaced by a later one");
  registered.push_back(std::make_unique<Converter>(std::move(converter)));
  return *this;
}

RegisterNodeConverters&& RegisterNodeConverters::pattern(const std::string& schema, Converter converter) && {
  return std::move(pattern(schema, std::move(converter)));
}

const Converter* FindConverter(const torch::jit::Node* node) {
  if (const Converter* const converter = custom_pass::converter_of(node)) return converter;
  const c10::FunctionSchema* const schema = node->maybeSchema();
  if (!schema) return nullptr;
  Registry& all = registry();
  const std::lock_guard guard(all.lock);
  const auto found = all.converters.find(schema->operator_name());
  return found == all.converters.end() ? nullptr : found->second.back().get();
}

}  // namespace torch_aie::core::conversion::converters
