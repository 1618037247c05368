"""Phase 1 names a parameter that is null as CANN does."""

from __future__ import annotations

import ctypes
import re
from typing import TYPE_CHECKING

import torch

from opwright.aclnn.known import find_known_parameters, read_known_functions
from opwright.aclnn.signature import CType
from opwright.twin.symbols import read_library
from opwright.twin.toolkit import installed_toolkit
from tests.twin.aclnn_calls import AclnnError, Scalar, prepare

if TYPE_CHECKING:
    from opwright.aclnn.known import KnownParameter

NULL = re.compile(r"GetWorkspaceSize: parameter '(\w+)' is null, but it is required$")
VALUES: dict[CType, object] = {
    CType.SCALAR: Scalar(1.0),
    CType.SCALAR_LIST: [Scalar(1.0)],
    CType.INT_ARRAY: [1],
    CType.FLOAT_ARRAY: [1.0],
    CType.BOOL_ARRAY: [True],
    CType.TEXT: "text",
    CType.FLOAT: ctypes.c_float(1),
    CType.DOUBLE: 1.0,
    CType.BOOL: True,
    CType.DTYPE: torch.float32,
}

# Functions whose messages have the twin's own names; the list may only become shorter.
OTHERS = {
    "aclnnAcos",
    "aclnnAsinh",
    "aclnnAtan",
    "aclnnAtanh",
    "aclnnCos",
    "aclnnForeachAddScalarV2",
    "aclnnForeachDivScalarV2",
    "aclnnForeachMaximumScalarV2",
    "aclnnForeachMinimumScalarV2",
    "aclnnForeachMulScalarV2",
    "aclnnForeachPowScalarV2",
    "aclnnForeachSubScalarV2",
    "aclnnFrac",
    "aclnnGroupedMatmulFinalizeRouting",
    "aclnnGroupedMatmulFinalizeRoutingV2",
    "aclnnGroupedMatmulFinalizeRoutingV3",
    "aclnnInplaceAcos",
    "aclnnInplaceAsinh",
    "aclnnInplaceAtan",
    "aclnnInplaceAtanh",
    "aclnnInplaceCos",
    "aclnnInplaceFrac",
    "aclnnInplaceSqrt",
    "aclnnKvQuantSparseFlashAttention",
    "aclnnKvQuantSparseFlashAttentionV2",
    "aclnnMean",
    "aclnnMedianDim",
    "aclnnMoeDistributeCombine",
    "aclnnMoeDistributeDispatch",
    "aclnnNanMedianDim",
    "aclnnReduceNansum",
    "aclnnSign",
    "aclnnUpsampleBicubic2dAA",
    "aclnnUpsampleBicubic2dAAGrad",
    "aclnnUpsampleBicubic2dBackward",
    "aclnnUpsampleBilinear2dAA",
    "aclnnUpsampleBilinear2dAABackward",
    "aclnnUpsampleNearest3dBackward",
    "aclnnUpsampleNearestExact1dBackward",
    "aclnnUpsampleNearestExact2dBackward",
    "aclnnUpsampleNearestExact3dBackward",
}


def value_of(parameter: KnownParameter, tensor: torch.Tensor) -> object:
    if parameter.ctype is CType.TENSOR:
        return tensor
    if parameter.ctype is CType.TENSOR_LIST:
        return [tensor]
    return VALUES.get(parameter.ctype, 1)


def find_name(
    function: str, parameters: tuple[KnownParameter, ...], position: int, tensor: torch.Tensor
) -> str | None:
    """Return the name that phase 1 gives to a parameter that is null; None if it may be null.

    Later parameters are null as well, so that the call stops at its arguments.
    """
    values: list[object] = [value_of(each, tensor) for each in parameters[:position]]
    rest = parameters[position:]
    values += [None if each.ctype.is_pointer else value_of(each, tensor) for each in rest]
    try:
        prepare(function, *values)
    except AclnnError as error:
        found = NULL.search(str(error))
        return found[1] if found is not None else None
    return None


def test_a_null_parameter_has_the_name_of_cann() -> None:
    tensor = torch.ones(1).to("npu")
    refused = read_library(installed_toolkit().libraries / "libopapi.so").refused
    wrong, compared = set(), 0
    for function in sorted(set(read_known_functions()) - refused):
        parameters = find_known_parameters(function)
        assert parameters is not None
        for position, parameter in enumerate(parameters):
            if not parameter.ctype.is_pointer:
                continue
            name = find_name(function, parameters, position, tensor)
            if name is None or name in {each.name for each in parameters[position + 1 :]}:
                continue
            compared += 1
            if name != parameter.name:
                wrong.add(function)
    assert wrong == OTHERS
    assert compared > 2000
