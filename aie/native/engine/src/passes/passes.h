// passes/passes.h: what is done to a program before it is run. A new pass is a row in passes.cpp.
//
// Optimizations run when a model is built; what they make is serialized, so they use operations of the tables and
// constants only. Preparations run when a model is loaded: they choose kernels (Step::kernel) for this machine.
#pragma once

#include "program.h"

namespace AscendIE {

/// All optimizations in their order, then removal of what no output needs.
void optimize(Program& program);
/// All preparations in their order; `Step::last_used` is known to them. The program must be valid (see `Executor`).
void prepare(Program& program);

// Optimizations, each in the file of its name.
void fold_constants(Program& program);
void fold_scales(Program& program);
void fuse_convolutions(Program& program);
void fuse_attention(Program& program);
void fuse_linears(Program& program);
void merge_linears(Program& program);

// Preparations.
void cast_constants(Program& program);
void mix_precision(Program& program);
void prepack_convolutions(Program& program);
void prepack_linears(Program& program);
void prepack_recurrent(Program& program);

}  // namespace AscendIE
