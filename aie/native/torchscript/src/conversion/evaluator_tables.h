// conversion/evaluator_tables.h: the tables of evaluators, one for each evaluators_*.cpp. A new evaluator is a row in
// one of them.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <span>
#include <vector>

#include "core/conversion/conversionctx/ConversionCtx.h"

namespace torch_aie::core::conversion {

using Vars = std::vector<Var>;

/// One node with the values of its inputs.
struct Evaluation {
  ConversionCtx* ctx;
  const torch::jit::Node* node;
  const Vars& args;

  const Var& operator[](size_t i) const { return args.at(i); }
};

/// One value for each output of the node.
using Evaluator = Vars (*)(const Evaluation&);

struct EvaluatorRow {
  const char* name;  // of the operator, with its overload; all overloads if it is written without
  Evaluator evaluate;
};

using EvaluatorTable = std::span<const EvaluatorRow>;

EvaluatorTable containers();
EvaluatorTable creations();
EvaluatorTable properties();

/// True for a tensor of the network, and for a list with one.
bool has_tensor(const Var& var);
bool has_tensor(const Vars& vars);

/// The JIT's results for constants. Tensors of the network take part with their shape and type only, as tensors
/// without values: for operators that look at nothing else.
Vars run(const Evaluation& evaluation);

}  // namespace torch_aie::core::conversion
