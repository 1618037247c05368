"""A request: the target and all that loading it takes, as the command and its workers share it.

The rest of the command line (rows, workers, files of reports) is `Options` of `session`, which
workers do not get.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from typing_extensions import Self

__all__ = ["Request"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request for checks.

    Parameters
    ----------
    target
        As the user named it.
    load
        Libraries (.so) and Python files that are loaded first; absolute paths.
    declaration
        The declaration file or module that describes the operators of another library.
    seed
        Of the samples.
    quick
        Whether samples that are drawn at random, and runs of a thousand calls, are left out.
    """

    target: str
    load: tuple[str, ...] = ()
    declaration: str | None = None
    seed: int = 0
    quick: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        """Return it from JSON."""
        return cls(**document | {"load": tuple(document["load"])})
