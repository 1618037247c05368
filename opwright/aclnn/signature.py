"""The C signature of an aclnn function: what phase 1 takes besides workspaceSize and executor.

The text form is C, and the signature is exactly what its text says: whether a parameter may be null
and whether a tensor is read and written stands in its name, as CANN's generator writes it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from opwright.errors import OpwrightError, clip

__all__ = ["AclnnSignature", "CType", "Parameter", "SignatureError", "parse_signature"]


class CType(Enum):
    """A C type that an aclnn function can take; the value is its name in C."""

    TENSOR = "aclTensor"
    TENSOR_LIST = "aclTensorList"
    SCALAR = "aclScalar"
    SCALAR_LIST = "aclScalarList"
    INT_ARRAY = "aclIntArray"
    FLOAT_ARRAY = "aclFloatArray"
    BOOL_ARRAY = "aclBoolArray"
    TEXT = "char"
    INT64 = "int64_t"
    INT32 = "int32_t"
    INT16 = "int16_t"
    INT8 = "int8_t"
    UINT64 = "uint64_t"
    UINT32 = "uint32_t"
    UINT16 = "uint16_t"
    UINT8 = "uint8_t"
    DOUBLE = "double"
    FLOAT = "float"
    BOOL = "bool"
    DTYPE = "aclDataType"

    @property
    def is_tensor(self) -> bool:
        """Whether it stands for device memory."""
        return self in {CType.TENSOR, CType.TENSOR_LIST}

    @property
    def is_pointer(self) -> bool:
        """Whether it is passed by pointer, so that null is possible."""
        return self.is_tensor or self in POINTED


POINTED = frozenset(
    {
        *(CType.SCALAR, CType.SCALAR_LIST, CType.TEXT),
        *(CType.INT_ARRAY, CType.FLOAT_ARRAY, CType.BOOL_ARRAY),
    }
)
C_TYPES = {ctype.value: ctype for ctype in CType}

Role = Literal["input", "output", "ref", "attribute"]


class SignatureError(OpwrightError):
    """A text that is not the signature of an aclnn function."""

    id = "OPW-K001"
    title = "not an aclnn signature"
    usual_fix = (
        "write the parameters of phase 1 in C, for example "
        "aclnnAddCustom(const aclTensor *x, const aclTensor *y, aclTensor *out)"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter.

    Parameters
    ----------
    name
        Name in C.
    ctype
        Type in C, without const and pointer.
    const
        Whether a pointer points to const. A tensor that is not const is written.
    """

    name: str
    ctype: CType
    const: bool = False

    @property
    def optional(self) -> bool:
        """Whether null may be passed."""
        return self.ctype.is_pointer and self.name.endswith("Optional")

    @property
    def role(self) -> Role:
        """The operator's use of it; a ref is read and written."""
        if not self.ctype.is_tensor:
            return "attribute"
        if self.name.removesuffix("Optional").endswith("Ref"):
            return "ref"
        return "input" if self.const else "output"

    def __str__(self) -> str:
        const = "const " if self.const else ""
        star = "*" if self.ctype.is_pointer else ""
        return f"{const}{self.ctype.value} {star}{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AclnnSignature:
    """An aclnn function: its name (that of phase 2) and the parameters of phase 1."""

    name: str
    parameters: tuple[Parameter, ...]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.parameters))})"


PHASE_1 = "GetWorkspaceSize"
WORKSPACE_SIZE = re.compile(r"uint64_t\s*\*\s*\w+")
EXECUTOR = re.compile(r"aclOpExecutor\s*\*\s*\*\s*\w+")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
ATTRIBUTE = re.compile(r"__attribute__\s*\(\(.*?\)\)(?!\))")
FUNCTION = re.compile(r"(?P<before>[\w\s\"]*?)(?P<name>\b[A-Za-z_]\w*)\s*\((?P<rest>[^()]*)\)\s*;?")
OUTPUT_NAME = re.compile(r"(?:out|\w*Out)(?:Optional)?")
PARAMETER = re.compile(
    r"(?P<const>const\s+)?(?P<type>\w+)(?P<star>\s*\*\s*|\s+)(?P<name>[A-Za-z_]\w*)"
)


def parse_signature(text: str, *, where: str) -> AclnnSignature:
    """Read a signature; the text is C, either the short form or the declaration of phase 1.

    Parameters
    ----------
    where
        The place of the text, for error messages.

    Raises
    ------
    SignatureError
        OPW-K001.

    Examples
    --------
    >>> print(parse_signature("aclnnNeg(const aclTensor* x, aclTensor* out);", where="example"))
    aclnnNeg(const aclTensor *x, aclTensor *out)
    """
    plain = ATTRIBUTE.sub(" ", COMMENT.sub(" ", text)).strip()
    match = FUNCTION.fullmatch(plain)
    if match is None:
        raise SignatureError(where=where, got=repr(clip(" ".join(plain.split()), 120)))
    name = match["name"]
    parts = [part.strip() for part in match["rest"].split(",")]
    if name.endswith(PHASE_1):
        name = name.removesuffix(PHASE_1)
        parts = drop_results(parts, where=f"{where}, {name}")
    parameters = tuple(parse_parameter(part, where=f"{where}, {name}") for part in parts)
    if len({parameter.name for parameter in parameters}) < len(parameters):
        raise SignatureError(
            where=f"{where}, {name}",
            got="two parameters of one name",
            fix="give each parameter its own name",
        )
    return AclnnSignature(name=name, parameters=parameters)


def drop_results(parts: list[str], *, where: str) -> list[str]:
    """Drop workspaceSize and executor, with which phase 1 ends."""
    if len(parts) > 1 and WORKSPACE_SIZE.fullmatch(parts[-2]) and EXECUTOR.fullmatch(parts[-1]):
        return parts[:-2]
    raise SignatureError(
        where=where,
        got=f"{PHASE_1} that ends with {', '.join(map(repr, parts[-2:]))}",
        fix="end it with uint64_t *workspaceSize, aclOpExecutor **executor, or leave out "
        f"{PHASE_1} and both",
    )


def parse_parameter(text: str, *, where: str) -> Parameter:
    """Read one parameter."""
    match = PARAMETER.fullmatch(text)
    if match is None:
        raise SignatureError(
            where=where,
            got=f"parameter {text!r}",
            fix="write each parameter as TYPE NAME, for example const aclTensor *x",
        )
    ctype = C_TYPES.get("int32_t" if match["type"] == "int" else match["type"])
    if ctype is None:
        raise SignatureError(
            where=f"{where}, parameter {match['name']}",
            got=f"type {match['type']!r}",
            allowed=C_TYPES,
            near=match["type"],
            fix="use one of the types that an aclnn function can take",
        )
    if ("*" in match["star"]) != ctype.is_pointer:
        raise SignatureError(
            where=f"{where}, parameter {match['name']}",
            got=repr(text),
            fix=f"pass {ctype.value} by {'pointer' if ctype.is_pointer else 'value'}",
        )
    # CANN's generator declares outputs const as well; their names show them.
    is_output = ctype.is_tensor and OUTPUT_NAME.fullmatch(match["name"])
    const = bool(match["const"]) and not is_output
    return Parameter(name=match["name"], ctype=ctype, const=const)
