"""A worker's present task: text in memory that it shares with the command, and that outlives it.

Writing costs about a microsecond, so that it is done before each call of an operator.
"""

from __future__ import annotations

import mmap
import os
import struct

__all__ = ["Note"]

SIZE = 1 << 15
LENGTH = struct.Struct("<I")


class Note:
    """A text that one process writes and another reads, also when the first is dead.

    Parameters
    ----------
    descriptor
        Of a memory file; see `make`. It can be closed afterwards.
    """

    def __init__(self, descriptor: int) -> None:
        self.memory = mmap.mmap(descriptor, SIZE)

    @staticmethod
    def make() -> int:
        """Return the descriptor of a new memory file."""
        descriptor = os.memfd_create("opwright-note", os.MFD_CLOEXEC)
        os.ftruncate(descriptor, SIZE)
        return descriptor

    def write(self, text: str) -> None:
        """Replace the text; what is too long is cut."""
        data = text.encode(errors="replace")[: SIZE - LENGTH.size]
        LENGTH.pack_into(self.memory, 0, 0)
        self.memory[LENGTH.size : LENGTH.size + len(data)] = data
        LENGTH.pack_into(self.memory, 0, len(data))

    def read(self) -> str:
        """Return the text."""
        (length,) = LENGTH.unpack_from(self.memory, 0)
        data = self.memory[LENGTH.size : LENGTH.size + min(length, SIZE - LENGTH.size)]
        return data.decode(errors="replace")
