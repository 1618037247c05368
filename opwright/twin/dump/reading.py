"""The files of a data dump.

A file is the length of its head in 8 bytes, the head (protobuf's DumpData, of CANN's
dump_data.proto), and the bytes of the inputs and then of the outputs. What ran stands in its name:
type.name.task.stream.time. Where only statistics were asked for, it is a table, and its name ends
with .csv.
"""

from __future__ import annotations

import csv
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from opwright.twin.dump.errors import DumpFileError
from opwright.twin.dump.wire import Fields, fields_of, numbers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from os import PathLike

__all__ = [
    "DumpFile",
    "DumpTable",
    "DumpTensor",
    "find_dumps",
    "find_tables",
    "read_dump",
    "read_table",
]

NAME = re.compile(
    r"(?P<type>[^.]+)\.(?P<name>[^.]+)\.(?P<task>\d+)\.(?P<stream>\d+)\.(?P<time>\d+)"
)
HASHED = re.compile(r"\d+")  # in place of a name that is too long
MAPPING = "mapping.csv"
TABLE = ".csv"
# Columns that a table of statistics has to have.
KIND, INDEX = "Input/Output", "Index"
LENGTH = struct.Struct("<Q")

# By the codes of dump_data.proto. bfloat16, which numpy does not have, becomes float32; other types
# that it does not have stay bytes.
BFLOAT16 = 27
DTYPES = {
    1: "float32",
    2: "float16",
    3: "int8",
    4: "uint8",
    5: "int16",
    6: "uint16",
    7: "int32",
    8: "int64",
    9: "uint32",
    10: "uint64",
    11: "bool",
    12: "float64",
    13: "string",
    16: "complex64",
    17: "complex128",
    BFLOAT16: "bfloat16",
    28: "int4",
    29: "uint1",
    32: "complex32",
    33: "hifloat8",
    34: "float8_e5m2",
    35: "float8_e4m3fn",
    36: "float8_e8m0fnu",
    37: "float6_e3m2",
    38: "float6_e2m3",
    39: "float4_e2m1",
    40: "float4_e1m2",
}
FORMATS = {0: "NCHW", 1: "NHWC", 2: "ND", 3: "NC1HWC0", 4: "FRACTAL_Z", 29: "FRACTAL_NZ"}

