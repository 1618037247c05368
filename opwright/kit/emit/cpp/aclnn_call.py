"""The header that calls aclnn functions: declarations of torch_npu's entry points, and both queues.

Only what the set's parameters need is emitted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.aclnn.signature import CType
from opwright.kit.emit.cpp.text import sections

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["aclnn_header"]

TENSOR_STRUCT = "struct TensorStruct;  // torch_npu's copy of a tensor's geometry"
# C types that are CANN's objects, which are destroyed after the call.
OBJECTS = frozenset(
    {CType.TENSOR, CType.TENSOR_LIST, CType.SCALAR, CType.SCALAR_LIST}
    | {CType.INT_ARRAY, CType.FLOAT_ARRAY, CType.BOOL_ARRAY}
)


def aclnn_header(namespace: str, types: Collection[CType], *, draws: bool = False) -> str:
    """Return the header.

    Parameters
    ----------
    types
        The C types of the parameters of all calls.
    draws
        Whether a call draws from a generator.
    """
    parts = sections("aclnn_call.h")
    used = [ctype for ctype in CType if ctype in types]
    objects = [ctype.value for ctype in used if ctype in OBJECTS]
    releases = [
        f'inline void release({name}* object) {{ destroy(object, "aclDestroy{name[3:]}"); }}'
        for name in objects
    ]
    declared = [parts[key] for ctype in used if (key := f"declared {ctype.value}") in parts]
    to_c = [parts[key] for ctype in used if (key := f"to_c {ctype.value}") in parts]
    text = [
        parts["top"],
        "",
        *([parts["generator header"]] if draws else []),
        parts["headers"],
        *([parts["mutex header"]] if draws else []),
        parts["more headers"],
        *(f"struct {name};" for name in objects),
        *([TENSOR_STRUCT] if {CType.TENSOR, CType.TENSOR_LIST} & set(types) else []),
        parts["entry points"],
        "",
        *declared,
        *([parts["declared generator"]] if draws else []),
        parts["state"],
        *to_c,
        parts["convert"],
        *releases,
        *([parts["draw"]] if draws else []),
        parts["bottom"],
    ]
    return "\n".join(text).replace("NAMESPACE", namespace) + "\n"
