// passes/onednn.cpp
#include "passes/onednn.h"

#include <ATen/Context.h>

namespace AscendIE {

bool can_use_onednn(const Program& program) {
  return at::hasMKLDNN() && at::globalContext().userEnabledMkldnn() && program.compute() == at::kFloat;
}

}  // namespace AscendIE
