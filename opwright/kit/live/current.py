"""The loaded sets, for a graph that autograd recorded with operators that may be gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.kit.live.errors import ReplacedError

if TYPE_CHECKING:
    from opwright.kit.derive.facts import OperatorFacts, SetFacts
    from opwright.kit.live.live_operator import LiveOperator

__all__ = ["current_sets", "require_current"]

# By namespace.
current_sets: dict[str, SetFacts] = {}


def require_current(live: LiveOperator, backward: OperatorFacts) -> None:
    """Raise if an operator that autograd recorded, or its backward, has been replaced.

    Raises
    ------
    ReplacedError
        OPW-L024.
    """
    now = current_sets.get(live.namespace)
    if now is live.set:
        return
    for recorded in (live.facts, backward):
        found = now.operator(recorded.name) if now is not None else None
        if found is None or found.operator != recorded.operator:
            got = "a graph from before it was " + ("unloaded" if now is None else "loaded again")
            raise ReplacedError(where=live.where, got=got)
