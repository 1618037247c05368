// converters/shared.cpp
#include "converters/shared.h"

#include <algorithm>

namespace torch_aie::core::conversion::converters {

std::vector<int64_t> for_each_dimension(const Var& list, size_t rank) {
  std::vector<int64_t> values = list.unwrapToIntVector();
  if (values.size() == 1) values.resize(rank, values[0]);
  return values;
}

std::string with_rank(std::string schema, size_t rank) {
  std::replace(schema.begin(), schema.end(), '#', static_cast<char>('0' + rank));
  return schema;
}

bool finish_all(ConversionCtx* ctx, const torch::jit::Node* node, AscendIE::BaseLayer* layer) {
  layer->SetName(util::nodeInfo(node).c_str());
  for (size_t i = 0; i < node->outputs().size(); ++i) {
    AscendIE::Tensor* const output = layer->GetOutput(static_cast<uint32_t>(i));
    if (output) ctx->AssociateValueAndVar(node->output(i), Var(output));
  }
  return true;
}

}  // namespace torch_aie::core::conversion::converters
