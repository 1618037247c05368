// op_host/infershape_broadcast_util.h
// The output's shape is that to which the inputs broadcast.
#pragma once

#include <algorithm>
#include <vector>

#include "exe_graph/runtime/infer_shape_context.h"
#include "log/log.h"
#include "log/text.h"
#include "util/shape_util.h"

namespace Ops::Base {

// False if the shapes do not broadcast.
inline bool BroadcastShape(const gert::Shape* in1Shape, const gert::Shape* in2Shape, gert::Shape* outShape) {
  if (IsUnknownRank(*in1Shape) || IsUnknownRank(*in2Shape)) {
    SetUnknownRank(*outShape);
    return true;
  }
  const size_t rank = std::max(in1Shape->GetDimNum(), in2Shape->GetDimNum());
  const auto size_at = [rank](const gert::Shape& shape, size_t axis) {
    const size_t missing = rank - shape.GetDimNum();
    return axis < missing ? int64_t{1} : shape.GetDim(axis - missing);
  };
  gert::Shape result;
  for (size_t axis = 0; axis < rank; ++axis) {
    const int64_t a = size_at(*in1Shape, axis);
    const int64_t b = size_at(*in2Shape, axis);
    if (a != b && a != 1 && b != 1 && a != kUnknownDimension && b != kUnknownDimension) return false;
    // A known size other than 1 decides; of an unknown one and a 1 nothing follows.
    result.AppendDim(a == b || b == 1 ? a : a == 1 ? b : a == kUnknownDimension ? b : a);
  }
  *outShape = result;
  return true;
}
inline bool BroadcastShape(const std::vector<const gert::Shape*>& inShapes, gert::Shape* outShape) {
  if (inShapes.empty()) return false;
  gert::Shape result = *inShapes.front();
  for (const gert::Shape* const each : inShapes) {
    const gert::Shape before = result;
    if (!BroadcastShape(&before, each, &result)) return false;
  }
  *outShape = result;
  return true;
}
inline ge::graphStatus InferShape4Broadcast(gert::InferShapeContext* context, size_t inputNum) {
  std::vector<const gert::Shape*> inputs;
  for (size_t i = 0; i < inputNum; ++i) {
    inputs.push_back(context->GetInputShape(i));
    OP_CHECK_NULL_WITH_CONTEXT(context, inputs.back());
  }
  gert::Shape* const output = context->GetOutputShape(0);
  OP_CHECK_NULL_WITH_CONTEXT(context, output);
  if (BroadcastShape(inputs, output)) return ge::GRAPH_SUCCESS;
  std::string shapes;
  for (const gert::Shape* const each : inputs) shapes += (shapes.empty() ? "" : ", ") + ToString(*each);
  OP_LOGE(context, "the shapes %s do not broadcast", shapes.c_str());
  return ge::GRAPH_FAILED;
}
inline ge::graphStatus InferShape4Broadcast(gert::InferShapeContext* context) {
  return InferShape4Broadcast(context, 2);
}

}  // namespace Ops::Base
