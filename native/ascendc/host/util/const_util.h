// util/const_util.h
// Numbers of inputs whose values tiling and inference know.
#pragma once

#include "exe_graph/runtime/infer_shape_context.h"
#include "exe_graph/runtime/tiling_context.h"
#include "log/log.h"

namespace Ops::Base {
namespace detail {

// Calls `take` with each number of an integer tensor, at most `most`; false for none or another dtype.
template <class Context, class Take>
bool read_integers(const char* what, const Context* context, int64_t index, int64_t most, const Take& take) {
  const gert::Tensor* const tensor = context == nullptr ? nullptr : context->GetInputTensor(index);
  if (tensor == nullptr) {
    OP_LOGE(what, "input %ld has no tensor", static_cast<long>(index));
    return false;
  }
  const auto read = [&](const auto* values) {
    if (values == nullptr) {
      OP_LOGE(what, "input %ld has no values", static_cast<long>(index));
      return false;
    }
    const int64_t count = tensor->GetShapeSize();
    for (int64_t i = 0; i < count && i < most; ++i) take(static_cast<int64_t>(values[i]));
    return count > 0 || most != 1;
  };
  switch (tensor->GetDataType()) {
    case ge::DT_INT32:
      return read(tensor->template GetData<int32_t>());
    case ge::DT_INT64:
      return read(tensor->template GetData<int64_t>());
    case ge::DT_UINT32:
      return read(tensor->template GetData<uint32_t>());
    case ge::DT_UINT64:
      return read(tensor->template GetData<uint64_t>());
    default:
      OP_LOGW(what, "input %ld is none of int32, int64, uint32, uint64", static_cast<long>(index));
      return false;
  }
}

}  // namespace detail

template <class Context, class T>
bool GetConstInt(const Context* context, int64_t inputIdx, T& value) {
  return detail::read_integers("GetConstInt", context, inputIdx, 1, [&](int64_t v) { value = static_cast<T>(v); });
}
template <class Context>
bool GetConstIntToShape(const Context* context, int64_t inputIdx, gert::Shape& shape) {
  shape.SetDimNum(0);
  return detail::read_integers("GetConstIntToShape", context, inputIdx, INT64_MAX,
                               [&](int64_t v) { shape.AppendDim(v); });
}

}  // namespace Ops::Base
