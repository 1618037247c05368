"""Kernels by themselves, and functions compiled on the twin, many in one process."""

from __future__ import annotations

import importlib
import inspect
import itertools
import subprocess
import types
from typing import TYPE_CHECKING, Any, cast

import torch
import torch_npu
import torchair
from torch.utils import _pytree as pytree

from opwright.graph_engine.lookup import find_kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

TOGETHER = 16  # functions in a graph; if their results do not agree, each has one of its own


def call(name: str, *inputs: object, **attributes: object) -> Any:  # noqa: ANN401 - what kernels answer
    """Run the kernel of a GE type."""
    kernel = find_kernel(name)
    assert kernel is not None, name
    return kernel.function(*inputs, **attributes)


def compiled(
    function: Callable[..., object],
    *,
    dynamic: bool = False,
    config: torchair.CompilerConfig | None = None,
) -> Callable[..., Any]:
    """Return a function as TorchAir compiles it; earlier ones are dropped.

    Without a configuration it compiles in max-autotune mode.
    """
    torch._dynamo.reset()  # noqa: SLF001 - torch.compiler.reset is not in all versions
    backend = torchair.get_npu_backend(compiler_config=config or torchair.CompilerConfig())
    made = torch.compile(function, backend=backend, dynamic=dynamic, fullgraph=True)
    return cast("Callable[..., Any]", made)


def run_to_the_end(function: Callable[..., object], *given: object) -> None:
    """Call a function, and wait for what it enqueued."""
    function(*given)
    torch_npu.npu.synchronize()


def new_library(namespace: str) -> Any:  # noqa: ANN401 - torch does not type it
    """Return a library that defines operators for as long as it is kept."""
    return torch.library.Library(namespace, "DEF")  # type: ignore[no-untyped-call]


def drawn(*sizes: int, dtype: torch.dtype = torch.float16) -> torch.Tensor:
    """Return normally distributed numbers on the device."""
    return torch.randn(sizes).to(dtype).to("npu")


def assert_agree(
    functions: Mapping[str, Callable[..., object]],
    runs: Sequence[Mapping[str, torch.Tensor]],
    *,
    dynamic: bool,
) -> None:
    """Fail with the names of the functions that do not answer what they answer eagerly, and why.

    Parameters
    ----------
    functions
        Name -> a function of tensors.
    runs
        Tensors by the names of the functions' parameters; each function gets those that it names.
    dynamic
        Compile once for all sizes, instead of once for each.
    """
    assert functions
    assert runs
    moved = [{name: tensor.to("npu") for name, tensor in run.items()} for run in runs]
    errors: dict[str, str] = {}
    with torch.no_grad():
        for names in batched(functions, TOGETHER):
            some = {name: functions[name] for name in names}
            if error_of(together(some.values()), moved, dynamic=dynamic):
                errors |= {name: error_of(some[name], moved, dynamic=dynamic) for name in names}
    failed = [f"{name}, {error}" for name, error in errors.items() if error]
    assert not failed, "\n\n".join(failed)


def batched(names: Iterable[str], size: int) -> Iterator[tuple[str, ...]]:
    """Yield so many names at a time; itertools has it from CPython 3.12 on."""
    left = iter(names)
    while some := tuple(itertools.islice(left, size)):
        yield some


def together(functions: Iterable[Callable[..., object]]) -> Callable[..., object]:
    """Return a function with the parameters of all that returns the results of all.

    One graph is compiled for them, which takes hardly longer than that of one.
    """
    parameters = {
        each: tuple(inspect.signature(each).parameters) for each in dict.fromkeys(functions)
    }
    names = tuple(dict.fromkeys(name for some in parameters.values() for name in some))
    places = [(each, [names.index(name) for name in some]) for each, some in parameters.items()]

    def call_all(*given: torch.Tensor) -> list[object]:
        return [each(*[given[place] for place in some]) for each, some in places]

    kind = inspect.Parameter.POSITIONAL_ONLY
    call_all.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, kind) for name in names]
    )
    return call_all


def error_of(
    function: Callable[..., object], runs: Sequence[Mapping[str, torch.Tensor]], *, dynamic: bool
) -> str:
    """Return why a function does not answer what it answers eagerly; "" if it does."""
    graph = compiled(function, dynamic=dynamic)
    for run in runs:
        given = [run[name] for name in inspect.signature(function).parameters]
        if not dynamic:
            torch._dynamo.reset()  # noqa: SLF001 - as in compiled
        try:
            torch.testing.assert_close(
                comparable(graph(*given)),
                comparable(function(*given)),
                rtol=1e-5,
                atol=1e-5,
                equal_nan=True,
            )
        except Exception as error:  # noqa: BLE001 - whatever it is, it is reported
            shapes = [list(tensor.shape) for tensor in given]
            return f"{shapes}: {type(error).__name__}: {error}"
    return ""


def comparable(results: object) -> object:
    """Return results with floats of one byte as bytes, which are compared exactly.

    A converter may call scales float8_e8m0 that eager mode calls bytes.
    """
    return pytree.tree_map(
        lambda each: (
            each.view(torch.uint8)
            if isinstance(each, torch.Tensor) and each.is_floating_point() and each.itemsize == 1
            else each
        ),
        results,
    )


def give_compilers_time() -> None:
    """Let TorchAir wait longer for g++, to which it gives two minutes for a class.

    It takes half a minute of processor time: on a busy machine that is too little.
    """

    def run(command: Sequence[str], *, timeout: float, **options: object) -> object:
        return subprocess.run(command, timeout=10 * timeout, **options)  # type: ignore[call-overload]  # noqa: PLW1510 - options have it

    compiler: Any = importlib.import_module("torchair._ge_concrete_graph.custom_op_compiler")
    compiler.subprocess = types.SimpleNamespace(**vars(subprocess) | {"run": run})
