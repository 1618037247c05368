// passes/cast_constants.cpp: constants in the type that the model computes in.
#include "passes/passes.h"

namespace AscendIE {

void cast_constants(Program& program) {
  for (auto& [value, tensor] : program.constants) {
    if (tensor.is_floating_point()) tensor = tensor.to(program.compute());
  }
}

}  // namespace AscendIE
