// lowering/lists.cpp
#include "lowering/lists.h"

namespace torch_aie::core::lowering {

namespace {

using torch::jit::Node;

const c10::Symbol kAppend = c10::Symbol::fromQualString("aten::append");
const c10::Symbol kExtend = c10::Symbol::fromQualString("aten::extend");

void append_each(Node* extend) {
  Node* const elements = extend->input(1)->node();
  const torch::jit::WithInsertPoint here(extend);
  for (torch::jit::Value* element : elements->inputs()) {
    extend->owningGraph()->insert(kAppend, {extend->input(0), element});
  }
}

}  // namespace

void append_extensions(torch::jit::Block* block) {
  for (auto node = block->nodes().begin(); node != block->nodes().end();) {
    Node* const here = *node++;
    for (torch::jit::Block* inner : here->blocks()) append_extensions(inner);
    const bool known = here->kind() == kExtend && here->input(1)->node()->kind() == c10::prim::ListConstruct &&
                       here->input(1)->uses().size() == 1;
    if (!known) continue;
    append_each(here);
    here->destroy();
  }
}

}  // namespace torch_aie::core::lowering
