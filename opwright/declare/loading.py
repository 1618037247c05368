"""The way from an operator set to operators in this process, also while torch.compile traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opwright.declare.operator_set import OperatorSet
    from opwright.live.loading import Loaded

__all__ = ["load_again", "load_in_trace"]


def load_again(ops: OperatorSet) -> Loaded:
    """Load a set as it is declared by now; torch.compile does not trace this."""
    from opwright.live.loading import load  # noqa: PLC0415 - imports torch; declaring does not

    changes = ops.changes
    ops.loaded = loaded = load(ops.freeze())
    ops.loaded_changes = changes
    return loaded


def load_in_trace(ops: OperatorSet) -> None:
    """Load a set unless its namespace is loaded; torch.compile calls this while it traces.

    It cannot load again there: it would forget what it has compiled, while it compiles.
    """
    if ops.loaded is None or ops.loaded.is_removed:
        from opwright.live.loading import is_loaded  # noqa: PLC0415 - imports torch

        if not is_loaded(ops.namespace):
            load_again(ops)


# What torch.compiler.disable and assume_constant_result set (torch 2.13), without importing torch.
vars(load_again).update(
    _torchdynamo_disable=True,
    _torchdynamo_disable_msg="an operator set that changed cannot be loaded while torch.compile "
    "traces: call its load() before",
)
vars(load_in_trace).update(_dynamo_marked_constant=True)
