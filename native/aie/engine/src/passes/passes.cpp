// passes/passes.cpp: the tables of passes.
#include "passes/passes.h"

#include "passes/graph.h"

namespace AscendIE {

namespace {

constexpr Pass kOptimizations[] = {
    {"fold_constants", fold_constants},
};

constexpr Pass kPreparations[] = {
    {"cast_constants", cast_constants},
};

}  // namespace

void optimize(Program& program) {
  for (const Pass& pass : kOptimizations) {
    pass.run(program);
    remove_unused(program);
  }
}

void prepare(Program& program) {
  for (const Pass& pass : kPreparations) pass.run(program);
  plan(program);
}

}  // namespace AscendIE
