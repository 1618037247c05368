"""The step through a compiler of torch_npu, with the operators of each of its graphs.

Each graph is compiled twice: as it is, and with the tensors of all nodes among its results. At each
call both run on the same inputs, and each operator runs once more in eager mode, on the tensors
that it had in the compiled graph. So a difference belongs to one operator, and none adds up.
"""

from __future__ import annotations

import operator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, cast

import torch
from torch.fx import GraphModule, Node, map_arg

from opwright.check.observe.deviation import deviation
from opwright.compare.calls import (
    copy_tensor,
    has_defined_results,
    is_random_operator,
    map_tensors,
    name_operator,
    name_results,
    name_tensors,
    write_call,
)
from opwright.compare.prefix import Prefix, find_first_prefix
from opwright.compare.record import OperatorCall
from opwright.compare.taps import is_computing, make_tapped, tensors_of
from opwright.graph_report.compiled.fx import module_text, source_text
from opwright.internals.graph_compilers import fake_mode_of, replace_compiler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from opwright.compare.modes import RunName
    from opwright.compare.tensors import TensorFolder

__all__ = ["CompiledStep"]

NPUGRAPH_EX = "npugraph_ex"


class CompiledStep:
    """Runs a step that is compiled in a mode."""

    def __init__(self, function: Callable[..., Any], run: RunName, tensors: TensorFolder) -> None:
        self.tensors = tensors
        self.calls: list[OperatorCall] = []
        self.run = run
        self.compiled = torch.compile(function, backend=backend_of(run))

    def __call__(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, tuple[OperatorCall, ...]]:
        """Run the step; return its results, and the operators of all graphs that have run."""
        self.calls = []
        package = NPUGRAPH_EX if self.run == NPUGRAPH_EX else "torchair"
        with replace_compiler(package, self.wrap):
            returned = self.compiled(*args, **kwargs)
        # The next replay would write into these results, which the program may hold.
        return map_tensors(torch.clone, returned), tuple(self.calls)

    def wrap(self, compiler: Callable[..., Any]) -> Callable[..., Any]:
        """Return a compiler whose graphs write their operators."""

        def compile_graph(module: GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
            return WatchedGraph(self, compiler, module, inputs)

        return compile_graph


def backend_of(run: RunName) -> Callable[..., Any] | str:
    """Return the backend of a mode, with its usual options."""
    if run == NPUGRAPH_EX:
        return NPUGRAPH_EX
    import torch_npu  # noqa: F401, PLC0415 - it makes TorchAir importable
    import torchair  # noqa: PLC0415 - it takes seconds

    config = torchair.CompilerConfig()
    config.mode = run
    backend: Callable[..., Any] = torchair.get_npu_backend(compiler_config=config)
    return backend


class WatchedGraph:
    """A compiled graph, and beside it the one that returns all tensors."""

    def __init__(
        self,
        step: CompiledStep,
        compiler: Callable[..., Any],
        module: GraphModule,
        inputs: Sequence[Any],
    ) -> None:
        self.step = step
        self.compiler = compiler
        self.module = make_copy(module)
        self.inputs = inputs
        self.whole = compiler(module, inputs)
        self.tapped = compiler(make_tapped(self.module), inputs)
        self.kept: list[Any] = []  # the inputs of the tapped graph: graphs expect their addresses

    def __call__(self, *args: Any) -> Any:  # noqa: ANN401 - inputs and results of a graph
        """Run the graph; the step's record gets its operators."""
        before = map_tensors(copy_tensor, list(args))
        returned = self.whole(*args)
        self.keep(before)
        found = list(self.tapped(*self.kept))
        taps = dict(zip(tensors_of(self.module), found, strict=False))
        self.step.calls += list(self.examine(before, taps))
        results = [*name_results(list(returned)), *name_results(list(args))]
        others = [*name_results(found[len(taps) :]), *name_results(self.kept)]
        if not is_random_graph(self.module) and has_difference(results, others):
            first = find_first_prefix(self.module, taps, before, self.compile)
            if first is not None:
                self.step.calls.append(self.describe_prefix(first, before, taps))
        return returned

    def keep(self, before: list[Any]) -> None:
        """Copy inputs to where the tapped graph expects them."""
        if not self.kept:
            self.kept = map_tensors(copy_tensor, before)
            return
        for place, value in enumerate(before):
            kept = self.kept[place]
            if isinstance(value, torch.Tensor) and kept.shape == value.shape:
                kept.copy_(value)
            else:
                self.kept[place] = map_tensors(copy_tensor, value)

    def examine(self, before: list[Any], taps: dict[Node, Any]) -> Iterator[OperatorCall]:
        """Yield the operators with the tensors that they had, and what eager mode answers."""
        values: dict[Node, Any] = {}
        given = iter(before)
        for node in self.module.graph.nodes:
            if node.op == "placeholder":
                values[node] = next(given)
            elif node.op == "get_attr":
                values[node] = find_attribute(self.module, str(node.target))
            elif node.op == "call_function":
                if is_computing(node):
                    yield from self.examine_node(node, values, taps)
                elif node not in taps:
                    values[node] = values[node.args[0]][node.args[1]]
                if node in taps:
                    values[node] = taps[node]

    def examine_node(
        self, node: Node, values: dict[Node, Any], taps: dict[Node, Any]
    ) -> Iterator[OperatorCall]:
        """Run a node in eager mode; yield it if it computes tensors.

        Its value becomes that of eager mode; the caller replaces it where the graph has returned
        the tensor.
        """
        args, kwargs = map_arg((node.args, node.kwargs), values.__getitem__)
        own_args, own_kwargs = map_tensors(copy_tensor, (list(args), dict(kwargs)))
        target: Any = node.target
        answered = target(*own_args, **own_kwargs)
        values[node] = answered
        pairs = list(pair_results(node, answered, taps))
        if not pairs:
            return
        write = self.step.tensors.write
        is_random = is_random_operator(target)
        is_judged = has_defined_results(target) and not is_random
        yield OperatorCall(
            operator=name_operator(target),
            source=source_of(node),
            text=write_call(target, args, kwargs),
            inputs=self.step.tensors.write_all(name_tensors(target, args, kwargs)),
            outputs=tuple(write(name, got) for name, got, _ in pairs),
            expected=tuple(write(name, want) for name, _, want in pairs) if is_judged else (),
            is_random=is_random,
        )

    def compile(self, module: GraphModule) -> Callable[..., Any]:
        """Compile another graph of the same inputs."""
        modes = (fake_mode_of(each) for each in self.inputs)
        with next((mode for mode in modes if mode is not None), nullcontext()):
            compiled: Callable[..., Any] = self.compiler(module, self.inputs)
        return compiled

    def describe_prefix(
        self, first: Prefix, before: list[Any], taps: dict[Node, Any]
    ) -> OperatorCall:
        """Describe the shortest graph that differs from the one that returns all tensors."""
        tensors = self.step.tensors
        names = [each.name for each in self.module.graph.nodes if each.op == "placeholder"]
        return OperatorCall(
            operator=name_operator(first.last.target),
            source=source_of(first.last),
            text=f"{name_operator(first.last.target)}{first.last.args}",
            inputs=tuple(
                tensors.write(name, value)
                for name, value in zip(names, before, strict=True)
                if isinstance(value, torch.Tensor)
            ),
            outputs=tensors.write_all(
                (node.name, got) for node, got in zip(first.returned, first.tensors, strict=True)
            ),
            expected=tensors.write_all((node.name, taps[node]) for node in first.returned),
            graph=str(first.module.code),
        )


def make_copy(module: GraphModule) -> GraphModule:
    """Return a graph that no compiler's pass changes."""
    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(module.graph, {}))
    return GraphModule(module, graph)


