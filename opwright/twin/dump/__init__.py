"""Data dumps of CANN: the files with the inputs and outputs of operators, here or on hardware.

It stands on numpy and the standard library.

reading     a file, and the files of a folder
wire        the part of protobuf's format that the head of a file is written in
command     `opwright dump`; errors
"""

from __future__ import annotations

from opwright.twin.dump.reading import (
    DumpFile,
    DumpTable,
    DumpTensor,
    find_dumps,
    find_tables,
    read_dump,
    read_table,
)

__all__ = [
    "DumpFile",
    "DumpTable",
    "DumpTensor",
    "find_dumps",
    "find_tables",
    "read_dump",
    "read_table",
]


def __dir__() -> list[str]:
    return __all__
