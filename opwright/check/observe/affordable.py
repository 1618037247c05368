"""Whether a reference can be called with large ints: they may be sizes, or counts of a loop.

The reference is called with tensors without data, where nothing is allocated; what makes large
tensors, reads data, runs through many lines or takes much memory is not tried.
"""

from __future__ import annotations

import resource
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opwright.check.observe.watch import silence_torch
from opwright.check.subject import flat
from opwright.internals.fake_tensors import FakeTensorMode
from opwright.internals.modes import TorchDispatchMode
from opwright.kit.live.arguments import Binder, map_tensors

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from opwright.check.subject import Subject
    from opwright.kit.live.arguments import Values

__all__ = ["is_affordable"]

ELEMENTS = 1 << 20  # of a tensor
CALLS = 200  # of torch's operators
EVENTS = 20_000  # of the interpreter, torch's own Python left out
MEMORY = 1 << 30  # bytes that lists, ranges and arrays of numpy may take


class TooMuchError(Exception):
    """A call would take too much."""


class Counting(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's own
    """Counts calls of operators and looks at the sizes of what they return."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch's own
        self.calls = 0

    def __torch_dispatch__(
        self,
        func: Any,  # noqa: ANN401 - torch.ops has no types
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - what the operator returns
        """Run an operator and count."""
        del types
        trace = sys.gettrace()
        sys.settrace(None)  # FakeTensorMode is much Python, of other modules than torch's as well
        try:
            returned = func(*args, **(kwargs or {}))
        finally:
            sys.settrace(trace)
        self.calls += 1
        results = {"result": [returned] if not isinstance(returned, list | tuple) else returned}
        if self.calls > CALLS or any(t.numel() > ELEMENTS for t in flat(results).values()):
            raise TooMuchError
        return returned


def is_affordable(subject: Subject, values: Values) -> bool:
    """Return whether the reference makes no large tensors and no long loops of these arguments."""
    assert subject.reference is not None
    mode = FakeTensorMode()
    fake = {
        name: map_tensors(lambda each: mode.from_tensor(each, static_shapes=True), value)
        for name, value in values.items()
    }
    try:
        with silence_torch(), mode, Counting(), limit_lines(), limit_memory():
            Binder.of(subject.schema).call(subject.reference, fake)
    except Exception:  # noqa: BLE001 - it does too much, reads data, or refuses the arguments
        return False
    return True


@contextmanager
def limit_lines() -> Iterator[None]:
    """Raise when a piece of Python runs through too many lines."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:  # noqa: ANN401 - as sys.settrace has it
        nonlocal count
        del event, argument
        if frame.f_globals.get("__name__", "").partition(".")[0] == "torch":
            return None  # CALLS is about these
        count += 1
        if count > EVENTS:
            raise TooMuchError
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


@contextmanager
def limit_memory() -> Iterator[None]:
    """Let the process take little more memory than it has: what wants more raises MemoryError."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    before, most = resource.getrlimit(resource.RLIMIT_AS)
    limit = pages * resource.getpagesize() + MEMORY
    others = [each for each in (before, most) if each != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min([limit, *others]), most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (before, most))
