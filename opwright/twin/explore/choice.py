"""The value of `opwright run --order`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from opwright.command_line.files import explain_unwritable
from opwright.errors import OpwrightError

__all__ = [
    "Choice",
    "Explore",
    "OrderChoiceError",
    "OrderOptionError",
    "Replay",
    "check_options",
    "parse_choice",
]

DEFAULT_COUNT = 10
LARGEST_SEED = 2**31 - 1  # native/runtime/settings.cpp reads it as an int


class OrderChoiceError(OpwrightError):
    """A value of --order that is not known."""

    id = "OPW-T070"
    title = "unknown order"
    usual_fix = "write --order alone to check one run, or --order=explore to run in several orders"


class OrderOptionError(OpwrightError):
    """An option that does not go with the value of --order."""

    id = "OPW-T071"
    title = "options that exclude each other"
    usual_fix = "leave one of the two out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Explore:
    """Run in the orders of the seeds `first` to `first + count - 1`."""

    first: int = 0
    count: int = DEFAULT_COUNT


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Run in the order of a file that --repro has written."""

    file: Path


# "races": look for accesses that nothing orders, in the one order that the machine makes.
Choice = Explore | Replay | Literal["races"]


def parse_choice(value: str, *, where: str = "--order") -> Choice:
    """Read the value of --order.

    Raises
    ------
    OrderChoiceError
        OPW-T070, for another value, and for a file that is not there.

    >>> parse_choice("explore:17,1")
    Explore(first=17, count=1)
    """
    if value == "races":
        return "races"
    match = re.fullmatch(r"explore(?::(\d+)(?:,(\d+))?)?", value)
    if match:
        first = int(match[1] or 0)
        count = int(match[2] or DEFAULT_COUNT)
        if count > 0 and first + count - 1 <= LARGEST_SEED:
            return Explore(first=first, count=count)
    if value.startswith("replay:"):
        file = Path(value.removeprefix("replay:"))
        if file.is_file():
            return Replay(file=file)
    allowed = ("races", "explore", "explore:SEED", "explore:SEED,COUNT", "replay:FILE")
    raise OrderChoiceError(where=where, got=repr(value), allowed=allowed)


def check_options(choice: Choice | None, *, sync: bool, real: bool, repro: Path | None) -> None:
    """Refuse what does not go together.

    Raises
    ------
    OrderOptionError
        OPW-T071.
    """
    explores = isinstance(choice, Explore | Replay)
    if repro is not None and not explores:
        raise OrderOptionError(
            where="--repro",
            got="no order to write: --order=explore is not given",
            fix="add --order=explore, or leave --repro out",
        )
    if repro is not None and (why := explain_unwritable(repro)):
        raise OrderOptionError(where="--repro", got=why, fix="name a file that can be written")
    reasons = (
        (sync, "--sync, with which there is only one order"),
        (real, "--real: the order of a real NPU cannot be chosen"),
    )
    for given, got in reasons:
        if explores and given:
            raise OrderOptionError(where="--order", got=got)
