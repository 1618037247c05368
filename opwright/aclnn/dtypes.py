"""CANN's dtypes and sets of dtypes by name -> torch's dtypes by name.

Source: graph/types.h of CANN's metadef (enum DataType, struct TensorType), CANN 8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["CANN_DTYPES", "DTYPE_NUMBERS", "TYPE_SETS", "expand", "torch_dtypes"]

# CANN's name without DT_ -> torch's. Others have no dtype of torch.
CANN_DTYPES = {
    "FLOAT": "float32",
    "FLOAT16": "float16",
    "BF16": "bfloat16",
    "DOUBLE": "float64",
    "INT8": "int8",
    "INT16": "int16",
    "INT32": "int32",
    "INT64": "int64",
    "UINT8": "uint8",
    "UINT16": "uint16",
    "UINT32": "uint32",
    "UINT64": "uint64",
    "BOOL": "bool",
    "COMPLEX32": "complex32",
    "COMPLEX64": "complex64",
    "COMPLEX128": "complex128",
    "FLOAT8_E4M3FN": "float8_e4m3fn",
    "FLOAT8_E5M2": "float8_e5m2",
    "FLOAT8_E8M0": "float8_e8m0fnu",
    "FLOAT4_E2M1": "float4_e2m1fn_x2",
    # No names of the enumeration, but CANN's own headers have them in comments of operators and in
    # prototypes, which no compiler reads.
    "FLOAT32": "float32",
    "BFLOAT16": "bfloat16",
}
# Values of the enumeration, for attributes of type Int with such a default.
DTYPE_NUMBERS = {
    name: number
    for number, name in enumerate(
        (
            *("FLOAT", "FLOAT16", "INT8", "INT32", "UINT8", "", "INT16", "UINT16", "UINT32"),
            *("INT64", "UINT64", "DOUBLE", "BOOL", "STRING", "DUAL_SUB_INT8", "DUAL_SUB_UINT8"),
            *("COMPLEX64", "COMPLEX128", "QINT8", "QINT16", "QINT32", "QUINT8", "QUINT16"),
            *("RESOURCE", "STRING_REF", "DUAL", "VARIANT", "BF16", "UNDEFINED", "INT4", "UINT1"),
            *("INT2", "UINT2", "COMPLEX32", "HIFLOAT8", "FLOAT8_E5M2", "FLOAT8_E4M3FN"),
            *("FLOAT8_E8M0", "FLOAT6_E3M2", "FLOAT6_E2M3", "FLOAT4_E2M1", "FLOAT4_E1M2"),
        )
    )
}
SIGNED = ("INT8", "INT16", "INT32", "INT64")
UNSIGNED = ("UINT8", "UINT16", "UINT32", "UINT64")
COMPLEX = ("COMPLEX64", "COMPLEX128", "COMPLEX32")
FLOATING = ("FLOAT", "FLOAT16", "DOUBLE")
REAL = (*FLOATING, "BF16", *SIGNED, *UNSIGNED)
QUANTIZED = ("QINT8", "QINT16", "QINT32", "QUINT8", "QUINT16")
ORDINARY = (*REAL, "BOOL", *COMPLEX)
# The sets that TensorType has as functions, by their names.
TYPE_SETS = {
    "ALL": (*ORDINARY, *QUANTIZED, "RESOURCE", "STRING"),
    "BasicType": (*REAL, *COMPLEX, *QUANTIZED),
    "ComplexDataType": COMPLEX,
    "FLOAT": ("FLOAT", "FLOAT16", "BF16"),
    "FloatingDataType": FLOATING,
    "IndexNumberType": ("INT32", "INT64"),
    "IntegerDataType": (*SIGNED, *UNSIGNED),
    "NumberType": (*REAL, *COMPLEX, "QINT8", "QINT32", "QUINT8"),
    "OrdinaryType": ORDINARY,
    "QuantifiedType": QUANTIZED,
    "RealNumberType": REAL,
    "SignedDataType": SIGNED,
    "UnaryDataType": (*FLOATING, "BF16", *COMPLEX),
    "UnsignedDataType": UNSIGNED,
}


def expand(names: Iterable[str]) -> tuple[str, ...]:
    """Replace sets by their members, each dtype once.

    Parameters
    ----------
    names
        As a prototype has them: `DT_FLOAT`, or the name of a set.

    Examples
    --------
    >>> expand(["DT_INT8", "IndexNumberType"])
    ('DT_INT8', 'DT_INT32', 'DT_INT64')
    """
    found: dict[str, None] = {}
    for name in names:
        members = TYPE_SETS.get(name)
        found.update({f"DT_{m}": None for m in members} if members else {name: None})
    return tuple(found)


def torch_dtypes(names: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return torch's dtypes, and the names of those that torch does not have.

    Examples
    --------
    >>> torch_dtypes(["DT_BF16", "DT_STRING"])
    (('bfloat16',), ('DT_STRING',))
    """
    known: list[str] = []
    missing: list[str] = []
    for name in expand(names):
        dtype = CANN_DTYPES.get(name.removeprefix("DT_"))
        if dtype is None:
            missing.append(name)
        else:
            known.append(dtype)
    return tuple(known), tuple(missing)
