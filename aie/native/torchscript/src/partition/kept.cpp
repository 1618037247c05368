// partition/kept.cpp: compares names of options with those of nodes.
#include "partition/kept.h"

#include <c10/util/StringUtil.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "log/log.h"
#include "lowering/modules.h"

namespace torch_aie::core::partition {

namespace {

using torch::jit::Block;
using torch::jit::Node;
using Names = std::vector<std::string>;

/// Lowering gives operators in place the names of the others.
bool names_operator(const std::string& name, const Node* node) {
  const std::string kind = node->kind().toQualString();
  if (name == kind || name == kind + "_") return true;
  const c10::FunctionSchema* const schema = node->maybeSchema();
  return schema && name == c10::str(kind, ".", schema->overload_name());
}

bool names_module(const std::string& name, const Node* node) {
  const Names classes = lowering::classes_of(node);
  return std::find(classes.begin(), classes.end(), lowering::class_name(name)) != classes.end();
}

void nodes_of(const Block* block, std::vector<const Node*>& nodes) {
  for (const Node* node : block->nodes()) {
    if (node->kind() != c10::prim::Constant) nodes.push_back(node);
    for (const Block* inner : node->blocks()) nodes_of(inner, nodes);
  }
}

void warn(const char* option, const Names& names, const std::vector<const Node*>& nodes,
          bool (*has)(const std::string&, const Node*), const std::set<std::string>& there) {
  for (const std::string& name : names) {
    if (std::any_of(nodes.begin(), nodes.end(), [&](const Node* node) { return has(name, node); })) continue;
    log(Level::kWarning, option, ": nothing in the graph is '", name,
        "', there are: ", there.empty() ? "none" : c10::Join(", ", Names(there.begin(), there.end())));
  }
}

}  // namespace

bool is_kept(const Node* node, const torchscript::CompileOptions& options) {
  const Names& names = options.torch_executed_ops;
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return names_operator(name, node); });
}

bool is_in_kept_module(const Node* node, const torchscript::CompileOptions& options) {
  const Names& names = options.torch_executed_modules;
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return names_module(name, node); });
}

void warn_of_unknown_names(const torch::jit::Graph& graph, const torchscript::CompileOptions& options) {
  if (!enabled(Level::kWarning)) return;
  std::vector<const Node*> nodes;
  nodes_of(graph.block(), nodes);
  std::set<std::string> operators;
  std::set<std::string> modules;
  for (const Node* node : nodes) {
    operators.insert(node->kind().toQualString());
    for (const std::string& name : lowering::classes_of(node)) modules.insert(name);
  }
  warn("torch_executed_ops", options.torch_executed_ops, nodes, names_operator, operators);
  warn("torch_executed_modules", options.torch_executed_modules, nodes, names_module, modules);
}

}  // namespace torch_aie::core::partition
