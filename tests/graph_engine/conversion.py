"""TorchAir's samples of its converters, run eagerly and compiled: started on the twin by a test.

    python conversion.py PART PARTS [PATTERN]

Runs the samples whose hash falls into PART of PARTS and whose name has PATTERN in it, and prints
one JSON object per sample. With the one argument `names` it only prints the names.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import itertools
import json
import os
import sys
import warnings
import zlib
from typing import TYPE_CHECKING, Protocol, cast

import torch
import torchair
from torch.utils import _pytree as pytree
from torchair._ge_concrete_graph import fx2ge_converter, supported_declaration

from opwright.graph_engine import lookup
from opwright.graph_engine.graph import read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


class Support(Protocol):
    """A sample of TorchAir's."""

    args: tuple[object, ...]
    kwargs: Mapping[str, object]


NAMESPACES = ("aten", "prims")
# Results are drawn: shape, dtype and range are compared.
DRAWN = ("bernoulli", "dropout", "multinomial", "normal", "rand", "uniform", "exponential")
# Products of matrices of thousands of rows take minutes on a CPU: sizes from LARGE on are divided.
PRODUCTS = ("mm", "mv", "matmul")
LARGE, DIVISOR = 512, 16
# Ranges of the integers of samples: counts, and indices if those are out of range.
RANGES = ((1, 10), (0, 2))
# Operators that return memory whose content is not defined.
UNDEFINED = ("empty",)
# By dtype: the graph may round between operators that eager computes in one.
TOLERANCES = {
    torch.float16: (4e-3, 4e-3),
    torch.bfloat16: (2e-2, 2e-2),
    torch.float32: (1e-4, 1e-4),
    torch.complex64: (1e-4, 1e-4),
}


def samples() -> Iterator[tuple[str, torch._ops.OpOverload, Support]]:
    """Yield name, operator and arguments of every declared sample."""
    importlib.import_module("torchair._ge_concrete_graph.ge_converter")
    declared = fx2ge_converter._declare_supported_converters()  # noqa: SLF001
    for op, converter in declared.items():
        if getattr(op, "namespace", "") in NAMESPACES:
            for index, case in enumerate(converter.supported_cases):
                yield f"{op}#{index}", op, case


def tensor_of(
    spec: object, generator: torch.Generator, integers: tuple[int, int], divisor: int
) -> object:
    """Return the tensor that a sample describes; anything else as it is."""
    if not isinstance(spec, supported_declaration._TypedTensor):  # noqa: SLF001
        return spec
    if spec.value is not None:
        return torch.tensor(spec.value, dtype=spec.dtype)
    low, high = spec.value_range or ((0, 2) if spec.dtype is torch.bool else integers)
    # Some samples give all sizes as one list.
    sizes = spec.dims[0] if spec.dims and isinstance(spec.dims[0], list) else spec.dims
    dims = [size // divisor if size >= LARGE else size for size in sizes]
    if spec.dtype.is_floating_point or spec.dtype.is_complex:
        if spec.value_range is None:
            return torch.randn(dims, generator=generator).to(spec.dtype)
        drawn = torch.rand(dims, generator=generator) * (high - low) + low
        return drawn.to(spec.dtype)
    return torch.randint(low, max(high, low + 1), dims, generator=generator).to(spec.dtype)


def arguments(
    name: str, op: torch._ops.OpOverload, case: Support, integers: tuple[int, int]
) -> tuple[tuple[object, ...], dict[str, object]]:
    """Return the arguments of a sample on the CPU, the same ones in every run."""
    divisor = DIVISOR if any(word in name.split(".")[1] for word in PRODUCTS) else 1
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    leaves, spec = pytree.tree_flatten((called(op, case), case.kwargs))
    return cast(
        "tuple[tuple[object, ...], dict[str, object]]",
        pytree.tree_unflatten(
            [tensor_of(leaf, generator, integers, divisor) for leaf in leaves], spec
        ),
    )


def moved(value: object, device: str) -> object:
    """Return a copy with its tensors on a device."""
    return pytree.tree_map(
        lambda leaf: (
            leaf.clone().to(device)
            if isinstance(leaf, torch.Tensor)
            else torch.device("npu")
            if isinstance(leaf, torch.device)
            else leaf
        ),
        value,
    )


def outcome(op: Callable[..., object], given: object, device: str) -> object:
    """Run on a device; return the results, and the tensors given in case they were written."""
    args, kwargs = cast("tuple[tuple[object, ...], dict[str, object]]", moved(given, device))
    with torch.no_grad():
        result = op(*args, **kwargs)
    return moved((result, args, kwargs), "cpu")


def compiled(op: Callable[..., object]) -> Callable[..., object]:
    """Return the operator as a graph of one node."""
    torch.compiler.reset()
    backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())

    def function(*args: object, **kwargs: object) -> object:
        return op(*args, **kwargs)

    return cast(
        "Callable[..., object]",
        torch.compile(function, backend=backend, dynamic=False, fullgraph=True),
    )


