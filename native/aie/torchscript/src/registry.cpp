// registry.cpp: the converters of this process, whichever library they come from.
#include "registry.h"

#include <ATen/core/operator_name.h>
#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>
#include <dlfcn.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>

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

struct Registered {
  Converter converter;
  std::string library;
};

struct Refused {
  std::string name;  // of the operator, as far as it can be read
  std::string message;
  bool told = false;
};

// Converters are kept when they are replaced: a compilation in another thread may be calling one.
struct Registry {
  std::mutex lock;
  std::map<c10::OperatorName, std::vector<std::unique_ptr<Registered>>, Less> converters;
  std::vector<Refused> refused;
};

Registry& registry() {
  static Registry* const instance = new Registry;  // never freed: libraries may be unloaded after static objects
  return *instance;
}

std::string file_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) && info.dli_fname ? info.dli_fname : "the program";
}

/// The library with this code stays in memory when it is closed: the registry calls its converters.
std::string keep_library(const void* caller) {
  std::string library = file_of(caller);
  if (library != file_of(reinterpret_cast<const void*>(&registry))) {
    dlopen(library.c_str(), RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);  // null for the program itself
  }
  return library;
}

void add(const std::string& schema, Converter converter, std::string library) {
  TORCH_CHECK_VALUE(converter, "its function is empty");
  const c10::OperatorName name = torch::jit::parseSchema(schema).operator_name();
  Registry& all = registry();
  const std::lock_guard guard(all.lock);
  auto& registered = all.converters[name];
  if (!registered.empty()) {
    log(Level::kWarning, "the converter of ", name, " is replaced by a later one, of ", library, " (it was of ",
        registered.back()->library, ")");
  }
  registered.push_back(std::make_unique<Registered>(std::move(converter), std::move(library)));
}

void refuse(const std::string& schema, const std::string& library, const char* why) {
  Registry& all = registry();
  const std::lock_guard guard(all.lock);
  all.refused.push_back({schema.substr(0, schema.find_first_of(".(")),
                         c10::str("the converter of '", schema, "', of ", library, ", is not registered: ", why)});
  log(Level::kError, all.refused.back().message);
}

void register_converter(const std::string& schema, Converter converter, const void* caller) {
  std::string library = keep_library(caller);
  try {
    add(schema, std::move(converter), library);
  } catch (const c10::Error& e) {
    refuse(schema, library, e.what_without_backtrace());
  } catch (const std::runtime_error& e) {  // of the parser
    refuse(schema, library, e.what());
  }
}

bool has_operator(const torch::jit::Block* block, const std::string& name) {
  const auto nodes = block->nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](const torch::jit::Node* node) {
    const auto blocks = node->blocks();
    return node->kind().toQualString() == name ||
           std::any_of(blocks.begin(), blocks.end(), [&](const auto* inner) { return has_operator(inner, name); });
  });
}

}  // namespace

RegisterNodeConverters& RegisterNodeConverters::pattern(const std::string& schema, Converter converter) & {
  register_converter(schema, std::move(converter), __builtin_return_address(0));
  return *this;
}

RegisterNodeConverters&& RegisterNodeConverters::pattern(const std::string& schema, Converter converter) && {
  register_converter(schema, std::move(converter), __builtin_return_address(0));
  return std::move(*this);
}

void expect_registered(const torch::jit::Graph& graph) {
  std::string text;
  Registry& all = registry();
  const std::lock_guard guard(all.lock);
  for (Refused& one : all.refused) {
    if (!one.told || has_operator(graph.block(), one.name)) text += "\n  " + one.message;
    one.told = true;
  }
  TORCH_CHECK_VALUE(text.empty(), "converters are missing:", text);
}

const Converter* FindConverter(const torch::jit::Node* node) {
  if (const Converter* const converter = custom_pass::converter_of(node)) return converter;
  const c10::FunctionSchema* const schema = node->maybeSchema();
  if (!schema) return nullptr;
  Registry& all = registry();
  const std::lock_guard guard(all.lock);
  const auto found = all.converters.find(schema->operator_name());
  return found == all.converters.end() ? nullptr : &found->second.back()->converter;
}

}  // namespace torch_aie::core::conversion::converters
