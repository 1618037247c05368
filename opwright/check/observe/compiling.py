"""Functions that call an operator, compiled: backends, and a fresh state of torch for each cell."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import torch
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from opwright.check.observe.watch import silence_torch
from opwright.check.subject import flat
from opwright.internals.fake_tensors import FakeTensorMode
from opwright.kit.live.arguments import map_tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from opwright.check.row_context import RowContext
    from opwright.kit.declare.sample import Sample

__all__ = [
    "Backend",
    "compile_function",
    "fake_results",
    "fresh_compilers",
    "inner_error",
    "is_data_dependent",
]

# aot_eager        AOTAutograd, and the graph run as it is
# reduce-overhead  TorchAir: the graph is captured as an NPU graph
# max-autotune     TorchAir: the graph is converted for the graph engine
Backend: TypeAlias = Literal["aot_eager", "reduce-overhead", "max-autotune"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)


@contextmanager
def fresh_compilers() -> Iterator[None]:
    """Compile from nothing, and leave nothing behind."""
    from opwright.internals import dynamo  # noqa: PLC0415 - a second that rows without a compiler need not wait for

    dynamo.reset()
    dynamo.counters.clear()
    try:
        # An operator whose result's size depends on data breaks graphs unless these are set.
        with (
            dynamo.config.patch(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True),
            silence_torch(),
        ):
            yield
    finally:
        dynamo.reset()
        dynamo.counters.clear()


def compile_function(
    function: Callable[..., Any],
    backend: Backend,
    *,
    dynamic: bool,
    texts: dict[str, str],
) -> Callable[..., Any]:
    """Return a function, compiled into one graph.

    Parameters
    ----------
    texts
        Gets the text of the graphs that were made, by name.
    """
    made = recording_aot(texts) if backend == "aot_eager" else torchair_backend(backend, texts)
    whole: Callable[..., Any] = torch.compile(
        function, backend=made, dynamic=dynamic, fullgraph=True
    )
    return whole


def recording_aot(texts: dict[str, str]) -> Callable[..., Any]:
    """Return the backend aot_eager; it keeps the text of its graphs."""
    from opwright.internals.dynamo import aot_autograd  # noqa: PLC0415 - as above

    def recorder(name: str) -> Callable[..., Any]:
        def compile_graph(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Any:  # noqa: ANN401 - a module
            del inputs
            note(texts, name, graph)
            return graph

        return compile_graph

    backend: Callable[..., Any] = aot_autograd(
        fw_compiler=recorder("forward"),
        bw_compiler=recorder("backward"),
        inference_compiler=recorder("inference"),
        keep_inference_input_mutations=True,
    )
    return backend


def torchair_backend(mode: Backend, texts: dict[str, str]) -> Callable[..., Any]:
    """Return TorchAir's backend; it keeps the text of the graphs that it gets."""
    import torch_npu  # noqa: F401, PLC0415 - it makes TorchAir importable
    import torchair  # noqa: PLC0415 - it takes seconds, and has to come before npugraph_ex

    config = torchair.CompilerConfig()
    config.mode = mode
    inner = torchair.get_npu_backend(compiler_config=config)

    def torchair_compile(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Any:  # noqa: ANN401 - a function
        note(texts, "graph", graph)
        return inner(graph, inputs)

    return torchair_compile


def note(texts: dict[str, str], name: str, graph: torch.fx.GraphModule) -> None:
    """Keep the text of a graph."""
    number = sum(each.startswith(name) for each in texts)
    title = name if number == 0 else f"{name} {number + 1}"
    texts[title] = str(graph.print_readable(print_output=False))


def inner_error(error: Exception) -> Exception:
    """Return the error that a backend raised, without what dynamo wraps it in."""
    from opwright.internals.dynamo import BackendCompilerFailed  # noqa: PLC0415 - as above

    return error.inner_exception if isinstance(error, BackendCompilerFailed) else error


def fake_results(context: RowContext, sample: Sample) -> list[torch.Tensor]:
    """Return the results that Meta says a call has; none if Meta raises.

    Sizes that depend on data are symbols.
    """
    mode = FakeTensorMode(shape_env=ShapeEnv())
    values = {
        name: map_tensors(lambda each: mode.from_tensor(each, static_shapes=True), value)
        for name, value in context.arguments(sample).items()
    }
    try:
        with mode, silence_torch():
            returned = context.subject.call(values)
    except Exception:  # noqa: BLE001 - an author's Meta; the row meta reports it
        return []
    return list(
        flat({"result": [returned] if isinstance(returned, torch.Tensor) else returned}).values()
    )


def is_data_dependent(context: RowContext, sample: Sample) -> bool:
    """Return whether a result's size depends on data, as Meta says."""
    return any(
        isinstance(size, torch.SymInt)
        for tensor in fake_results(context, sample)
        for size in tensor.shape
    )