def find_attribute(module: GraphModule, path: str) -> Any:  # noqa: ANN401 - a tensor, or a graph
    """Return the attribute of a module that a node `get_attr` stands for."""
    value: Any = module
    for name in path.split("."):
        value = getattr(value, name)
    return value


def source_of(node: Node) -> str:
    """Return the line of the program that a node comes from; its module where dynamo has none."""
    return source_text(node.stack_trace or "") or module_text(node.meta.get("nn_module_stack"))


def pair_results(
    node: Node, answered: object, taps: dict[Node, Any]
) -> Iterator[tuple[str, torch.Tensor, torch.Tensor]]:
    """Yield the results of a node that its graph has returned: name, the graph's, eager mode's."""
    if node in taps and isinstance(answered, torch.Tensor):
        yield "output", taps[node], answered
    if isinstance(answered, list | tuple):
        for user in node.users:
            if user.target is operator.getitem and user in taps:
                place = cast("int", user.args[1])
                yield f"output {place}", taps[user], answered[place]


def is_random_graph(module: GraphModule) -> bool:
    """Return whether a graph draws random numbers: two runs of it differ."""
    return any(is_random_operator(node.target) for node in module.graph.nodes)


def has_difference(
    got: list[tuple[str, torch.Tensor]], want: list[tuple[str, torch.Tensor]]
) -> bool:
    """Return whether any two tensors differ by more than is allowed for their dtype."""
    return any(
        deviation(one, other, {}).is_wrong for (_, one), (_, other) in zip(got, want, strict=True)
    )
