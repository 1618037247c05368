// passes/onednn.h: the operators of oneDNN that PyTorch has for its own compiler, and when a model is given to them.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include "program.h"

namespace AscendIE {

/// The operator `mkldnn::name`; throws c10::Error if this PyTorch has none of that name.
template <class Function>
c10::TypedOperatorHandle<Function> onednn_operator(const char* name, const char* overload = "") {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload).typed<Function>();
}

/// Whether oneDNN is there and not switched off, and the model computes in FP32.
bool can_use_onednn(const Program& program);

}  // namespace AscendIE
