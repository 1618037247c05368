// converters/registry.cpp: the converters of this process, whichever library they come from.
#include "converters/registry.h"

#include <ATen/core/operator_name.h>
#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>
#include <dlfcn.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>

#include "core/conversion/converters/converters.h"
#include "custom_pass.h"
#include "log/log.h"
#include "partition/kept.h"

namespace torch_aie::core::conversion::converters {

namespace {

struct Less {
  bool operator()(const c10::OperatorName& a, const c10::OperatorName& b) const {
    return std::tie(a.name, a.overload_name) < std::tie(b.name, b.overload_name);
  }
};

struct Registered {
  c10::FunctionSchema schema;
  Converter converter;
  std::string library;
  bool compared = false;  // with PyTorch's operator
};

struct Refused {
  std::string name;  // of the operator, with its overload, as far as they can be read
  std::string message;
  bool reported = false;
};

// Converters are kept when they are replaced: a compilation in another thread may be calling one.
struct Registry {
  std::mutex lock;
  std::map<c10::OperatorName, std::vector<std::unique_ptr<Registered>>, Less> converters;
  std::vector<std::unique_ptr<Registered>> unfit;  // for their operators
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
  c10::FunctionSchema parsed = torch::jit::parseSchema(schema);
  const c10::OperatorName name = parsed.operator_name();
  Registry& all = registry();
  const std::lock_guard guard(all.lock);
  std::erase_if(all.refused, [&](const Refused& one) { return one.name == c10::toString(name); });
  auto& registered = all.converters[name];
  if (!registered.empty()) {
    log(Level::kWarning, "the converter of ", name, " is replaced by a later one, of ", library, " (it was of ",
        registered.back()->library, ")");
  }
  registered.push_back(
      std::make_unique<Registered>(Registered{std::move(parsed), std::move(converter), std::move(library)}));
}

std::string name_in(const std::string& schema) {
  const size_t begin = schema.find_first_not_of(" \t\n");
  if (begin == std::string::npos) return "";
  return schema.substr(begin, schema.find_first_of("( \t\n", begin) - begin);
}

void refuse(Registry& all, const std::string& schema, const std::string& library, const std::string& why) {
  all.refused.push_back(
      {name_in(schema), c10::str("the converter of '", schema, "', of ", library, ", is not registered: ", why)});
  log(Level::kError, all.refused.back().message);
}

void register_converter(const std::string& schema, Converter converter, const void* caller) {
  std::string library = keep_library(caller);
  try {
    add(schema, std::move(converter), library);
  } catch (const c10::Error& e) {
    const std::lock_guard guard(registry().lock);
    refuse(registry(), schema, library, e.what_without_backtrace());
  } catch (const std::runtime_error& e) {  // of the parser
    const std::lock_guard guard(registry().lock);
    refuse(registry(), schema, library, e.what());
  }
}

bool alike(const std::vector<c10::Argument>& a, const std::vector<c10::Argument>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const c10::Argument& one, const c10::Argument& other) {
    return *one.type() == *other.type();  // converters go by positions: names may differ
  });
}

/// Compares once PyTorch knows the operator; true if the converter cannot be its.
bool is_unfit(const c10::OperatorName& name, Registered& one, std::string& why) {
  const auto overloads = torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name.name));
  one.compared = !overloads.empty();
  for (const auto& known : overloads) {
    const c10::FunctionSchema& schema = known->schema();
    if (schema.overload_name() != name.overload_name) continue;
    why = c10::str("the operator is '", schema, "'");
    return !alike(one.schema.arguments(), schema.arguments()) || !alike(one.schema.returns(), schema.returns());
  }
  if (one.compared) {
    log(Level::kWarning, "the converter of '", one.schema, "', of ", one.library,
        ", is never called: the operator is '", overloads.front()->schema(), "'",
        overloads.size() > 1 ? ", or another overload" : "");
  }
  return false;
}

/// The last registration of each operator, unless it is this library's own.
void compare_with_operators(Registry& all) {
  static const std::string own = file_of(reinterpret_cast<const void*>(&registry));
  for (auto& [name, registered] : all.converters) {
    if (registered.empty() || registered.back()->compared || registered.back()->library == own) continue;
    Registered& last = *registered.back();
    std::string why;
    if (!is_unfit(name, last, why)) continue;
    refuse(all, c10::str(last.schema), last.library, why);
    all.unfit.push_back(std::move(registered.back()));
    registered.pop_back();
  }
}

using torchscript::CompileOptions;

bool has_operator(const torch::jit::Block* block, const std::string& name, const CompileOptions& options) {
  const auto nodes = block->nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](const torch::jit::Node* node) {
    const auto blocks = node->blocks();
    return (node->kind().toQualString() == name && !partition::is_kept(node, options)) ||
           std::any_of(blocks.begin(), blocks.end(),
                       [&](const auto* inner) { return has_operator(inner, name, options); });
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

void expect_registered(const torch::jit::Graph& graph, const CompileOptions& options) {
  std::string text;
  Registry& all = registry();
  const std::lock_guard guard(all.lock);
  compare_with_operators(all);
  for (Refused& one : all.refused) {
    const std::string kind = one.name.substr(0, one.name.find('.'));
    if (!one.reported || has_operator(graph.block(), kind, options)) text += "\n  " + one.message;
    one.reported = true;
  }
  TORCH_CHECK_VALUE(text.empty(), "converters are missing:", text,
                    "\nCorrect these registrations; a later one of the same operator takes their place. This is "
                    "reported once: compile again, and only graphs with these operators are refused, unless "
                    "torch_executed_ops names them");
}

const Converter* FindConverter(const torch::jit::Node* node) {
  if (const Converter* const converter = custom_pass::converter_of(node)) return converter;
  const c10::FunctionSchema* const schema = node->maybeSchema();
  if (!schema) return nullptr;
  Registry& all = registry();
  const std::lock_guard guard(all.lock);
  const auto found = all.converters.find(schema->operator_name());
  return found == all.converters.end() || found->second.empty() ? nullptr : &found->second.back()->converter;
}

}  // namespace torch_aie::core::conversion::converters
