"""The compilers of TorchAir and npugraph_ex, to which AOTAutograd passes each graph.

Their backends ask `get_compiler` for the function that compiles one graph of ATen operators. It is
published, and takes a graph; no option says which graphs a backend compiles.
"""

from __future__ import annotations

from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch.utils._python_dispatch import TorchDispatchMode

__all__ = ["fake_mode_of", "replace_compiler"]


@contextmanager
def replace_compiler(
    package: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> Iterator[None]:
    """Let backends compile with what `wrap` makes of their compiler.

    Parameters
    ----------
    package
        `torchair` or `npugraph_ex`.
    """
    # torch_npu may import the module of npugraph_ex twice. These are the names of the backend.
    names = import_module(package).get_npu_backend.__globals__
    get_compiler = names["get_compiler"]

    def get_wrapped(*args: object, **kwargs: object) -> Callable[..., Any]:
        return wrap(get_compiler(*args, **kwargs))

    names["get_compiler"] = get_wrapped
    try:
        yield
    finally:
        names["get_compiler"] = get_compiler


def fake_mode_of(tensor: object) -> TorchDispatchMode | None:
    """Return the mode that a tensor without data belongs to; None for any other value."""
    return getattr(tensor, "fake_mode", None)
