"""The step as a captured graph: each replay gets the arguments of its call.

A graph has its operators' tensors copied where they are computed, so that a replay shows what each
operator was given and what it answered. Copies keep memory from being used again: the graph that a
user would capture has none.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from opwright.compare.calls import (
    copy_tensor,
    has_defined_results,
    is_random_operator,
    map_tensors,
    name_operator,
    name_results,
    name_tensors,
    name_written,
    tensors_in,
    write_call,
)
from opwright.compare.origin import find_source
from opwright.compare.record import OperatorCall
from opwright.internals.modes import TorchDispatchMode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from opwright.compare.tensors import TensorFolder

__all__ = ["CapturedStep", "CapturingMode", "use_stream"]

Named = list[tuple[str, torch.Tensor]]


@dataclass(slots=True, kw_only=True)
class CapturedCall:
    """An operator in a graph, with the copies that a replay fills."""

    operator: str
    source: str
    text: str
    is_random: bool
    inputs: Named = field(default_factory=list)
    outputs: Named = field(default_factory=list)


class CapturingMode(TorchDispatchMode):  # type: ignore[no-untyped-call] # torch's has no types
    """Notes each operator that is captured while the mode is on.

    Parameters
    ----------
    copies
        Whether the graph copies each operator's tensors.
    """

    def __init__(self, *, copies: bool) -> None:
        super().__init__()  # type: ignore[no-untyped-call] # torch's has no types
        self.copies = copies
        self.calls: list[CapturedCall] = []

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - whatever the operator returns
        """Capture an operator between copies of its tensors."""
        del types
        given = kwargs or {}
        call = CapturedCall(
            operator=name_operator(func),
            source=find_source(),
            text=write_call(func, args, given),
            is_random=is_random_operator(func),
        )
        self.calls.append(call)
        if self.copies:
            call.inputs = copy_all(name_tensors(func, args, given))
        returned = func(*args, **given)
        if self.copies and has_defined_results(func):
            call.outputs = copy_all([*name_results(returned), *name_written(func, args, given)])
        return returned


def copy_all(named: Named) -> Named:
    """Copy tensors."""
    return [(name, copy_tensor(tensor)) for name, tensor in named]


@dataclass(slots=True, kw_only=True)
class Capture:
    """A graph for arguments of some shapes and dtypes, with its arguments and results."""

    graph: Any
    arguments: list[torch.Tensor]
    returned: Any
    calls: list[CapturedCall]


class CapturedStep:
    """Replays a step; captures it for each combination of shapes that it is called with.

    Parameters
    ----------
    tensors
        Where operators' tensors are written; None captures the graph that a user would.
    """

    def __init__(self, function: Callable[..., Any], tensors: TensorFolder | None) -> None:
        self.function = function
        self.tensors = tensors
        self.stream = torch.npu.Stream()  # type: ignore[attr-defined] # torch_npu adds it
        self.captures: dict[tuple[object, ...], Capture] = {}
        self.mode = CapturingMode(copies=tensors is not None)

    def __call__(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, tuple[OperatorCall, ...]]:
        """Replay the step; return its results, and the operators of the graph."""
        given = [tensor for _, tensor in tensors_in("", (args, kwargs))]
        key = tuple((each.shape, each.dtype, each.device) for each in given)
        capture = self.captures.get(key)
        if capture is None:
            capture = self.captures[key] = self.capture(args, kwargs)
        copy_into(capture.arguments, given)
        capture.graph.replay()
        returned = map_tensors(torch.clone, capture.returned)
        copy_into(given, capture.arguments)  # whatever the step has written into its arguments
        return returned, self.write(capture)

    def capture(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Capture:
        """Capture the step with copies of its arguments, whose memory each replay reads."""
        npu = torch.npu  # type: ignore[attr-defined] # torch_npu adds it
        own_args, own_kwargs = map_tensors(copy_argument, (args, kwargs))
        self.mode = CapturingMode(copies=self.tensors is not None)
        graph = npu.NPUGraph()
        npu.synchronize()
        with npu.graph(graph, stream=self.stream), self.mode:
            returned = self.function(*own_args, **own_kwargs)
        return Capture(
            graph=graph,
            arguments=[tensor for _, tensor in tensors_in("", (own_args, own_kwargs))],
            returned=returned,
            calls=self.mode.calls,
        )

    def write(self, capture: Capture) -> tuple[OperatorCall, ...]:
        """Write the operators' tensors as the last replay has left them."""
        tensors = self.tensors
        if tensors is None:
            return ()
        return tuple(
            OperatorCall(
                operator=each.operator,
                source=each.source,
                text=each.text,
                inputs=tensors.write_all(each.inputs),
                outputs=tensors.write_all(each.outputs),
                is_random=each.is_random,
            )
            for each in capture.calls
        )


@contextmanager
def use_stream(stream: Any) -> Iterator[None]:  # noqa: ANN401 - torch_npu's, which has no types
    """Run a block on a stream, behind the current one, which waits for it; None changes nothing."""
    if stream is None:
        yield
        return
    npu = torch.npu  # type: ignore[attr-defined] # torch_npu adds it
    current = npu.current_stream()
    stream.wait_stream(current)
    with npu.stream(stream):
        yield
    current.wait_stream(stream)


def copy_argument(tensor: torch.Tensor) -> torch.Tensor:
    """Copy a tensor; the copy asks for a gradient where the tensor does."""
    return copy_tensor(tensor).requires_grad_(tensor.requires_grad)


@torch.no_grad()
def copy_into(targets: Sequence[torch.Tensor], sources: Sequence[torch.Tensor]) -> None:
    """Copy tensors that differ from those that they are copied into."""
    for target, source in zip(targets, sources, strict=True):
        if not torch.equal(target, source):
            target.copy_(source)
