"""The cases: an entry of PyTorch's operator databases, a dtype, and what is asked of it.

The databases are in the torch wheel (torch.testing._internal): they give sample inputs and inputs
that must be refused, for every operator, module and optimizer.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, cast

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db
from torch.testing._internal.common_optimizers import optim_db

from tests.conformance.case import Case

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch.testing._internal.common_modules import ModuleInfo
    from torch.testing._internal.common_optimizers import OptimizerInfo
    from torch.testing._internal.opinfo.core import OpInfo

# The dtypes of torch_npu's operators, without quantised, complex32 and unsigned 16 to 64.
DTYPES: dict[str, torch.dtype] = {
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "int64": torch.int64,
    "bool": torch.bool,
    "int32": torch.int32,
    "int16": torch.int16,
    "int8": torch.int8,
    "uint8": torch.uint8,
    "float64": torch.float64,
    "complex64": torch.complex64,
    "complex128": torch.complex128,
}


@cache
def operators() -> dict[str, OpInfo]:
    """Return the operator database by name, variants behind a dot."""
    return {
        info.formatted_name.replace("_" + info.variant_test_name, "." + info.variant_test_name)
        if info.variant_test_name
        else info.name: info
        for info in op_db
    }


@cache
def modules() -> dict[str, ModuleInfo]:
    """Return the module database by name."""
    return {info.name: info for info in module_db}


@cache
def optimizers() -> dict[str, OptimizerInfo]:
    """Return the optimizer database by name of the class."""
    # The database says that a class is an instance of it.
    classes = [(cast("type", info.optim_cls), info) for info in optim_db]
    return {f"optim.{optimizer.__name__}": info for optimizer, info in classes}


def all_cases() -> Iterator[Case]:
    """Yield every case, in the order of the databases."""
    for name, info in operators().items():
        for dtype in DTYPES:
            yield from (Case(name, dtype, check) for check in operator_checks(info, dtype))
    for name, module in modules().items():
        for dtype in ("float32", "float16", "bfloat16"):
            if DTYPES[dtype] in module.dtypes:
                yield from (Case(name, dtype, check) for check in ("module", "module_backward"))
    for name, optimizer in optimizers().items():
        if not optimizer.only_supports_sparse_grads:
            yield Case(name, "float32", "optimizer")
            for implementation in ("foreach", "fused"):
                if implementation in optimizer.supported_impls:
                    yield Case(name, "float32", f"optimizer_{implementation}")


def operator_checks(info: OpInfo, dtype: str) -> Iterator[str]:
    """Yield the checks that have a meaning for this operator and dtype."""
    if DTYPES[dtype] not in info.dtypes:
        return
    yield "forward"
    yield "noncontiguous"
    if info.supports_out:
        yield "out"
        yield "resize"
    if info.inplace_variant is not None:
        yield "inplace"
    differentiable = DTYPES[dtype].is_floating_point or DTYPES[dtype].is_complex
    if info.supports_autograd and differentiable and DTYPES[dtype] in info.backward_dtypes:
        yield "backward"
    if dtype == "float32" and info.error_inputs_func is not None:
        yield "errors"
