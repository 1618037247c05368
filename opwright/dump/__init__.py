"""Data dumps of CANN: the files with the inputs and outputs of operators, here or on hardware.

It stands on numpy and the standard library.

reading     a file, and the files of a folder
wire        the part of protobuf's format that the head of a file is written in
command     `opwright dump`; errors
"""

from __future__ import annotations

from opwright.dump.reading import DumpFile, DumpTensor, find_dumps, read_dump

__all__ = ["DumpFile", "DumpTensor", "find_dumps", "read_dump"]


def __dir__() -> list[str]:
    return __all__
