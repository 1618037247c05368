"""libge_runner calls in here: the other half of native/graph_engine/engine.h.

It imports this module by name and calls `connect` when the engine is initialized. The functions run
on threads of the caller; ctypes takes the GIL.
"""

from __future__ import annotations

import ctypes
import itertools
import re
import threading
from typing import TYPE_CHECKING, ClassVar

import torch

from opwright.errors import OpwrightError
from opwright.graph_engine import kernels
from opwright.graph_engine.graph.description import DESCRIPTIONS
from opwright.graph_engine.graph.read import read_model
from opwright.graph_engine.graph.source_lines import name_lines
from opwright.graph_engine.lowering.lower import outputs_of
from opwright.graph_engine.lowering.variables import find_variables, remove_session
from opwright.graph_engine.options.cores import report_excess
from opwright.graph_engine.options.inherited import select_available
from opwright.graph_engine.options.options import check_options, parse
from opwright.graph_engine.options.settings import Settings, check_indices
from opwright.graph_engine.running.compiled_graph import CompiledGraph, Input
from opwright.graph_engine.running.compilers import choose_compiler
from opwright.graph_engine.running.dumping import Dumper, plan_for
from opwright.graph_engine.running.runner import ADDRESS, Runner, tensor_over
from opwright.graph_engine.table import load_kernels
from opwright.graph_engine.tensors.dtypes import RUNTIME_CODES, from_runtime
from opwright.graph_report.compiled import observe

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["connect"]

COUNT_THREADS = "_ZN2at15get_num_threadsEv"  # at::get_num_threads()


class EngineTensor(ctypes.Structure):
    """A tensor's description and memory."""

    _fields_: ClassVar = [
        ("dtype", ctypes.c_int32),
        ("on_host", ctypes.c_int32),
        ("rank", ctypes.c_int64),
        ("sizes", ctypes.POINTER(ctypes.c_int64)),
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_uint64),
    ]


Tensors = ctypes.POINTER(EngineTensor)
Configure = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p)
Compile = ctypes.CFUNCTYPE(
    None,
    ctypes.c_uint64,
    ctypes.c_uint64,
    ctypes.c_void_p,
    ctypes.c_uint64,
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_void_p,
)
Ask = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_void_p)
Prepare = ctypes.CFUNCTYPE(None, ctypes.c_uint64, Tensors, ctypes.c_uint64, ctypes.c_void_p)
Run = ctypes.CFUNCTYPE(
    None, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int32, ctypes.c_void_p
)
Remove = ctypes.CFUNCTYPE(None, ctypes.c_uint64)
Threads = ctypes.CFUNCTYPE(ctypes.c_int)


class Engine(ctypes.Structure):
    """The functions that the native side calls."""

    _fields_: ClassVar = [
        ("configure", Configure),
        ("compile", Compile),
        ("load", Ask),
        ("prepare", Prepare),
        ("run", Run),
        ("remove", Remove),
        ("forget", Remove),
        ("close", Remove),
        ("describe", Ask),
        ("threads", Threads),
    ]


native: ctypes.CDLL | None = None
graphs: dict[int, CompiledGraph] = {}
runners: dict[int, Runner] = {}
numbers = itertools.count(1)
lock = threading.Lock()


def connect(_argument: str) -> None:
    """Load the kernels and give the native side the functions to call."""
    global native  # noqa: PLW0603 - one library per process, known when it calls
    if native is not None:
        return
    load_kernels(kernels)
    native = ctypes.CDLL("libge_runner.so")
    native.opwright_engine_fail.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
    native.opwright_engine_text.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
    native.opwright_engine_compiled.argtypes = (
        ctypes.c_void_p,
        ctypes.c_int32,
        ctypes.c_int32,
        ctypes.c_int32,
        ctypes.c_uint64,
    )
    native.opwright_engine_program.argtypes = (
        ctypes.c_void_p,
        ctypes.c_uint64,
        ctypes.c_int32,
    )
    native.opwright_engine_written_input.argtypes = (ctypes.c_void_p, ctypes.c_uint64)
    native.opwright_engine_output.argtypes = (
        ctypes.c_void_p,
        ctypes.c_int32,
        ctypes.c_int64,
        ctypes.POINTER(ctypes.c_int64),
        ctypes.c_uint64,
    )
    engine.threads = ctypes.cast(ctypes.CDLL("libtorch_cpu.so")[COUNT_THREADS], Threads)
    native.opwright_engine_register(ctypes.byref(engine))


def library() -> ctypes.CDLL:
    """Return the library that called."""
    if native is None:
        message = "the engine is not connected"
        raise RuntimeError(message)
    return native


def report_errors(answer: int, body: Callable[[], None]) -> None:
    """Run `body`; an exception becomes the error of the call."""
    try:
        body()
    except OpwrightError as error:
        library().opwright_engine_fail(answer, str(error).encode(errors="backslashreplace"))
    except BaseException as error:  # noqa: BLE001 - no exception may cross the C boundary; all are reported
        words = strip_torchscript(f"{type(error).__name__}: {error}")
        library().opwright_engine_fail(answer, words.encode(errors="backslashreplace"))


