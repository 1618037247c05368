"""A prototype -> an operator project with a kernel that builds and runs; its mathematics is left.

The kernel copies its first input to its first output, converted to the output's dtype, tile by tile
over all cores, until its author writes what it computes. Tiling, tails and the division among cores
are there.
"""

from __future__ import annotations

import json
import re
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.aclnn.dtypes import DTYPE_NUMBERS, expand
from opwright.aclnn.reg_op import parse_reg_op, snake_case
from opwright.ascendc.kernel_source import TYPES
from opwright.ascendc.new_compute import compute_lines
from opwright.ascendc.new_texts import BUILD, CMAKE, HOST, KERNEL, README, TILING
from opwright.ascendc.project_errors import NewOperatorError
from opwright.kit.declare.place import Place
from opwright.kit.formats.msopgen import parse_msopgen

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from opwright.aclnn.prototype import Attribute, Port, Prototype

__all__ = [
    "CHIP",
    "choose_operator",
    "emit_project",
    "make_project",
    "read_prototypes",
    "write_project",
]

# Dtypes of a port that the prototype leaves open.
USUAL = ("FLOAT16", "FLOAT")
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Of C++, as far as a parameter could be called so.
KEYWORDS = frozenset(
    (
        *("and", "asm", "auto", "bool", "break", "case", "catch", "char", "class", "const"),
        *("continue", "default", "delete", "do", "double", "else", "enum", "explicit", "export"),
        *("extern", "false", "float", "for", "friend", "goto", "if", "inline", "int", "long"),
        *("mutable", "namespace", "new", "not", "operator", "or", "private", "protected"),
        *("public", "register", "return", "short", "signed", "sizeof", "static", "struct"),
        *("switch", "template", "this", "throw", "true", "try", "typedef", "typename", "union"),
        *("unsigned", "using", "virtual", "void", "volatile", "while", "xor"),
    )
)
CHIP = re.compile(r"ascend[0-9][a-z0-9_]*")  # as AddConfig names them
PRESENCE = {"required": "REQUIRED", "optional": "OPTIONAL", "dynamic": "DYNAMIC"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Dtypes of all ports, one tuple for each column."""

    columns: tuple[tuple[str, ...], ...]

    def of_port(self, index: int) -> tuple[str, ...]:
        """Return the dtypes of one port."""
        return tuple(column[index] for column in self.columns)


def make_project(source: Path, out: Path | None, *, op: str | None, chip: str) -> Path:
    """Write a project for an operator of a file; return its folder.

    Raises
    ------
    NewOperatorError
        OPW-A015: the folder exists, or the file has no such operator.
    """
    prototype = choose_operator(read_prototypes(source), op, where=str(source))
    folder = out or source.parent / prototype.op_type
    if folder.exists():
        raise NewOperatorError(
            where=str(folder), got="it exists already", fix="name another folder with --out"
        )
    write_project(emit_project(prototype, chip=chip), folder)
    return folder


def write_project(files: Mapping[str, str], folder: Path) -> None:
    """Write the files of a project; scripts can be run."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        if path.suffix == ".sh":
            path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


def read_prototypes(source: Path) -> list[Prototype]:
    """Return the prototypes of a file."""
    if not source.is_file():
        raise NewOperatorError(where=str(source), got="no such file")
    if source.suffix == ".py":
        return read_declared_prototypes(source)
    try:
        text = source.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise NewOperatorError(
            where=str(source), got=str(error), fix="give a text in UTF-8"
        ) from error
    if source.suffix == ".json":
        return list(parse_msopgen(text, Place(str(source)))[0])
    return list(parse_reg_op(text, where=str(source)))


def read_declared_prototypes(source: Path) -> list[Prototype]:
    """Return the GE prototypes of the operators that a Python file declares."""
    from opwright.kit.derive import derive  # noqa: PLC0415 - only for declarations
    from opwright.project.config import operator_sets  # noqa: PLC0415
    from opwright.twin.user_kernels.files import load_file  # noqa: PLC0415

    facts = [
        fact
        for each in operator_sets(load_file(source))
        for fact in derive(each.freeze()).operators
    ]
    return [fact.prototype for fact in facts if fact.prototype is not None]


def choose_operator(
    found: list[Prototype], op: str | None, *, where: str, option: str = "--op"
) -> Prototype:
    """Return the one operator that is meant; `option` is that of the command which chooses it."""
    by_type = {prototype.op_type: prototype for prototype in found}
    if op is None and len(by_type) == 1:
        return found[0]
    if op is not None and op in by_type:
        return by_type[op]
    raise NewOperatorError(
        where=where,
        got=f"{len(by_type)} operators and no choice" if op is None else f"{option} {op}",
        allowed=by_type,
        near=op or "",
        fix=f"choose one with {option}" if by_type else "give a file that describes an operator",
    )


def emit_project(prototype: Prototype, *, chip: str) -> dict[str, str]:
    """Return the files of a project (pure).

    Raises
    ------
    NewOperatorError
        OPW-A015: no input and output that a kernel could copy.
    """
    if not prototype.inputs or not prototype.outputs:
        raise NewOperatorError(where=prototype.op_type, got="no input, or no output")
    check_names(prototype, chip)
    snake = snake_case(prototype.op_type)
    ports = (*prototype.inputs, *prototype.outputs)
    columns = columns_of(prototype)
    written = {port.name for port in prototype.inputs}
    names = [
        *(port.name for port in prototype.inputs),
        *(f"{p.name}_ref" if p.name in written else p.name for p in prototype.outputs),
    ]
    place = len(prototype.inputs)
    output, first_output = names[place], ports[place]
    words = {
        "op_type": prototype.op_type,
        "snake": snake,
        "guard": f"{snake.upper()}_TILING_H",
        "chip": chip,
        "ports": "\n".join(
            definition(port, columns.of_port(i), "Input" if i < place else "Output")
            for i, port in enumerate(ports)
        ),
        "attributes": "".join(f"{attribute_line(each)}\n" for each in prototype.attributes),
        "parameters": ", ".join(f"GM_ADDR {name}" for name in (*names, "workspace", "tiling")),
        "unused": "".join(
            f"  (void){name};\n" for name in (*names, "workspace") if name not in {names[0], output}
        ),
        "input": names[0],
        "output": output,
        "dtype": ", ".join(f"DTYPE_{port.name.upper()}" for port in (ports[0], first_output)),
        "compute": compute_lines(zip(columns.of_port(0), columns.of_port(place), strict=True)),
        "shapes": infer_lines(prototype),
        "dtypes": dtype_lines(prototype, columns),
    }
    presets = {
        "version": 1,
        "configurePresets": [
            {
                "name": "default",
                "generator": "Unix Makefiles",
                "binaryDir": "${sourceDir}/build_out",
                "cacheVariables": {
                    "ASCEND_COMPUTE_UNIT": {"type": "STRING", "value": chip},
                    "vendor_name": {"type": "STRING", "value": "customize"},
                },
            }
        ],
    }
    return {
        "CMakeLists.txt": fill(CMAKE, words),
        "CMakePresets.json": json.dumps(presets, indent=2) + "\n",
        "README.md": fill(README, words),
        "build.sh": BUILD,
        f"op_host/{snake}.cpp": fill(HOST, words),
        f"op_kernel/{snake}.cpp": fill(KERNEL, words),
        f"op_kernel/{snake}_tiling.h": fill(TILING, words),
    }


def check_names(prototype: Prototype, chip: str) -> None:
    """Raise unless names can be identifiers of C++ and parts of a path."""
    named = [
        prototype.op_type,
        *(port.name for port in (*prototype.inputs, *prototype.outputs)),
        *(attribute.name for attribute in prototype.attributes),
    ]
    for name in named:
        if IDENTIFIER.fullmatch(name) is None or name in KEYWORDS:
            raise NewOperatorError(
                where=prototype.op_type,
                got=f"the name {name!r}",
                allowed=("letters, digits and _, and no keyword of C++",),
                fix="rename it: operator, parameters and attributes have names of C++",
            )
    if CHIP.fullmatch(chip) is None:
        raise NewOperatorError(
            where="--soc",
            got=repr(chip),
            allowed=("ascend910b", "ascend910_93", "ascend310p", "…"),
            fix="name the chip as AddConfig does",
        )


def fill(text: str, words: dict[str, str]) -> str:
    """Return a text with @word@ replaced."""
    return re.sub(r"@(\w+)@", lambda match: words[match[1]], text)


def columns_of(prototype: Prototype) -> Columns:
    """Return the dtypes of the definition; a column for each dtype of the first input."""
    ports = (*prototype.inputs, *prototype.outputs)
    listed = [choose_dtypes(prototype.dtypes(port)) for port in ports]
    if prototype.combinations and len({len(each) for each in listed}) == 1:
        return Columns(columns=tuple(dict.fromkeys(zip(*listed, strict=True))))
    return Columns(
        columns=tuple(
            tuple(dtype if dtype in own else own[0] for own in listed) for dtype in listed[0]
        )
    )


def choose_dtypes(names: Iterable[str]) -> tuple[str, ...]:
    """Return dtypes that kernels have; the usual ones if the prototype leaves it open."""
    plain = [name.removeprefix("DT_") for name in names]
    found = [
        dtype
        for name in plain
        for dtype in ((name,) if name in DTYPE_NUMBERS else expand((name,)))
        if dtype in TYPES
    ]
    return tuple(found) or USUAL


def definition(port: Port, dtypes: tuple[str, ...], kind: str) -> str:
    """Return an input or output of the definition."""
    types = ", ".join(f"ge::DT_{dtype}" for dtype in dtypes)
    formats = ", ".join("ge::FORMAT_ND" for _ in dtypes)
    return (
        f'    this->{kind}("{port.name}")\n'
        f"        .ParamType({PRESENCE[port.presence]})\n"
        f"        .DataType({{{types}}})\n"
        f"        .Format({{{formats}}});"
    )


def attribute_line(attribute: Attribute) -> str:
    """Return an attribute of the definition."""
    presence = "REQUIRED" if attribute.required else "OPTIONAL"
    default = "" if attribute.required or attribute.default is None else literal(attribute.default)
    return (
        f'    this->Attr("{attribute.name}").AttrType({presence}).{attribute.type_name}({default});'
    )


def literal(value: object) -> str:
    """Return a default in C++."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return json.dumps(value)
        case tuple():
            return "{" + ", ".join(map(literal, value)) + "}"
        case _:
            return str(value)


def infer_lines(prototype: Prototype) -> str:
    """Return statements that give each output the shape of the first input."""
    return "\n".join(
        f"  *context->GetOutputShape({i}) = *context->GetInputShape(0);"
        for i, _ in enumerate(prototype.outputs)
    )


def dtype_lines(prototype: Prototype, columns: Columns) -> str:
    """Return statements that give each output its dtype."""
    lines = []
    of_input = columns.of_port(0)
    for i, _ in enumerate(prototype.outputs):
        own = columns.of_port(len(prototype.inputs) + i)
        value = "context->GetInputDataType(0)"
        if own != of_input and len(set(own)) == 1:
            value = f"ge::DT_{own[0]}"
        elif own != of_input:
            pairs = list(dict.fromkeys(zip(of_input, own, strict=True)))
            if len(pairs) > len(dict(pairs)):
                allowed = ", ".join(f"{one} to {other}" for one, other in pairs)
                lines.append(f"  // Choose, perhaps by an attribute: {allowed}.")
            *others, last = dict(pairs).items()
            tests = (f"{value} == ge::DT_{one} ? ge::DT_{other}" for one, other in others)
            value = " : ".join([*tests, f"ge::DT_{last[1]}"])
        lines.append(f"  context->SetOutputDataType({i}, {value});")
    return "\n".join(lines)
