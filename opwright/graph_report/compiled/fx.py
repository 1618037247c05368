"""FX graphs as JSON: written where TorchAir compiles, read where they are drawn.

::

    {"version": 1,
     "nodes": [{"name": "relu", "op": "call_function", "target": "aten.relu.default",
                "inputs": [["self", "mm", 0]], "outputs": ["float32[2, 3]"],
                "attributes": [["alpha", "1"]],
                "source": "step.py:7 in forward: return torch.relu(x @ w)",
                "module": "layers.0 (Linear)"}],
     "made": {"Relu_1_0": "relu"}}

`made` says which FX node was being converted when a tensor of the GE graph was made; colons and
slashes in its name are underscores.
"""

from __future__ import annotations

import inspect
import json
import operator
import re
from typing import TYPE_CHECKING, Any, cast

from opwright.graph_report.compiled.model import Link, Vertex
from opwright.graph_report.errors import GeDumpError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import torch
    from torch.fx import GraphModule, Node

__all__ = ["VERSION", "describe", "makers", "read_fx"]

VERSION = 1
MOST_CHARACTERS = 200
FRAME = re.compile(r'File "(.*)", line (\d+), in (.*)\n\s*(.*)')
LIBRARY = re.compile(r"[/\\]site-packages[/\\]torch(_npu)?[/\\]")
MAKING = re.compile(r"## FX Code: (\w+)(?:: | = )")
MADE = re.compile(r"([\w, ]+) = ge\.\w+\(")


def describe(module: GraphModule) -> list[dict[str, Any]]:
    """Return the nodes of an FX graph, ready for JSON."""
    return [describe_node(node) for node in module.graph.nodes]


def describe_node(node: Node) -> dict[str, Any]:
    """Return a node."""
    inputs: list[tuple[str, str, int]] = []
    attributes: list[tuple[str, str]] = []
    for name, value in name_arguments(node):
        links = [
            (parameter, source, output_index(node)) for parameter, source in links_of(name, value)
        ]
        inputs += links
        if not links and node.op != "output":
            attributes.append((name, f"{value!s:.{MOST_CHARACTERS}}"))
    return {
        "name": node.name,
        "op": node.op,
        "target": target_text(node.target) if node.op.startswith("call") else node.op,
        "inputs": inputs,
        "outputs": [] if node.op == "output" else list(tensors(node.meta.get("val"))),
        "attributes": attributes,
        "source": source_text(node.stack_trace or ""),
        "module": module_text(node.meta.get("nn_module_stack")),
    }


def name_arguments(node: Node) -> Iterator[tuple[str, object]]:
    """Yield the arguments of a node with the names in the operator's schema."""
    schema = getattr(node.target, "_schema", None)
    names = [] if schema is None else [argument.name for argument in schema.arguments]
    for place, value in enumerate(node.args):
        yield (names[place] if place < len(names) else str(place)), value
    yield from node.kwargs.items()


def output_index(node: Node) -> int:
    """Return which output of the nodes before it a node takes: getitem picks one."""
    if node.target is operator.getitem and isinstance(node.args[1], int):
        return node.args[1]
    return 0


def links_of(name: str, value: object) -> Iterator[tuple[str, str]]:
    """Yield the nodes in an argument: parameter, node."""
    if isinstance(value, list | tuple):
        for place, each in enumerate(value):
            yield from links_of(f"{name}[{place}]", each)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from links_of(f"{name}[{key}]", each)
    elif hasattr(value, "all_input_nodes"):  # a node
        yield name, str(value)


def target_text(target: object) -> str:
    """Name what a node calls."""
    if not inspect.isroutine(target):  # an operator of torch, or the name of a method or module
        return str(target)
    module = (target.__module__ or "").removeprefix("_")  # operator's functions say _operator
    return f"{module}.{target.__name__}".strip(".")


def tensors(value: object) -> Iterator[str]:
    """Yield dtype and shape of each tensor that a node returns."""
    if isinstance(value, list | tuple):
        for each in value:
            yield from tensors(each)
    elif hasattr(value, "dtype") and hasattr(value, "shape"):
        tensor = cast("torch.Tensor", value)
        sizes = ", ".join(map(str, tensor.shape))
        yield f"{str(tensor.dtype).removeprefix('torch.')}[{sizes}]"
    elif value is not None:
        yield f"{type(value).__name__.removeprefix('Sym').lower()} {value}"


def source_text(stack_trace: str) -> str:
    r"""Return the innermost line of a stack that is not part of torch, torch_npu or TorchAir.

    >>> source_text('  File "/a/step.py", line 7, in forward\n    return torch.relu(x)\n')
    '/a/step.py:7 in forward: return torch.relu(x)'
    """
    found = FRAME.findall(stack_trace)
    if not found:
        return ""
    own = [each for each in found if not LIBRARY.search(each[0])]
    file, line, function, code = (own or found)[-1]
    return f"{file}:{line} in {function}: {code.strip()}"


def module_text(stack: Mapping[str, tuple[str, object]] | None) -> str:
    """Name the innermost module of torch.nn."""
    if not stack:
        return ""
    path, kind = list(stack.values())[-1]
    name = kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))
    return f"{path} ({name.rpartition('.')[2]})"


def makers(code: str) -> dict[str, str]:
    r"""Return tensor of the GE graph -> FX node, from the Python that TorchAir writes of a graph.

    >>> makers('## FX Code: relu: t = aten.relu(x)\nRelu_0 = ge.Relu(x_0, node_name="Relu")\n')
    {'Relu_0': 'relu'}
    """
    found: dict[str, str] = {}
    maker = ""
    for line in code.splitlines():
        if begun := MAKING.match(line):
            maker = begun[1]
        elif maker and (made := MADE.match(line)):
            for tensor in made[1].split(","):
                found.setdefault(tensor.strip(), maker)
    return found


def read_fx(file: Path) -> tuple[tuple[Vertex, ...], dict[str, str]]:
    """Return the FX graph of a file, and tensor of the GE graph -> FX node that made it.

    Raises
    ------
    GeDumpError
        OPW-G005.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        if found["version"] != VERSION:
            raise GeDumpError(
                where=str(file), got=f"version {found['version']!r:.20}", allowed=[str(VERSION)]
            )
        outputs = {each["name"]: list(each["outputs"]) for each in found["nodes"]}
        vertices = tuple(read_vertex(each, outputs) for each in found["nodes"])
        return vertices, {str(name): str(maker) for name, maker in found["made"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        words = f"{type(error).__name__}: {error!s:.100}"
        raise GeDumpError(where=str(file), got=words) from error


def read_vertex(node: Mapping[str, Any], outputs: Mapping[str, list[str]]) -> Vertex:
    """Return a node; `outputs` has the tensors of all."""
    return Vertex(
        name=str(node["name"]),
        type=str(node["target"]),
        inputs=tuple(
            Link(
                name=str(name),
                source=str(source),
                index=place,
                tensor=output_of(outputs.get(source, []), place),
            )
            for name, source, place in node["inputs"]
        ),
        outputs=tuple(map(str, node["outputs"])),
        attributes=tuple((str(name), str(value)) for name, value in node["attributes"]),
        source=str(node["source"]),
        module=str(node["module"]),
        is_input=node["op"] == "placeholder",
        is_output=node["op"] == "output",
    )


def output_of(tensors: list[str], place: int) -> str:
    """Return dtype and shape of an output; empty if they are not known."""
    return str(tensors[place]) if 0 <= place < len(tensors) else ""
