"""The calls of a program's step: the mode that each one runs in, and the record of it."""

from __future__ import annotations

import random
import re
from functools import wraps
from typing import TYPE_CHECKING, Any, Protocol

import torch

from opwright.compare.calls import map_tensors, tensors_in
from opwright.compare.captured import CapturedStep, use_stream
from opwright.compare.compiled import CompiledStep
from opwright.compare.eager import EagerRecorder
from opwright.compare.modes import EAGER, WHOLE, is_compiled
from opwright.compare.origin import write_place
from opwright.compare.record import Failure, Record, StepCall, write_record
from opwright.compare.tensors import TensorFolder
from opwright.graph_report.compiled.fx import source_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from opwright.compare.modes import RunName
    from opwright.compare.record import OperatorCall

__all__ = ["Session", "StepsDone"]

# TorchAir adds these to the error of a node: its operator, and the lines that it was traced from.
EXECUTED = re.compile(r"While executing .*?\[target=(?:torch\.ops\.)?([\w.]+)\]")
TRACED = "Original traceback:"
RAISED = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception): .*", re.MULTILINE)


class StepsDone(BaseException):
    """Ends a program whose step has been called often enough; no `except Exception` catches it."""


class StepRunner(Protocol):
    """Runs a call of the step in a mode; returns its results, and its operators."""

    def __call__(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, tuple[OperatorCall, ...]]: ...


