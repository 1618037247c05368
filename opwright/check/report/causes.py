"""Kinds of faults that usually follow from others: one mistake shows in several rows.

A fault of a kind that is named here as a consequence is reported beneath its cause, where the same
operator has both. Nothing is left out: if it is a fault of its own, it is reported as one as soon
as its supposed cause is mended.
"""

from __future__ import annotations

__all__ = ["CAUSES"]

DIFFERENT_IN_GRAPHS = ("functionalization/differs", "compiled/differs", "export/differs")
REFUSED_BY_GRAPHS = ("functionalization/refused", "compiled/refused", "export/refused")

RELATIONS = (
    "relations/batch-order",
    "relations/batch-split",
    "relations/padding-matters",
    "relations/not-linear",
)

# Cause -> what follows from it, each as row/kind. An earlier cause comes first where several fit.
CAUSES: dict[str, tuple[str, ...]] = {
    "registration/no-functionalize": REFUSED_BY_GRAPHS,
    "registration/no-device-kernel": ("numerics/raises", "compiled/raises", "devices/raises"),
    "mutation/undeclared-write": (
        "layouts/raises-for-view",
        "functionalization/write-lost",
        "compiled/write-lost",
        *DIFFERENT_IN_GRAPHS,
        "gradients/no-refusal",
        "gradients/leaf-written",
    ),
    "mutation/version-not-bumped": ("gradients/wrong-gradient", "gradients/stale-saved"),
    "aliasing/undeclared-alias": (
        "meta/wrong-aliasing",
        "functionalization/shared-memory",
        "compiled/raises",
        *DIFFERENT_IN_GRAPHS,
        "gradients/no-refusal",
    ),
    "functionalization/shared-memory": ("compiled/raises", *DIFFERENT_IN_GRAPHS),
    "bounds/unwritten-result": (
        "numerics/wrong-values",
        "layouts/strides-ignored",
        "edges/wrong-at-edge",
        "devices/differs",
        *DIFFERENT_IN_GRAPHS,
        *RELATIONS,
        "determinism/differs",
        "determinism/state",
        "vmap/wrong-values",
        "autocast/wrong-values",
        "serialization/program-differs",
        "errors/state-after-error",
        "gradients/wrong-gradient",
    ),
    "numerics/raises": (
        "edges/raises-at-edge",
        "devices/raises",
        "compiled/raises",
        "gradients/no-refusal",
        "gradients/backward-raises",
    ),
    "numerics/wrong-values": (
        "numerics/wrong-special-values",
        "edges/wrong-at-edge",
        *RELATIONS,
    ),
    "layouts/strides-ignored": ("vmap/wrong-values",),
    "relations/batch-order": ("relations/batch-split",),
    "meta/wrong-dtype": ("autocast/fake-differs", "compiled/differs"),
    "meta/wrong-shape": ("autocast/fake-differs", "compiled/raises", "export/raises"),
    "meta/wrong-strides": ("autocast/fake-differs", "compiled/differs"),
    "symbolic/specialised": ("export/specialised", "graph_breaks/recompiles"),
    "functionalization/differs": ("compiled/differs", "export/differs"),
    "concurrency/wrong-stream": ("order/unordered",),
    "order/unordered": ("concurrency/different-results", "determinism/differs"),
    "state/changed": ("compiled/raises", "concurrency/different-results"),
}
