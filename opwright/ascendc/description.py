"""The definitions in the host code of a project, read from its library."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from opwright.aclnn.prototype import ATTRIBUTE_TYPES, Attribute, Port, Prototype
from opwright.aclnn.signature import CType
from opwright.ascendc.project_errors import HostCodeError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from opwright.aclnn.prototype import Presence
    from opwright.twin.toolkit import Toolkit

__all__ = [
    "Column",
    "Field",
    "HostDescription",
    "HostOperator",
    "Instance",
    "KernelTemplate",
    "TilingClass",
    "describe",
]

TIME_LIMIT = 120  # seconds for loading a library
INTEGERS = {f"{sign}INT{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)}


@dataclass(frozen=True, slots=True)
class Column:
    """Dtypes and formats of all ports that go together; the name is that of native/ascendc."""

    name: str

    @property
    def dtypes(self) -> tuple[str, ...]:
        """CANN's names without DT_: inputs, then outputs."""
        return tuple(self.name.partition(";")[0].split(","))

    @property
    def formats(self) -> tuple[str, ...]:
        """CANN's names without FORMAT_."""
        return tuple(self.name.partition(";")[2].split(","))


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One selected combination of a template kernel's parameters."""

    key: int
    kernel_type: int
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelTemplate:
    """A kernel that is a template.

    Parameters
    ----------
    dtype_parameters
        For each parameter, whether it is a type.
    """

    dtype_parameters: tuple[bool, ...]
    instances: tuple[Instance, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostOperator:
    """An operator's definition.

    Parameters
    ----------
    chips
        The columns of each chip that it is configured for.
    extended
        Arguments of ExtendCfgInfo, of each chip.
    """

    prototype: Prototype
    chips: Mapping[str, tuple[Column, ...]]
    extended: Mapping[str, Mapping[str, str]]
    template: KernelTemplate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of tiling data; `count` is 0 for one that is no array."""

    type: str
    name: str
    count: int
    nested: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TilingClass:
    """A class of tiling data, by the name under which it was registered."""

    registered: str
    name: str
    size: int
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostDescription:
    """All that a library of host code registers."""

    operators: tuple[HostOperator, ...]
    tiling: tuple[TilingClass, ...]


def describe(library: Path, toolkit: Toolkit) -> HostDescription:
    """Load a library of host code in a process of its own, and read what it registers.

    Raises
    ------
    HostCodeError
        OPW-A011.
    """
    before = os.environ.get("LD_LIBRARY_PATH")
    path = os.pathsep.join(filter(None, (str(toolkit.libraries), before)))
    command = [sys.executable, "-m", "opwright.ascendc.describe", str(library)]
    try:
        result = subprocess.run(
            command,
            env={**os.environ, "LD_LIBRARY_PATH": path},
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=TIME_LIMIT,
        )
    except subprocess.TimeoutExpired as error:
        raise HostCodeError(
            where=str(library),
            got=f"loading it does not end within {TIME_LIMIT} seconds",
            fix="do no work in constructors of static objects",
        ) from error
    if result.returncode != 0:
        got = result.stderr.strip() or f"loading it ends with exit code {result.returncode}"
        raise HostCodeError(
            where="the definitions in op_host", got=got, fix="correct the definition"
        )
    # Not splitlines: names may contain what Python takes for other ends of lines.
    found = json.loads(result.stdout.rstrip("\n").rpartition("\n")[2])
    return HostDescription(
        operators=tuple(map(operator_of, found["operators"])),
        tiling=tuple(map(tiling_class, found["tiling"])),
    )


def operator_of(found: dict[str, Any]) -> HostOperator:
    """Read one operator."""
    op_type = found["type"]
    if not found["chips"]:
        raise HostCodeError(
            where=f"class {op_type}",
            got="no chip",
            fix='call AICore().AddConfig("ascend910b") in the constructor',
        )
    first = next(iter(found["chips"].values()))
    columns = {
        chip: tuple(map(Column, of_chip["columns"])) for chip, of_chip in found["chips"].items()
    }
    dtypes = list(
        zip(*(column.dtypes for each in columns.values() for column in each), strict=True)
    )
    inputs = first["inputs"]
    prototype = Prototype(
        op_type=op_type,
        inputs=tuple(
            port(given, dtypes[i], where=f"class {op_type}, Input")
            for i, given in enumerate(inputs)
        ),
        outputs=tuple(
            port(given, dtypes[len(inputs) + i], where=f"class {op_type}, Output")
            for i, given in enumerate(first["outputs"])
        ),
        attributes=tuple(
            attribute(given, where=f"class {op_type}, Attr") for given in found["attributes"]
        ),
        combinations=True,
    )
    return HostOperator(
        prototype=prototype,
        chips=columns,
        extended=found["extended"],
        template=template(found["template"]) if found["template"] else None,
    )


def port(given: dict[str, Any], dtypes: tuple[str, ...], *, where: str) -> Port:
    """Read an input or output."""
    presence: Presence = "dynamic" if given["scalar_list"] else given["presence"]
    return Port(
        name=given["name"],
        presence=presence,
        scalar=given["scalar"] or given["scalar_list"],
        values=array_of(set(dtypes), where=f"{where} {given['name']!r}")
        if given["value_depend"]
        else None,
        version=given["version"],
        dtypes=tuple(f"DT_{dtype}" for dtype in dtypes),
    )


def array_of(dtypes: set[str], *, where: str) -> CType:
    """Return the array type of an input whose values the host needs."""
    if dtypes == {"FLOAT"}:
        return CType.FLOAT_ARRAY
    if dtypes == {"BOOL"}:
        return CType.BOOL_ARRAY
    if dtypes <= INTEGERS and "INT64" in dtypes:
        return CType.INT_ARRAY
    raise HostCodeError(
        where=where,
        got=f"ValueDepend with {', '.join(sorted(dtypes))}",
        allowed=("DT_BOOL alone", "DT_FLOAT alone", "integers, DT_INT64 among them"),
        fix="give the input dtypes of one of these kinds",
    )


def attribute(given: dict[str, Any], *, where: str) -> Attribute:
    """Read an attribute."""
    kind = given["type"]
    if kind not in ATTRIBUTE_TYPES:
        raise HostCodeError(
            where=f"{where} {given['name']!r}",
            got=kind,
            allowed=sorted(ATTRIBUTE_TYPES),
            fix="give it a type that aclnn functions have",
        )
    default = given["default"]
    return Attribute(
        name=given["name"],
        ctype=ATTRIBUTE_TYPES[kind],
        required=given["required"],
        default=tuple(default) if isinstance(default, list) else default,
        version=given["version"],
    )


def template(given: dict[str, Any]) -> KernelTemplate:
    """Read the parameters of a template kernel."""
    return KernelTemplate(
        dtype_parameters=tuple(each["is_dtype"] for each in given["parameters"]),
        instances=tuple(
            Instance(
                key=int(each["key"]),
                kernel_type=each["kernel_type"],
                values=tuple(each["values"]),
            )
            for each in given["instances"]
        ),
    )


def tiling_class(given: dict[str, Any]) -> TilingClass:
    """Read a class of tiling data."""
    return TilingClass(
        registered=given["registered"],
        name=given["class"],
        size=given["size"],
        fields=tuple(
            Field(type=each["type"], name=each["name"], count=each["count"], nested=each["nested"])
            for each in given["fields"]
        ),
    )