class EagerStep:
    """Runs a step in eager mode.

    Parameters
    ----------
    stream
        The stream that it runs on, which the current one waits for; None for the current one.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        tensors: TensorFolder,
        stream: Any = None,  # noqa: ANN401 - torch_npu's, which has no types
    ) -> None:
        self.function = function
        self.tensors = tensors
        self.stream = stream

    def __call__(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, tuple[OperatorCall, ...]]:
        """Run the step; return its results, and its operators."""
        with use_stream(self.stream), EagerRecorder(self.tensors) as recorder:
            returned = self.function(*args, **kwargs)
        return returned, tuple(recorder.calls)


class Session:
    """A run of a program, whose step runs in one mode.

    Parameters
    ----------
    folder
        Where the record and the tensors are written.
    wanted
        How many calls of the step are compared.
    """

    def __init__(self, run: RunName, folder: Path, wanted: int) -> None:
        self.run = run
        self.folder = folder
        self.wanted = wanted
        self.tensors = TensorFolder(folder)
        self.calls: list[StepCall] = []
        self.failure: Failure | None = None
        self.function: Callable[..., Any] | None = None
        self.step: Callable[..., Any] | None = None  # as the program calls it
        self.last: tuple[tuple[Any, ...], dict[str, Any]] | None = None
        self.is_inside = False

    def wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the step as the program calls it."""
        if self.function is not None:
            return function  # the first one that is marked is the step
        self.function = function
        runner = self.make_runner(function)
        # Autograd runs the ends of a backward on the stream that they were first met on. If that
        # were another one, the capture would not have them.
        stream = runner.stream if isinstance(runner, CapturedStep) else None
        eager = EagerStep(function, self.tensors, stream)

        @wraps(function)
        def call_step(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the program's own
            if self.is_inside:  # a step that calls itself
                return function(*args, **kwargs)
            self.is_inside = True
            try:
                # A program warms up before it captures: what is made at the first call stays.
                is_warmed_up = bool(self.calls) or is_compiled(self.run)
                return self.call(runner if is_warmed_up else eager, args, kwargs)
            finally:
                self.is_inside = False

        self.step = call_step
        return call_step

    def make_runner(self, function: Callable[..., Any]) -> StepRunner:
        """Return how the step runs, from the second call on at the latest."""
        if is_compiled(self.run):
            return CompiledStep(function, self.run, self.tensors)
        if self.run == EAGER:
            return EagerStep(function, self.tensors)
        return CapturedStep(function, None if self.run == WHOLE else self.tensors)

    def call(self, runner: StepRunner, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ANN401 - the step's results
        """Run a call of the step and note it.

        Raises
        ------
        StepsDone
            It was the last one, or the mode cannot run it.
        """
        number = len(self.calls) + 1
        arguments = self.tensors.write_all(tensors_in("argument", (args, kwargs)))
        seed(number)
        try:
            returned, operators = runner(args, kwargs)
            torch.npu.synchronize()  # type: ignore[attr-defined] # torch_npu adds it
        except Exception as error:  # of the step, a capture or a compiler: it is the result
            if isinstance(runner, EagerStep):
                raise
            self.failure = describe_failure(error, number, runner)
            raise StepsDone from error
        seed(number)  # what the program draws next does not depend on what the step has drawn
        results = [
            *tensors_in("result", returned),
            *tensors_in("argument", (args, kwargs)),
            *find_state(self.function, args),
        ]
        self.calls.append(
            StepCall(
                arguments=arguments, results=self.tensors.write_all(results), operators=operators
            )
        )
        self.last = args, kwargs
        if number == self.wanted:
            raise StepsDone
        return returned

    def repeat(self) -> None:
        """Call the step again with the last arguments, whose elements move; never returns then.

        Raises
        ------
        StepsDone
            The step has been called often enough. Nothing is raised if it was never called.
        """
        while self.step is not None and self.last is not None:
            args, kwargs = map_tensors(move_elements, self.last)
            self.step(*args, **kwargs)

    def write(self) -> None:
        """Write the record."""
        step = "" if self.function is None else write_place(self.function)
        write_record(self.folder, Record(step=step, calls=tuple(self.calls), failure=self.failure))


def seed(number: int) -> None:
    """Seed the generators of torch and of Python, which a step may draw from without a seed."""
    torch.manual_seed(number)
    random.seed(number)


def move_elements(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor with the same numbers in other places; integers may be indices, and stay."""
    if not tensor.is_floating_point() or isinstance(tensor, torch.nn.Parameter):
        return tensor
    return tensor.detach().roll(1).requires_grad_(tensor.requires_grad)


def find_state(
    function: Callable[..., Any] | None, args: tuple[Any, ...]
) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the parameters, buffers and tensors that a function names, or is given in modules."""
    seen: set[int] = set()
    for name, value in (*enumerate_names(function), *(("argument", each) for each in args)):
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, torch.nn.Module):
            yield from ((f"{name}.{path}", each) for path, each in value.named_parameters())
            yield from ((f"{name}.{path}", each) for path, each in value.named_buffers())
        elif name != "argument":
            yield from tensors_in(name, value)


def enumerate_names(function: Callable[..., Any] | None) -> Iterator[tuple[str, object]]:
    """Yield the values that the code of a function names: variables around it, and globals."""
    code = getattr(function, "__code__", None)
    if function is None or code is None:
        return
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        yield name, cell.cell_contents
    for name in code.co_names:
        if name in function.__globals__:
            yield name, function.__globals__[name]


def describe_failure(error: Exception, number: int, runner: StepRunner) -> Failure:
    """Describe why a mode cannot run the step."""
    text = f"{type(error).__name__}: {error}"
    calls = runner.mode.calls if isinstance(runner, CapturedStep) else []
    last = calls[-1] if calls else None
    if last is not None:
        return Failure(
            call=number, text=take_first_line(text), operator=last.operator, source=last.source
        )
    executed, traced = EXECUTED.search(text), text.rpartition(TRACED)[2]
    return Failure(
        call=number,
        text=find_innermost_error(text),
        operator="" if executed is None else executed[1],
        source=source_text(traced) if traced != text else "",
    )


def take_first_line(text: str) -> str:
    """Return the first line of an error; CANN's own follow it."""
    return text.strip().partition("\n")[0]


def find_innermost_error(text: str) -> str:
    """Return the error that compilers have wrapped, as the last traceback in a text names it."""
    found = RAISED.findall(text)
    return str(found[-1]) if found else take_first_line(text)
