"""Phase 1 refuses operands that the function's page does not allow.

The tables are native/opapi/operands.tsv and program_operands.tsv.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
import torch

from opwright.aclnn.known import find_known_parameters
from opwright.aclnn.signature import CType
from opwright.coverage.needed import needs
from opwright.twin.symbols import read_library
from opwright.twin.toolkit import installed_toolkit
from tests.twin.aclnn_calls import AclnnError, Scalar, call
from tests.twin.on_twin import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TENSORS = {CType.TENSOR, CType.TENSOR_LIST}
INVALID = 161002
YES, NO = True, False


OPERANDS, PROGRAM_OPERANDS = "operands.tsv", "program_operands.tsv"


@dataclass(frozen=True)
class Row:
    function: str
    operands: list[str]
    dtypes: list[str]
    shape: str


def rows(table: str) -> list[Row]:
    lines = (ROOT / "native" / "opapi" / table).read_text(encoding="utf-8").splitlines()
    made = []
    for line in lines[1:]:
        function, operands, dtypes, _, shape = line.split("\t")
        made.append(Row(function, operands.replace("!", "").split(), dtypes.split(), shape))
    return made


@pytest.mark.parametrize("table", [OPERANDS, PROGRAM_OPERANDS])
def test_rows_name_operands_that_the_functions_have(table: str) -> None:
    """A name that no parameter has would be a check that never happens."""
    unknown = []
    for row in rows(table):
        parameters = find_known_parameters(row.function)
        assert parameters is not None, row.function
        tensors = {each.name for each in parameters if each.ctype in TENSORS}
        like = row.shape if row.shape.isidentifier() else ""
        named = [*row.operands, *([like] if like else [])]
        unknown += [(row.function, name) for name in named if name not in tensors]
    assert unknown == []


@pytest.mark.parametrize("table", [OPERANDS, PROGRAM_OPERANDS])
def test_an_operand_stands_in_one_row_of_its_function(table: str) -> None:
    named = [(row.function, name) for row in rows(table) for name in row.operands]
    assert len(named) == len(set(named)) > 1000
    assert all(first.function <= second.function for first, second in pairwise(rows(table)))


def test_functions_that_torch_npu_calls_have_a_table_of_their_own() -> None:
    """Its own checks have seen what it passes, and pages forbid some of it."""
    called = {need.name for need in needs()}
    assert "aclnnAdd" in called
    assert called.isdisjoint(row.function for row in rows(OPERANDS))
    assert called.issuperset(row.function for row in rows(PROGRAM_OPERANDS))


@pytest.mark.parametrize("table", [OPERANDS, PROGRAM_OPERANDS])
def test_functions_that_are_refused_by_name_have_no_rows(table: str) -> None:
    """A complaint about an operand would come first, as if another operand could mend the call."""
    refused = read_library(installed_toolkit().libraries / "libopapi.so").refused
    assert "aclnnSituMxQuant" in refused
    assert refused.isdisjoint(row.function for row in rows(table))


def npu(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.zeros(shape, dtype=dtype).to("npu")


REFUSED: list[tuple[str, Callable[[], Sequence[object]], str]] = [
    (
        "aclnnIsInf",
        lambda: [npu(3, dtype=torch.complex64), npu(3, dtype=torch.bool)],
        "'x' is complex64; allowed: float32, float16, int8, ",
    ),
    (
        "aclnnIsInf",
        lambda: [npu(3), npu(4, dtype=torch.bool)],
        r"'out' has shape \[4\]; it must have that of 'x', \[3\]",
    ),
    (
        "aclnnSignBitsUnpack",
        lambda: [npu(2, 2, dtype=torch.uint8), 1, torch.float32, npu(1, 32)],
        r"'self' has shape \[2, 2\]; allowed: 1 dimension$",
    ),
    (
        "aclnnExpSegsum",
        lambda: [npu(3, 4), npu(3, 4, 4)],
        r"'self' has shape \[3, 4\]; allowed: 3 to 4 dimensions",
    ),
    (
        "aclnnAddN",
        lambda: [[npu(3), npu(3, dtype=torch.int16)], npu(3)],
        "'tensors' is int16; allowed: float32",
    ),
]


HALF = torch.float16
# Sizes that forms of several operands share: 2 directions of a layer with 5 features and 4 states.
LAYER: dict[str, tuple[int, ...]] = {
    "x": (6, 3, 5),
    "initH": (2, 3, 4),
    "initC": (2, 3, 4),
    "wIh": (16, 5),
    "wHh": (16, 4),
    "bIhOptional": (16,),
    "bHhOptional": (16,),
    "wIhReverseOptional": (16, 5),
    "wHhReverseOptional": (16, 4),
    "bIhReverseOptional": (16,),
    "bHhReverseOptional": (16,),
    "yOut": (6, 3, 8),
    "outputHOut": (2, 3, 4),
    "outputCOut": (2, 3, 4),
}


def run_layer(**other: tuple[int, ...]) -> None:
    tensors = [npu(*shape, dtype=HALF) for shape in (LAYER | other).values()]
    call("aclnnBidirectionLSTM", *tensors[:11], 1, YES, NO, YES, *tensors[11:])


@pytest.mark.parametrize(
    ("operand", "shape", "message"),
    [
        ("wHh", (12, 4), r"allowed: \(4H,H\) where H is 4$"),
        ("wIhReverseOptional", (16, 6), r"allowed: \(4H,I\) where H is 4, I is 5$"),
        ("bIhOptional", (15,), r"allowed: \(4H\) where H is 4$"),
        ("initC", (2, 3), "allowed: .L,B,H. where "),
        ("yOut", (6, 3, 12), "allowed: .T,B,H..*T,B,2H. where "),
    ],
)
def test_sizes_agree_with_those_of_other_operands(
    operand: str, shape: tuple[int, ...], message: str
) -> None:
    with pytest.raises(AclnnError, match=f"parameter '{operand}' has shape .*{message}") as caught:
        run_layer(**{operand: shape})
    assert caught.value.code == INVALID
    run_layer()


@pytest.mark.parametrize("shape", [(2, 4), (3, 2, 4), (5, 3, 2, 4)])
def test_a_name_with_an_asterisk_stands_for_any_sizes(shape: tuple[int, ...]) -> None:
    call("aclnnFatreluMul", npu(*shape), npu(), npu(*shape[:-1], 2))
    wrong = npu(*shape[:-2], shape[-2] + 1, 2)
    with pytest.raises(AclnnError, match=r"'out' has shape .*allowed: \(\*A,H\) where \*A is "):
        call("aclnnFatreluMul", npu(*shape), npu(), wrong)


@pytest.mark.parametrize(("function", "arguments", "message"), REFUSED)
def test_other_operands_are_refused_at_the_call(
    function: str, arguments: Callable[[], Sequence[object]], message: str
) -> None:
    with pytest.raises(
        AclnnError, match=f"{function}GetWorkspaceSize: parameter {message}"
    ) as caught:
        call(function, *arguments())
    assert caught.value.code == INVALID


def test_what_torch_npu_passes_is_not_compared_with_pages() -> None:
    """The page of aclnnAddcmul has no int16; tests/twin/test_aclnn_headers.py has programs."""
    two, out = (torch.full((3,), value, dtype=torch.int16).to("npu") for value in (2, 0))
    call("aclnnAddcmul", two, two, two, Scalar(1), out)
    assert out.tolist() == [6, 6, 6]


def test_a_tensor_without_dimensions_stands_for_one_of_one_element() -> None:
    """Pages give 1 to 8 dimensions."""
    one = torch.tensor(2.0).to("npu")
    out = torch.tensor(0.0).to("npu")
    call("aclnnSquaredRelu", one, out)
    assert out.item() == 4
