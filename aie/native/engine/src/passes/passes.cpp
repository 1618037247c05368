// passes/passes.cpp: the tables of passes.
#include "passes/passes.h"

#include <c10/core/DispatchKeySet.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "passes/graph.h"

namespace AscendIE {

namespace {

using Pass = void (*)(Program&);

constexpr Pass kOptimizations[] = {
    fold_constants, fold_scales, fuse_convolutions, fuse_attention, fuse_linears, merge_linears,
};

constexpr Pass kPreparations[] = {
    cast_constants, prepack_convolutions, prepack_linears, prepack_recurrent,
    mix_precision,  // last: the others have kernels of their own
};

}  // namespace

void optimize(Program& program) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);  // constants keep their types
  for (const Pass pass : kOptimizations) {
    pass(program);
    remove_unused(program);
  }
}

void prepare(Program& program) {
  for (const Pass pass : kPreparations) {
    find_last_uses(program);
    pass(program);
  }
  find_last_uses(program);
}

}  // namespace AscendIE
