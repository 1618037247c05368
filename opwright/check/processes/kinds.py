"""The kinds of processes that rows ask for, and the variables that make them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from opwright.twin.environment import ORDERED
from opwright.twin.settings import GUARD

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["VARIABLES", "ProcessKind"]

# plain      as any program's
# guarded    device memory has guard pages and poison: `opwright run --guard`
# ordered    tasks of several streams are compared: `opwright run --order`
ProcessKind: TypeAlias = Literal["plain", "guarded", "ordered"]

# Set in the worker when it is forked. The twin and torch_npu read them with the first memory and
# the first task, which the server does not have.
VARIABLES: Mapping[str, Mapping[str, str]] = {
    "plain": {},
    "guarded": {GUARD: "1"},
    "ordered": ORDERED,
}