def difference(name: str, wanted: object, got: object) -> str:
    """Return how two results differ; nothing if they are equal."""
    ours, theirs = (
        [leaf for leaf in pytree.tree_leaves(value) if not isinstance(leaf, str)]
        for value in (got, wanted)
    )
    if len(ours) != len(theirs):
        return f"{len(ours)} results, not {len(theirs)}"
    for index, (actual, expected) in enumerate(zip(ours, theirs, strict=True)):
        if isinstance(expected, torch.Tensor):
            try:
                compare(name, actual, expected)
            except AssertionError as error:
                lines = [line for line in str(error).splitlines() if line.strip()]
                return f"result {index}: " + "; ".join(lines[:3])
        elif actual != expected:
            return f"result {index}: {actual!r}, not {expected!r}"
    return ""


def compare(name: str, actual: torch.Tensor, expected: torch.Tensor) -> None:
    """Compare two tensors as far as the operator fixes them."""
    if any(word in name for word in (*DRAWN, *UNDEFINED)):
        assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype), (
            f"{actual.dtype}{list(actual.shape)}, not {expected.dtype}{list(expected.shape)}"
        )
        return
    rtol, atol = TOLERANCES.get(expected.dtype, (None, None))
    torch.testing.assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=True)


def first_line(error: BaseException) -> str:
    """Return what an error says, in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    start = next((i for i, line in enumerate(lines) if "OPW-" in line), 0)
    return f"{type(error).__name__}: {' | '.join(lines[start : start + 4])}"[:400]


def called(op: torch._ops.OpOverload, case: Support) -> tuple[object, ...]:
    """Return the positional arguments; some samples give all of them as one list."""
    first = case.args[0] if case.args else None
    if isinstance(first, list) and not str(op._schema.arguments[0].type).startswith("List"):  # noqa: SLF001
        return tuple(first)
    return case.args


def report(name: str, op: torch._ops.OpOverload, case: Support) -> dict[str, object]:
    """Run one sample."""
    seen.clear()
    reference = ""
    for integers, device in itertools.product(RANGES, ("npu", "cpu")):
        try:
            given = arguments(name, op, case, integers)
            wanted = outcome(op, given, device)
            break
        except Exception as error:  # noqa: BLE001 - whatever it is, it is reported
            reference = reference or first_line(error)
    else:
        return {"name": name, "status": "unsupported", "text": reference}
    try:
        got = outcome(compiled(op), given, "npu")
    except Exception as error:  # noqa: BLE001 - whatever it is, it is reported
        found = {"status": "error", "text": first_line(error)}
    else:
        text = difference(name, wanted, got)
        found = {"status": "differs" if text else "equal", "text": text}
    missing = sorted(t for t in seen - BUILT_IN if lookup.find_kernel(t) is None)
    return {"name": name, **found, "missing": missing, "types": sorted(seen), "eager": reference}


BUILT_IN = {"Data", "RefData", "Variable", "Const", "Constant", "ConstPlaceHolder", "NetOutput"}
seen: set[str] = set()


def observe() -> None:
    """Note the types of every graph that is read."""
    original = read.read_node

    def read_node(op: read.Message) -> object:
        node = original(op)
        seen.add(node.type)
        return node

    read.read_node = read_node  # type: ignore[assignment]


def main(part: int, parts: int, pattern: str = "") -> None:
    """Run the samples of a part, and end the process."""
    observe()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    for name, op, case in samples():
        if zlib.crc32(name.encode()) % parts == part and pattern in name:
            with contextlib.redirect_stdout(io.StringIO()):
                found = report(name, op, case)
            sys.stdout.write(json.dumps(found) + "\n")
            sys.stdout.flush()
    end()


def print_names() -> None:
    """Print the names of all samples, one JSON object each, and end the process."""
    for name, _, _ in samples():
        sys.stdout.write(json.dumps({"name": name}) + "\n")
    end()


def end() -> None:
    """End the process; the exit handlers of torch_npu have nothing to do with the samples."""
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    if sys.argv[1:] == ["names"]:
        print_names()
    else:
        main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
