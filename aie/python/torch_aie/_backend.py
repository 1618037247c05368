"""torch.compile(backend="mindie"): graphs of TorchDynamo on engines, for inference.

A graph is compiled when it is first called with inputs of a shape. Parameters are constants of the
engine; when one has been changed, the graph is compiled again. Outputs have no gradient.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import torch
from torch.export.graph_signature import InputKind

from torch_aie._aten_graph import script_module
from torch_aie._compile import compiled
from torch_aie._exported import expect_options
from torch_aie._input import Input
from torch_aie._internals import STATIC_INPUT
from torch_aie._options import checked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["mindie"]

_MOST_ENGINES = 16  # of one graph: the least recently used goes


def mindie(
    graph: torch.fx.GraphModule,
    examples: Sequence[Any],
    options: Mapping[str, object] | None = None,
) -> _Graph:
    """Return what runs a graph of TorchDynamo; the options are those of torch_aie.compile."""
    chosen = checked(options or {})
    expect_options(chosen)
    return _Graph(graph, examples, chosen)


class _Graph:
    def __init__(
        self,
        graph: torch.fx.GraphModule,
        examples: Sequence[Any],
        options: dict[str, object],
    ) -> None:
        self._graph = graph
        self._options = options
        self._weights = [i for i, given in enumerate(examples) if _is_weight(given)]
        self._engines: OrderedDict[tuple[Any, ...], torch.jit.ScriptModule] = OrderedDict()

    def __call__(self, *args: Any) -> tuple[Any, ...]:  # noqa: ANN401 - as the graph
        varying = [given for i, given in enumerate(args) if i not in self._weights]
        key = (
            *(_signature(given) for given in varying),
            *(_state(args[i]) for i in self._weights),
        )
        if key not in self._engines:
            self._engines[key] = self._compiled(args)
            if len(self._engines) > _MOST_ENGINES:
                self._engines.popitem(last=False)
        self._engines.move_to_end(key)
        tensors = [given for given in varying if isinstance(given, torch.Tensor)]
        with torch.no_grad():
            results = self._engines[key](*tensors)
        return tuple(results)

    def _compiled(self, args: tuple[Any, ...]) -> torch.jit.ScriptModule:
        with torch.no_grad():
            program = torch.export.export(self._graph, args, strict=False)
        specs = program.graph_signature.input_specs
        names = [spec.arg.name for spec in specs if spec.kind == InputKind.USER_INPUT]
        weights = {names[i]: args[i] for i in self._weights}
        inputs = [
            Input.like(given)
            for i, given in enumerate(args)
            if isinstance(given, torch.Tensor) and i not in self._weights
        ]
        return compiled(script_module(program, weights), [inputs], self._options)


def _is_weight(given: object) -> bool:
    """Is it of the module? TorchDynamo marks buffers; parameters have their own type."""
    return isinstance(given, torch.nn.Parameter) or hasattr(given, STATIC_INPUT)


def _signature(given: object) -> object:
    return (given.dtype, given.shape) if isinstance(given, torch.Tensor) else given


def _state(weight: torch.Tensor) -> tuple[int, int]:
    """Return what changes when the weight does."""
    return weight.data_ptr(), 0 if weight.is_inference() else weight._version  # noqa: SLF001 - PyTorch's counter
