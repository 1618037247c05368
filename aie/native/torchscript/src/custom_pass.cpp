// custom_pass.cpp: a match becomes a node with the matched operators inside: TorchScript can run it, an engine's
// converter can have it, and it can become the operators again.
#include "custom_pass.h"

#include <c10/util/Exception.h>
#include <torch/csrc/jit/ir/irparser.h>
#include <torch/csrc/jit/ir/subgraph_matcher.h>
#include <torch/csrc/jit/passes/constant_pooling.h>
#include <torch/csrc/jit/passes/utils/subgraph_utils.h>
#include <torch/csrc/jit/runtime/custom_operator.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "core/custom_pass/custom_pass.h"
#include "log/log.h"
#include "lowering/normalization.h"
#include "util/aliases.h"

namespace torch_aie::core::custom_pass {

namespace {

using conversion::converters::Converter;
using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

const c10::Symbol kMatch = c10::Symbol::fromQualString("torch_aie::subgraph");
const c10::Symbol kRow = c10::Symbol::attr("row");

// Rows are kept when they are replaced: nodes of a compilation in another thread name them.
struct Row {
  std::string text;
  std::shared_ptr<Graph> pattern;  // null if it does not parse
  std::string error;
  std::unique_ptr<Converter> converter;
  bool replaced = false;
  bool reported = false;  // that it does not parse
};

struct Registry {
  std::mutex lock;
  std::vector<Row> rows;
};

Registry& registry() {
  static Registry* const instance = new Registry;  // never freed: libraries may be unloaded after static objects
  return *instance;
}

void parse(Row& row) {
  auto pattern = std::make_shared<Graph>();
  try {
    torch::jit::parseIR(row.text, pattern.get());
    TORCH_CHECK_VALUE(!pattern->outputs().empty(), "it returns nothing");
    for (const Node* node : pattern->nodes()) TORCH_CHECK_VALUE(node->blocks().empty(), "it has control flow");
    lowering::normalize(pattern, {});  // as the graphs that it is searched in
    row.pattern = std::move(pattern);
  } catch (const std::exception& e) {
    row.error = e.what();
  }
}

torch::jit::Operation runner(const Node* node) {
  const auto code = std::make_shared<torch::jit::Code>(node->g(c10::attr::Subgraph), "subgraph");
  return [code](torch::jit::Stack& stack) { torch::jit::InterpreterState(*code).run(stack); };
}

const torch::jit::RegisterOperators g_operator({torch::jit::Operator(kMatch, runner,
                                                                     c10::AliasAnalysisKind::PURE_FUNCTION)});

/// The matched nodes in the order of the graph.
std::vector<Node*> nodes_of(const torch::jit::Match& match) {
  std::vector<Node*> nodes;
  for (const auto& [pattern, node] : match.nodes_map) {
    if (pattern->kind() != c10::prim::Param && pattern->kind() != c10::prim::Return) nodes.push_back(node);
  }
  std::sort(nodes.begin(), nodes.end(), [](const Node* a, const Node* b) { return a->isBefore(b); });
  return nodes;
}

/// Merges the matches of one pattern.
class Merger {
 public:
  Merger(const std::shared_ptr<Graph>& graph, const Graph& pattern, int64_t row, const std::vector<std::string>& kept)
      : graph_(*graph), pattern_(pattern), row_(row), kept_(kept), aliases_(graph) {}

  void merge() {
    for (const torch::jit::Match& match : torch::jit::findPatternMatches(pattern_, graph_)) {
      const std::vector<Node*> nodes = nodes_of(match);
      if (!fits(match, nodes)) continue;
      merged_.insert(nodes.begin(), nodes.end());
      replace(match, nodes);
    }
  }

 private:
  bool fits(const torch::jit::Match& match, const std::vector<Node*>& nodes) const {
    const auto hinders = [&](const Node* node) {
      const bool kept = std::find(kept_.begin(), kept_.end(), node->kind().toQualString()) != kept_.end();
      return kept || merged_.count(node) || touches_written(aliases_, node);
    };
    if (nodes.empty() || std::any_of(nodes.begin(), nodes.end(), hinders)) return false;
    // The results of the pattern besides the last one must not be read before that.
    for (const Value* output : pattern_.outputs()) {
      for (const torch::jit::Use& use : match.values_map.at(output)->uses()) {
        if (use.user->owningBlock() == nodes.back()->owningBlock() && use.user->isBefore(nodes.back()) &&
            std::find(nodes.begin(), nodes.end(), use.user) == nodes.end()) {
          return false;
        }
      }
    }
    return true;
  }