# Numbers of fields.
OUTPUTS, INPUTS, OP_NAME = 3, 4, 6
TYPE, FORMAT, SHAPE, DIM = 1, 2, 3, 1
INPUT_SIZE, INPUT_ORIGINAL = 5, 6
OUTPUT_SIZE, OUTPUT_ORIGINAL = 6, 7


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpTensor:
    """An input or output.

    Parameters
    ----------
    shape
        As it lies in memory.
    original_shape
        As the operator sees it; another one in a tiled format.
    """

    dtype: str
    format: str
    shape: tuple[int, ...]
    original_shape: tuple[int, ...]
    data: bytes

    @property
    def has_values(self) -> bool:
        """Whether numpy can read the values; if not, the array has their bytes."""
        return self.dtype == "bfloat16" or hasattr(np, self.dtype) or self.dtype == "bool"

    @property
    def array(self) -> np.ndarray[Any, Any]:
        """The values; without a shape where the bytes are not those of the shape."""
        if self.dtype == "bfloat16":
            halves = np.frombuffer(self.data, np.uint16).astype(np.uint32)
            flat = (halves << 16).view(np.float32)
        else:
            flat = np.frombuffer(self.data, np.dtype(self.dtype if self.has_values else np.uint8))
        return flat.reshape(self.shape) if flat.size == np.prod(self.shape) else flat

    def __str__(self) -> str:
        """Return dtype, shape and, if it is not ND, the format."""
        text = f"{self.dtype}[{', '.join(map(str, self.shape))}]"
        return text if self.format == "ND" else f"{text} {self.format}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpFile:
    """One run of an operator."""

    path: Path
    type: str
    name: str
    task: int
    stream: int
    time: int
    inputs: tuple[DumpTensor, ...]
    outputs: tuple[DumpTensor, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpTable:
    """The statistics of one run of an operator.

    Parameters
    ----------
    rows
        For each input and output its values, by CANN's names of the columns.
    """

    path: Path
    type: str
    name: str
    task: int
    stream: int
    time: int
    rows: tuple[Mapping[str, str], ...]


def read_dump(path: str | PathLike[str], file_name: str | None = None) -> DumpFile:
    """Read a file.

    Parameters
    ----------
    file_name
        Its name, if that was too long for the file system.

    Raises
    ------
    DumpFileError
        OPW-T052.
    """
    path = Path(path)
    match = match_name(path, file_name or path.name)
    try:
        data = path.read_bytes()
        (length,) = LENGTH.unpack_from(data)
        head = fields_of(data[LENGTH.size : LENGTH.size + length])
        inputs, outputs = tensors_of(head, data[LENGTH.size + length :])
    except (OSError, struct.error, ValueError) as error:
        raise DumpFileError(where=str(path), got=str(error)) from error
    return DumpFile(
        path=path,
        type=match["type"],
        name=text_of(head, OP_NAME) or match["name"],
        task=int(match["task"]),
        stream=int(match["stream"]),
        time=int(match["time"]),
        inputs=inputs,
        outputs=outputs,
    )


def read_table(path: Path, file_name: str | None = None) -> DumpTable:
    """Read a table of statistics; parameters and errors are those of read_dump."""
    match = match_name(path, (file_name or path.name).removesuffix(TABLE))
    header, *rows = read_rows(path) or [[]]
    if not {KIND, INDEX} <= set(header):
        got = f"the columns {', '.join(header)}"
        raise DumpFileError(where=str(path), got=got, allowed=[f"{KIND}, {INDEX}, …"])
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            got = f"{len(row)} values in line {number}, below {len(header)} columns"
            raise DumpFileError(where=str(path), got=got)
    return DumpTable(
        path=path,
        type=match["type"],
        name=match["name"],
        task=int(match["task"]),
        stream=int(match["stream"]),
        time=int(match["time"]),
        rows=tuple(dict(zip(header, row, strict=True)) for row in rows),
    )


def match_name(path: Path, file_name: str) -> re.Match[str]:
    """Return the parts of a file's name.

    Raises
    ------
    DumpFileError
        OPW-T052.
    """
    match = NAME.fullmatch(file_name)
    if match is None:
        raise DumpFileError(
            where=str(path), got=f"the name '{path.name}'", allowed=["type.name.task.stream.time"]
        )
    return match


def find_dumps(place: Path) -> Iterator[DumpFile]:
    """Yield the dumps of a file or folder, in the order in which the operators ran."""
    for name, path in find_files(place):
        if not name.endswith(TABLE):
            yield read_dump(path, name)


def find_tables(place: Path) -> Iterator[DumpTable]:
    """Yield the tables of statistics of a file or folder, in the order of the operators."""
    for name, path in find_files(place):
        if name.endswith(TABLE):
            yield read_table(path, name)


def find_files(place: Path) -> list[tuple[str, Path]]:
    """Return the names and places of the files with the name of a dump; a file itself always."""
    if place.is_file():
        return [(place.name, place)]
    files = [path for path in place.rglob("*") if path.is_file()]
    long = dict(pair for path in files if path.name == MAPPING for pair in read_mapping(path))
    named = [(long.get(path) or path.name, path) for path in files]
    found = [
        (int(match["time"]), name, path)
        for name, path in named
        if (match := NAME.fullmatch(name.removesuffix(TABLE)))
    ]
    return [(name, path) for _, name, path in sorted(found, key=lambda each: each[0])]


def read_mapping(table: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files whose names were too long, and these names."""
    for row in read_rows(table):
        if len(row) > 1 and HASHED.fullmatch(row[0]):
            yield table.parent / row[0], row[1]


def read_rows(table: Path) -> list[list[str]]:
    """Return the lines of a table.

    Raises
    ------
    DumpFileError
        OPW-T052.
    """
    try:
        with table.open(encoding="utf-8", newline="") as lines:
            return list(csv.reader(lines))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DumpFileError(where=str(table), got=str(error)) from error


def tensors_of(head: Fields, data: bytes) -> tuple[tuple[DumpTensor, ...], tuple[DumpTensor, ...]]:
    """Return inputs and outputs with their bytes.

    Raises
    ------
    ValueError
        The file ends before them.
    """
    at = 0
    found: dict[int, list[DumpTensor]] = {INPUTS: [], OUTPUTS: []}
    for kind, size_field, original in (
        (INPUTS, INPUT_SIZE, INPUT_ORIGINAL),
        (OUTPUTS, OUTPUT_SIZE, OUTPUT_ORIGINAL),
    ):
        for message in head.get(kind, []):
            fields = fields_of(message if isinstance(message, bytes) else b"")
            size = number_of(fields, size_field)
            if at + size > len(data):
                error = f"{len(data)} bytes of tensors where the head names {at + size}"
                raise ValueError(error)
            found[kind].append(
                DumpTensor(
                    dtype=DTYPES.get(number_of(fields, TYPE), "undefined"),
                    format=FORMATS.get(code := number_of(fields, FORMAT), str(code)),
                    shape=shape_of(fields, SHAPE),
                    original_shape=shape_of(fields, original),
                    data=data[at : at + size],
                )
            )
            at += size
    return tuple(found[INPUTS]), tuple(found[OUTPUTS])


def number_of(fields: Fields, field: int) -> int:
    """Return a number; 0 if it is left out."""
    last = fields.get(field, [0])[-1]
    return last if isinstance(last, int) else 0


def text_of(fields: Fields, field: int) -> str:
    """Return a text; none if it is left out."""
    last = fields.get(field, [b""])[-1]
    return last.decode(errors="replace") if isinstance(last, bytes) else ""


def shape_of(fields: Fields, field: int) -> tuple[int, ...]:
    """Return the sizes in a field's message."""
    last = fields.get(field, [b""])[-1]
    return tuple(numbers(fields_of(last).get(DIM, []))) if isinstance(last, bytes) else ()