def strip_torchscript(text: str) -> str:
    r"""Return an error of the engine without what TorchScript, which it went through, adds.

    >>> strip_torchscript("RuntimeError: Trace\nKernelRunError: OPW-N004 the title\n\nAt:\n  run()")
    'OPW-N004 the title'
    >>> strip_torchscript("MemoryError: none left")
    'MemoryError: none left'
    """
    found = re.search(r"OPW-[A-Z]\d+ .*?(?=\n\nAt:|\Z)", text, re.DOTALL)
    return text if found is None else found[0].rstrip()


def configure(place: bytes, options: bytes, answer: int) -> None:
    """Check options."""
    report_errors(answer, lambda: check_options(place.decode(), parse(options.decode())))


def compile_graph(
    handle: int,
    session: int,
    model: int,
    size: int,
    inherited: bytes,
    own: bytes,
    answer: int,
) -> None:
    """Compile a graph; answer shapes and dtypes of its outputs if they are static.

    Parameters
    ----------
    inherited, own
        The options of engine and session, and those of the graph.
    """

    def body() -> None:
        serialized = ctypes.string_at(model, size)
        graph = read_model(serialized)
        observe.keep(serialized, graph.name)
        options = parse(own.decode())
        settings = Settings.of(graph, options)
        general = select_available(graph.name, parse(inherited.decode()))
        report_excess(graph, {**general, **options})
        plan = plan_for(graph, {**general, **options})
        with name_lines(graph.name):
            compiled = CompiledGraph(
                graph,
                choose_compiler(),
                variables=find_variables(session),
                settings=settings,
                dumper=None if plan is None else Dumper(graph, plan, handle),
            )
            if compiled.is_static:
                answer_outputs(answer, compiled.specialize(compiled.static_inputs()))
        with lock:
            graphs[handle] = compiled
        library().opwright_engine_compiled(
            answer,
            int(compiled.is_static),
            int(compiled.is_fixed),
            int(compiled.settings.refreshable),
            len(outputs_of(graph)),
        )

    report_errors(answer, body)


def load(handle: int, options: bytes, answer: int) -> None:
    """Take the options of the first run."""

    def body() -> None:
        given = parse(options.decode())
        check_options("the first run of a graph", given)
        check_indices(find_compiled_graph(handle).graph, given)

    report_errors(answer, body)


def describe(handle: int, what: bytes, answer: int) -> None:
    """Answer a text about a graph."""

    def body() -> None:
        text = DESCRIPTIONS[what.decode()](find_compiled_graph(handle).graph)
        library().opwright_engine_text(answer, text.encode(errors="backslashreplace"))

    report_errors(answer, body)


def find_compiled_graph(handle: int) -> CompiledGraph:
    """Return a graph that was compiled."""
    with lock:
        return graphs[handle]


def prepare(handle: int, views: Sequence[EngineTensor], count: int, answer: int) -> None:
    """Answer a program for these inputs, and shapes and dtypes of its outputs."""

    def body() -> None:
        compiled = find_compiled_graph(handle)
        inputs = [as_input(compiled, views[i]) for i in range(count)]
        with name_lines(compiled.graph.name):
            runner = compiled.specialize(inputs)
        number = next(numbers)
        runners[number] = runner
        library().opwright_engine_program(answer, number, int(compiled.launches))
        for index in compiled.written_inputs:
            library().opwright_engine_written_input(answer, index)
        answer_outputs(answer, runner)

    report_errors(answer, body)


def run_program(number: int, addresses: int, count: int, threads: int, answer: int) -> None:
    """Run a program."""

    def body() -> None:
        runners[number].run(ctypes.string_at(addresses, count * ADDRESS), threads)

    report_errors(answer, body)


def remove(handle: int) -> None:
    """Forget a graph."""
    with lock:
        graphs.pop(handle, None)


def forget(number: int) -> None:
    """Forget a program."""
    runners.pop(number, None)


def close(session: int) -> None:
    """Forget what a session kept."""
    remove_session(session)


def as_input(compiled: CompiledGraph, view: EngineTensor) -> Input:
    """Return what compiling depends on. A static graph is compiled before any value is there."""
    known = bool(view.on_host) and not compiled.is_fixed
    return Input(
        tuple(view.sizes[: view.rank]),
        from_runtime(view.dtype, where="an input"),
        tensor(view).clone() if known else None,
    )


def tensor(view: EngineTensor) -> torch.Tensor:
    """Return a CPU tensor over the memory."""
    dtype = from_runtime(view.dtype, where="a tensor")
    return tensor_over(view.data if view.bytes else None, view.sizes[: view.rank], dtype)


def answer_outputs(answer: int, runner: Runner) -> None:
    """Return shapes and dtypes of the outputs."""
    for shape, dtype in runner.lowered.outputs:
        sizes = (ctypes.c_int64 * len(shape))(*shape)
        count = torch.Size(shape).numel() * dtype.itemsize
        library().opwright_engine_output(answer, RUNTIME_CODES[dtype], len(shape), sizes, count)


# Kept here, because the native side holds only addresses.
engine = Engine(
    configure=Configure(configure),
    compile=Compile(compile_graph),
    load=Ask(load),
    prepare=Prepare(prepare),
    run=Run(run_program),
    remove=Remove(remove),
    forget=Remove(forget),
    close=Remove(close),
    describe=Ask(describe),
)
