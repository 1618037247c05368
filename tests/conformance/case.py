"""One case, by its name. Without the databases, whose import changes settings of a process."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Case:
    """One test: `entry` of a database, with one dtype, under one check."""

    entry: str
    dtype: str
    check: str

    def __str__(self) -> str:
        return f"{self.entry}/{self.dtype}/{self.check}"
