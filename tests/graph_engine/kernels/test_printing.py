"""Printing of tensors in graphs: the texts, and what a compiled npu_print writes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu
import torchair

from opwright.graph_engine.kernels import printing
from tests.graph_engine.agreement import call, compiled
from tests.twin.on_twin import call_of, printed, run_fresh

if TYPE_CHECKING:
    from collections.abc import Callable


def step(x: torch.Tensor, n: torch.Tensor, flags: torch.Tensor) -> torch.Tensor:
    torchair.ops.npu_print("x is", x, "n", n)
    torchair.ops.npu_print(x * 1e6, summarize_size=1)
    torchair.ops.npu_print(flags, x.bfloat16(), tensor_detail=False)
    return x + 1


def print_eagerly_and_compiled(dynamic: bool) -> None:  # noqa: FBT001 - as `call_of` passes it
    graph = compiled(step, dynamic=dynamic)
    functions: tuple[Callable[..., object], ...] = (step, graph)
    torch.manual_seed(3)
    for rows in (4, 2, 9):
        given = (
            torch.randn(rows, 8).to("npu"),
            torch.tensor(rows).to("npu"),
            torch.ones(2).bool().to("npu"),
        )
        for function in functions:
            sys.stdout.write("begin\n")
            sys.stdout.flush()
            function(*given)
            torch_npu.npu.synchronize()


def runs(text: str) -> list[str]:
    return text.partition("begin\n")[2].split("begin\n")


@pytest.mark.twin
@pytest.mark.compile
@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled_functions_print_what_eager_ones_print(*, dynamic: bool) -> None:
    done = run_fresh(call_of(print_eagerly_and_compiled, (dynamic,)))
    found = runs(printed(done))
    assert len(found) == 6
    assert found[::2] == found[1::2]
    assert all(text.startswith("x is [[") for text in found)
    for line in ("[ERROR]", "error code is"):  # at the end of the process, too
        assert line not in done.stderr


def text_of(*tensors: torch.Tensor, **attributes: object) -> str:
    written = call("StringFormat", list(tensors), **attributes)
    return bytes(written.tolist()).rstrip(b"\0").decode()


@pytest.mark.parametrize(
    ("tensor", "summarize", "expected"),
    [
        (torch.tensor(2.0), 3, "2"),
        (torch.tensor(0.1), 3, "0.100000001"),
        (torch.tensor([float("nan"), float("-inf")]), 3, "[nan -inf]"),
        (torch.arange(7), 3, "[0 1 2 ... 4 5 6]"),
        (torch.arange(6), 3, "[0 1 2 3 4 5]"),
        (torch.arange(7), -1, "[0 1 2 3 4 5 6]"),
        (torch.tensor([[True], [False]]), 1, "[[1]\n [0]]"),
        (torch.zeros(3, 1), 1, "[[0]\n ...\n [0]]"),
        (torch.zeros(0), 3, "[]"),
        (torch.full((2, 3), torch.finfo(torch.float64).min, dtype=torch.float64), 3, None),
        (torch.full((9, 9), torch.iinfo(torch.int64).min), 3, None),
        (torch.full((2,), torch.finfo(torch.float32).min), 3, None),
    ],
)
def test_texts_of_tensors(tensor: torch.Tensor, summarize: int, expected: str | None) -> None:
    wanted = printing.describe(tensor, summarize) if expected is None else expected
    assert text_of(tensor, template="a % b", placeholder="%", summarize=summarize) == (
        f"a {wanted} b"
    )


def test_placeholders_without_a_tensor_stay() -> None:
    assert text_of(torch.ones(()), template="% %", placeholder="%") == "1 %"
    assert text_of(torch.ones(()), template="no place", placeholder="%") == "no place"


def test_other_streams_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="output_stream 'file' is not available"):
        call("PrintV2", torch.zeros(1, dtype=torch.uint8), output_stream="file")
