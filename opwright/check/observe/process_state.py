"""The state of the process: read before a call, compared and set back after it.

Its parts are the lines of the table PROBES.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from opwright.check.observe.probes import PROBES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.check.observe.probes import Probe

__all__ = ["Change", "State", "keep_state", "read_state", "undo_changes"]

State: TypeAlias = "dict[str, Any]"


@dataclass(frozen=True, slots=True)
class Change:
    """A difference that a call made to a part of the state."""

    probe: Probe
    before: Any
    after: Any

    def __str__(self) -> str:
        if self.probe.is_drawn and not isinstance(self.before, dict):
            return f"{self.probe.name}: {OTHER_NUMBERS}"
        return f"{self.probe.name}: {describe(self.before, self.after)}"


def read_state(probes: tuple[Probe, ...] = PROBES) -> State:
    """Return what the probes read."""
    return {each.name: each.read() for each in probes}


def undo_changes(before: State) -> list[Change]:
    """Return the changes since `before`, and undo those that can be undone."""
    changes = []
    for each in PROBES:
        if each.name not in before:
            continue
        now = each.read()
        if now != before[each.name]:
            changes.append(Change(each, before[each.name], now))
    for change in changes:
        if change.probe.write is not None:
            change.probe.write(change.before)
    return changes


@contextmanager
def keep_state(probes: tuple[Probe, ...]) -> Iterator[None]:
    """Set back what an operator leaves changed: row state finds it, and no other row meets it."""
    before = read_state(probes)
    try:
        yield
    finally:
        undo_changes(before)


# How a change is described.

LONGEST = 160
OTHER_NUMBERS = "other numbers come next"


def describe(before: Any, after: Any) -> str:  # noqa: ANN401 - what a probe reads
    """Say how two values differ: of tables and lists what has come and gone."""
    if isinstance(before, bytes):
        return OTHER_NUMBERS
    if isinstance(before, dict) and isinstance(after, dict):
        both = before.keys() & after.keys()
        names = [n for n in {**before, **after} if n not in both or before[n] != after[n]]
        parts = [f"{n}: {describe(before.get(n), after.get(n))}" for n in names]
        return "; ".join(parts[:3])
    if isinstance(before, list) and isinstance(after, list):
        come, gone = list(after), list(before)
        for each in before:
            if each in come:
                come.remove(each)
                gone.remove(each)
        texts = [f"more: {', '.join(map(str, come))}"] if come else []
        texts += [f"gone: {', '.join(map(str, gone))}"] if gone else []
        return shorten("; ".join(texts) or "another order")
    return f"{shorten(before)}, then {shorten(after)}"


def shorten(value: object) -> str:
    """Return the beginning of a value's text."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."
