"""Variables: tensors that a session keeps between runs, by name."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import torch

from opwright.graph_engine.errors import GraphFormError

if TYPE_CHECKING:
    from opwright.graph_engine.graph.model import Node

__all__ = ["Variables", "find_variables", "remove_session"]


class Variables:
    """The variables of a session. All graphs of the session share one of the same name."""

    def __init__(self) -> None:
        self.tensors: dict[str, torch.Tensor] = {}
        self.lock = threading.Lock()

    def value(self, node: Node) -> torch.Tensor:
        """Return a variable's tensor; the first graph that has it says what is in it.

        It is the value that the node carries, or zeros of the shape that its output has.

        Raises
        ------
        GraphFormError
            OPW-N001: no shape is known, or the session has it with another one.
        """
        spec = node.outputs[0]
        with self.lock:
            found = self.tensors.get(node.name)
            if found is None:
                found = self.tensors[node.name] = make_initial(node)
        if spec.dtype not in (None, found.dtype) or spec.shape not in (None, tuple(found.shape)):
            raise GraphFormError(
                where=str(node),
                got=f"{spec.dtype} of shape {spec.shape}",
                allowed=[f"{found.dtype} of shape {tuple(found.shape)}, as the session has it"],
            )
        return found


def make_initial(node: Node) -> torch.Tensor:
    """Return what is in a variable at first."""
    value = node.attributes.get("value")
    if isinstance(value, torch.Tensor):
        return value.clone()
    spec = node.outputs[0]
    if spec.dtype is None or spec.shape is None or min(spec.shape, default=0) < 0:
        raise GraphFormError(where=str(node), got="neither a value nor a known shape")
    return torch.zeros(spec.shape, dtype=spec.dtype)


sessions: dict[int, Variables] = {}


def find_variables(number: int) -> Variables:
    """Return the variables of a session."""
    return sessions.setdefault(number, Variables())


def remove_session(number: int) -> None:
    """Forget the variables of a session."""
    sessions.pop(number, None)
