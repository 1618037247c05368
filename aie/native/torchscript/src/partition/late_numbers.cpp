// partition/late_numbers.cpp: flows sizes that are not fixed through numbers, and through tensors that tracing makes of
// them.
#include "partition/late_numbers.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace torch_aie::core::partition {

namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;
using Kinds = std::set<std::string_view>;

bool is_one_of(const Kinds& kinds, const Node* node) { return kinds.count(node->kind().toQualString()) > 0; }

/// Their results for a tensor were seen for themselves.
bool has_seen_result(const Node* node) {
  static const Kinds kinds{"aten::size", "aten::dim", "aten::numel", "prim::shape", "prim::dtype", "prim::device"};
  return is_one_of(kinds, node) || node->matches("aten::len.Tensor(Tensor t) -> int");
}

/// Parts of a list are seen for themselves, too.
bool selects(const Node* node) {
  static const Kinds kinds{"aten::__getitem__", "aten::slice",         "aten::len",           "prim::ListUnpack",
                           "prim::TupleUnpack", "prim::ListConstruct", "prim::TupleConstruct"};
  return is_one_of(kinds, node);
}

/// Only grow, or only shrink, with one operand: equal at both ends, they are equal between.
bool is_monotone(const Node* node) {
  static const Kinds kinds{"aten::add",
                           "aten::sub",
                           "aten::mul",
                           "aten::div",
                           "aten::floordiv",
                           "aten::neg",
                           "aten::lt",
                           "aten::le",
                           "aten::gt",
                           "aten::ge",
                           "aten::Int",
                           "aten::Float",
                           "aten::IntImplicit",
                           "aten::FloatImplicit",
                           "aten::ScalarImplicit",
                           "prim::NumToTensor",
                           "aten::__not__",
                           "prim::min",
                           "prim::max",
                           "aten::floor_divide"};
  return is_one_of(kinds, node);
}

class LateNumbers {
 public:
  explicit LateNumbers(Observations& observations) : observations_(observations) {}

  void enter(const Block* block) {
    for (const Node* node : block->nodes()) {
      if (node->kind() == c10::prim::Constant) continue;
      if (node->blocks().empty()) {
        judge(node);
      } else {
        enter_blocks(node);
      }
    }
  }

 private:
  bool has(const std::set<const Value*>& set, at::ArrayRef<const Value*> values) const {
    return std::any_of(values.begin(), values.end(), [&](const Value* value) { return set.count(value) > 0; });
  }

  void judge(const Node* node) {
    const auto inputs = node->inputs();
    const bool late = !has_seen_result(node) && has(late_, inputs);
    const bool unsure = late && (has(unsure_, inputs) || !(selects(node) || grows_with_one(node)));
    for (const Value* output : node->outputs()) {
      if (unsure) {
        mark(output);
      } else if (differs(output) || (late && !is_seen_number(output))) {
        late_.insert(output);
      }
    }
  }

  bool grows_with_one(const Node* node) const {
    const auto inputs = node->inputs();
    const auto late = [&](const Value* value) { return late_.count(value) > 0; };
    return is_monotone(node) && std::count_if(inputs.begin(), inputs.end(), late) == 1;
  }

  /// Tensors without dimensions are numbers in a trace; their values were not seen.
  bool is_seen_number(const Value* value) const {
    const auto seen = observations_.find(value);
    return seen != observations_.end() && !seen->second.tensor;
  }

  bool differs(const Value* value) const {
    const auto seen = observations_.find(value);
    return seen != observations_.end() && seen->second.by_size;
  }

  void mark(const Value* value) {
    late_.insert(value);
    unsure_.insert(value);
    const auto seen = observations_.find(value);
    if (seen == observations_.end() || seen->second.tensor) return;
    seen->second.by_size = seen->second.varies = true;
  }

  /// Which branch, and how many rounds, may be decided by sizes.
  void enter_blocks(const Node* node) {
    bool late = has(late_, node->inputs());
    for (int round = 0; round < 2; ++round) {  // what is late at the end of a loop's round is so at the next's begin
      for (const Block* inner : node->blocks()) {
        for (const Value* input : inner->inputs()) {
          if (late) mark(input);
        }
        enter(inner);
        late |= has(late_, inner->outputs());
      }
    }
    for (const Value* output : node->outputs()) {
      if (late) mark(output);
    }
  }

  Observations& observations_;
  std::set<const Value*> late_;    // calculated from sizes that are not fixed
  std::set<const Value*> unsure_;  // of these, not known by their values at both ends
};

}  // namespace

void mark_late_numbers(const torch::jit::Graph& graph, Observations& observations) {
  LateNumbers(observations).enter(graph.block());
}

}  // namespace torch_aie::core::partition