  void replace(const torch::jit::Match& match, const std::vector<Node*>& nodes) {
    auto inside = std::make_shared<Graph>();
    std::unordered_map<const Value*, Value*> copies;
    Node* const node = graph_.create(kMatch, 0);
    for (const Value* input : pattern_.inputs()) {
      Value* const value = match.values_map.at(input);
      node->addInput(value);
      Value* const copy = inside->addInput();
      copy->copyMetadata(value);
      copies.emplace(value, copy);
    }
    for (Node* one : nodes) {
      Node* const copy = inside->insertNode(inside->createClone(one, [&](Value* value) { return copies.at(value); }));
      for (size_t i = 0; i < one->outputs().size(); ++i) copies[one->output(i)] = copy->output(i);
    }
    node->copyMetadata(nodes.back());
    node->i_(kRow, row_);
    node->insertAfter(nodes.back());
    for (const Value* output : pattern_.outputs()) {
      Value* const value = match.values_map.at(output);
      inside->registerOutput(copies.at(value));
      Value* const result = node->addOutput();
      result->setType(value->type());
      value->replaceAllUsesWith(result);
    }
    node->g_(c10::attr::Subgraph, inside);
    for (auto one = nodes.rbegin(); one != nodes.rend(); ++one) (*one)->destroy();
  }

  Graph& graph_;
  const Graph& pattern_;
  const int64_t row_;
  const std::vector<std::string>& kept_;
  const torch::jit::AliasDb aliases_;
  std::set<const Node*> merged_;
};

/// A match must be all that reads its constants: each reader gets its own.
void unpool_constants(Block* block) {
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) unpool_constants(inner);
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      Node* const constant = node->input(i)->node();
      if (constant->kind() != c10::prim::Constant || constant->output()->uses().size() < 2) continue;
      Node* const own = node->owningGraph()->createClone(constant, [](Value* value) { return value; });
      own->insertBefore(node);
      node->replaceInput(i, own->output());
    }
  }
}

bool has_constants(const Row& row) {
  if (row.replaced || !row.pattern) return false;
  const auto nodes = row.pattern->nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](const Node* node) { return node->kind() == c10::prim::Constant; });
}

void expand(Block* block) {
  const std::vector<Node*> nodes(block->nodes().begin(), block->nodes().end());
  for (Node* node : nodes) {
    for (Block* inner : node->blocks()) expand(inner);
    if (node->kind() == kMatch) torch::jit::SubgraphUtils::unmergeSubgraph(node);
  }
}

}  // namespace

RegisterSubgraphConverters& RegisterSubgraphConverters::pattern(const std::string& subgraph, Converter converter) & {
  Row row{subgraph, nullptr, converter ? "" : "its converter is empty", {}};
  if (converter) parse(row);
  row.converter = std::make_unique<Converter>(std::move(converter));
  Registry& all = registry();
  const std::lock_guard guard(all.lock);
  for (Row& earlier : all.rows) {
    if (earlier.text != subgraph || earlier.replaced) continue;
    earlier.replaced = true;
    log(Level::kWarning, "the converter of a subgraph is replaced by a later one:\n", subgraph);
  }
  all.rows.push_back(std::move(row));
  return *this;
}

RegisterSubgraphConverters&& RegisterSubgraphConverters::pattern(const std::string& subgraph, Converter converter) && {
  return std::move(pattern(subgraph, std::move(converter)));
}

void merge(const std::shared_ptr<Graph>& graph, const std::vector<std::string>& kept) {
  Registry& all = registry();
  const std::lock_guard guard(all.lock);
  const bool constants = std::any_of(all.rows.begin(), all.rows.end(), has_constants);
  if (constants) unpool_constants(graph->block());
  for (auto row = static_cast<int64_t>(all.rows.size()) - 1; row >= 0; --row) {
    Row& tried = all.rows[row];
    if (tried.replaced || (!tried.pattern && tried.reported)) continue;
    tried.reported = true;
    TORCH_CHECK_VALUE(tried.pattern, "a pattern of RegisterSubgraphConverters is not valid: ", tried.error, "\n",
                      tried.text, "\nThis is reported once: the next compile goes on without it");
    Merger(graph, *tried.pattern, row, kept).merge();
  }
  if (constants) torch::jit::ConstantPooling(graph);
}

void expand(Graph& graph) { expand(graph.block()); }

const Converter* converter_of(const Node* node) {
  if (node->kind() != kMatch) return nullptr;
  Registry& all = registry();
  const std::lock_guard guard(all.lock);
  return all.rows.at(node->i(kRow)).converter.get();
}

}  // namespace torch_aie::core::custom_pass
