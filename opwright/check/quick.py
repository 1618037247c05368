"""The cells of `opwright check --quick`: those that find most, in the fewest milliseconds.

Names alone, which need no torch: the command knows them before the rows are imported. The others
wait for compilers (compiled, export, graph_breaks, symbolic, the fake mode of meta), call for
seconds (leaks, concurrency), start another process (bounds, order), or look at properties that
change less often than a kernel (schema of releases, serialization, cost, converter).
"""

from __future__ import annotations

__all__ = ["QUICK"]

QUICK = (
    *("schema", "registration"),
    *("numerics/eager", "numerics/special-values"),
    *("layouts/transposed", "layouts/sliced", "layouts/offset"),
    "relations",
    *("edges", "devices", "state/eager"),
    *("mutation/npu", "aliasing/npu", "meta/meta", "functionalization/functionalize"),
    *("determinism", "vmap", "autocast/npu", "errors/npu", "gradients/npu"),
)
