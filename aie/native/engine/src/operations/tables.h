// operations/tables.h: the tables of layers, one for each file here. A new layer is a row in one of them.
#pragma once

#include <c10/util/Exception.h>

#include <span>

#include "operation.h"

namespace AscendIE {

using Table = std::span<const Operation>;

Table activations();
Table arithmetic();
Table attention();
Table convolutions();
Table creation();
Table indexing();
Table moves();
Table normalization();
Table pooling();
Table products();
Table quantization();
Table recurrent();
Table reductions();
Table resizing();
Table scaling();
Table selections();
Table shapes();
Table sizes();
Table statistics();
Table views();

/// Functions in the order of an enum's values.
template <class Kind, class Function, size_t N>
Function selected(const Call& call, const char* what, Function (&functions)[N]) {
  const auto kind = static_cast<size_t>(call.integer("kind"));
  TORCH_CHECK_VALUE(kind < N && functions[kind], what, " ", kind, " is none of 0 to ", N - 1);
  return functions[kind];
}

}  // namespace AscendIE
