// native/graph_engine/ir_definition.cpp
// The prototype of an operator type, for callers that look this function up by its plain name.
#include <utility>
#include <vector>

#include "ge/ascend_string.h"
#include "ge/types.h"
#include "graph_engine/prototypes.h"
#include "runtime/call.h"

namespace {

using Pairs = std::vector<std::pair<ge::AscendString, ge::AscendString>>;

void append(const opwright::graph_engine::Words& words, Pairs& pairs) {
  for (const auto& [name, word] : words) pairs.emplace_back(name.c_str(), word.c_str());
}

}  // namespace

extern "C" OPWRIGHT_API ge::Status GetRegisteredIrDef(const char* type, Pairs& inputs, Pairs& outputs,
                                                      Pairs& attributes) {
  std::shared_ptr<const opwright::graph_engine::Prototype> found;
  const int status =
      opwright::call("GetRegisteredIrDef", [&] { found = opwright::graph_engine::find_prototype(type); });
  // An unknown type is an answer, no error: callers ask for the types of all their operators.
  if (status != 0 || found == nullptr) return ge::FAILED;
  append(found->inputs, inputs);
  append(found->outputs, outputs);
  append(found->attributes, attributes);
  return ge::SUCCESS;
}
