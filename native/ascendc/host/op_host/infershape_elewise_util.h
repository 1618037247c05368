// op_host/infershape_elewise_util.h
// The output's shape is the input's.
#pragma once

#include "exe_graph/runtime/infer_shape_context.h"
#include "log/log.h"

namespace Ops::Base {

inline ge::graphStatus InferShape4Elewise(gert::InferShapeContext* context) {
  const gert::Shape* const input = context->GetInputShape(0);
  OP_CHECK_NULL_WITH_CONTEXT(context, input);
  gert::Shape* const output = context->GetOutputShape(0);
  OP_CHECK_NULL_WITH_CONTEXT(context, output);
  *output = *input;
  return ge::GRAPH_SUCCESS;
}

}  // namespace Ops::Base
