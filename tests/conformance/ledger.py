"""The ledger: which cases are expected not to pass, and why. It is checked both ways.

`ledger.toml` holds tables `[[expected]]` with

* `reason`: `torch_npu` (torch_npu itself does not support it, on a real device either), `twin`
  (the twin lacks it), `numerics` (both results are right within what the hardware promises), or
  `no_sample` (the CPU gives nothing to compare with);
* `why`: one sentence;
* `cases`: patterns `entry/dtype/check`, each part a comma-separated list of shell patterns;
* `torch`, `python`, `lacks`: where it is so, if not everywhere (tests/where.py).

Every case that a pattern matches has to fail (`no_sample`: to compare nothing); a case that does
not pass has to be matched.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import tomli

from tests.where import Where

if TYPE_CHECKING:
    from tests.conformance.case import Case

LEDGER = Path(__file__).with_name("ledger.toml")

Reason: TypeAlias = Literal["torch_npu", "twin", "numerics", "no_sample"]


@dataclass(frozen=True)
class Expected:
    """Cases that do not pass, for one reason."""

    reason: Reason
    why: str
    cases: tuple[str, ...]

    def matches(self, case: Case) -> bool:
        """Return whether one of the patterns is about this case."""
        return any(match(pattern, case) for pattern in self.cases)


def match(pattern: str, case: Case) -> bool:
    """Return whether a pattern is about a case."""
    parts = pattern.split("/")
    if len(parts) != 3:
        message = (
            f"the ledger's pattern {pattern!r} has {len(parts)} parts; it must be entry/dtype/check"
        )
        raise ValueError(message)
    names = (case.entry, case.dtype, case.check)
    return all(
        any(fnmatchcase(name, choice) for choice in part.split(","))
        for name, part in zip(names, parts, strict=True)
    )


def read(path: Path = LEDGER) -> list[Expected]:
    """Read the entries of the ledger that are about this environment.

    Raises
    ------
    ValueError
        For a reason that is none.
    """
    entries = tomli.loads(path.read_text(encoding="utf-8")).get("expected", [])
    for entry in entries:
        if entry["reason"] not in get_args(Reason):
            allowed = ", ".join(get_args(Reason))
            message = f"{path.name}: reason {entry['reason']!r} must be one of {allowed}"
            raise ValueError(message)
    return [
        Expected(entry["reason"], entry["why"], tuple(entry["cases"]))
        for entry in entries
        if Where.of(entry, ("reason", "why", "cases")).is_here()
    ]


def lookup(ledger: list[Expected], case: Case) -> Expected | None:
    """Return the entry that expects a case not to pass."""
    return next((entry for entry in ledger if entry.matches(case)), None)
