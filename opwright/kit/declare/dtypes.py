"""The dtypes that a declaration can name."""

from __future__ import annotations

__all__ = ["DTYPES", "SCALAR_TYPES"]

# The dtypes of torch that an aclTensor can have -> enumerators of at::ScalarType (c10's
# core/ScalarType.h), in the order of the documentation's tables.
SCALAR_TYPES = {
    "float32": "Float",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "float64": "Double",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "uint8": "Byte",
    "uint16": "UInt16",
    "uint32": "UInt32",
    "uint64": "UInt64",
    "bool": "Bool",
    "complex32": "ComplexHalf",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
    "float8_e4m3fn": "Float8_e4m3fn",
    "float8_e5m2": "Float8_e5m2",
    "float8_e8m0fnu": "Float8_e8m0fnu",
    "float4_e2m1fn_x2": "Float4_e2m1fn_x2",
}
DTYPES = tuple(SCALAR_TYPES)
