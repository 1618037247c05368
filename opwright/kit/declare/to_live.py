"""The way from an operator set to operators in this process, also while torch.compile traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from opwright.kit.declare.operator_set import OperatorSet
    from opwright.kit.live.loading import Loaded

__all__ = ["load_again", "loader_in_trace", "register_kernels"]


def load_again(ops: OperatorSet) -> Loaded:
    """Load a set as it is declared at this moment; torch.compile does not trace this."""
    from opwright.kit.live.loading import load  # noqa: PLC0415 - imports torch; declaring does not

    changes = ops.changes
    ops.loaded = loaded = load(ops.freeze())
    ops.loaded_changes = changes
    return loaded


def register_kernels(ops: OperatorSet, has_function: Callable[[str], bool]) -> None:
    """Let the references of a set stand in for the kernels that nothing else provides."""
    from opwright.kit.derive import derive  # noqa: PLC0415 - derivation is above declarations
    from opwright.kit.live.user_kernels import register_references  # noqa: PLC0415 - imports torch

    for _ in register_references(derive(ops.freeze()), has_function):
        pass  # they stay registered, as those of any kernel file


def loader_in_trace(ops: OperatorSet) -> Callable[[], None]:
    """Return a function that loads a set; torch.compile calls it while it traces.

    It has no parameter, because torch.compile of some versions takes only constants for one.
    """

    def load_in_trace() -> None:
        """Load the set unless its namespace is loaded.

        It cannot load again there: it would forget what it has compiled, while it compiles.
        """
        if ops.loaded is None or ops.loaded.is_removed:
            from opwright.kit.live.loading import is_loaded  # noqa: PLC0415 - imports torch

            if not is_loaded(ops.namespace):
                load_again(ops)

    # As torch.compiler.assume_constant_result does, without importing torch.
    vars(load_in_trace).update(_dynamo_marked_constant=True)
    return load_in_trace


# As torch.compiler.disable does, without importing torch.
vars(load_again).update(
    _torchdynamo_disable=True,
    _torchdynamo_disable_msg="an operator set that changed cannot be loaded while torch.compile "
    "traces: call its load() before",
)
