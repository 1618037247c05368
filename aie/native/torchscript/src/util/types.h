// util/types.h: what the type of a value says.
#pragma once

#include <ATen/core/jit_type.h>

namespace torch_aie::core {

/// Whether it is a tensor, or a list, tuple, ... of such.
bool holds_tensor(const c10::TypePtr& type);

}  // namespace torch_aie::core
