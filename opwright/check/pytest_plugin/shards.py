"""How pytest-xdist shards the items of `pytest --opwright-check`: those of an operator together.

With --dist loadscope it does so by itself. The group that loadgroup takes from a marker is lost
with pytest 9.2 (pytest-xdist 3.8.0, issue 1386), so that it is not relied on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdist.scheduler.loadfile import LoadFileScheduling
from xdist.scheduler.loadgroup import LoadGroupScheduling

if TYPE_CHECKING:
    import pytest

__all__ = ["SCHEDULERS", "by_operator", "operator_of"]


class ByFile(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """Keeps together the tests of a file, and the items of an operator."""

    def _split_scope(self, nodeid: str) -> str:
        return operator_of(nodeid) or str(super()._split_scope(nodeid))


class ByGroup(LoadGroupScheduling):  # type: ignore[misc]  # xdist has no types
    """Keeps together the tests of a group, and the items of an operator."""

    def _split_scope(self, nodeid: str) -> str:
        return operator_of(nodeid) or str(super()._split_scope(nodeid))


SCHEDULERS: dict[str, Any] = {"loadfile": ByFile, "loadgroup": ByGroup}


def by_operator(config: pytest.Config, log: Any) -> Any:  # noqa: ANN401 - of xdist
    """Return a scheduler for --dist; None for xdist's own."""
    scheduler = SCHEDULERS.get(config.getvalue("dist"))
    return None if scheduler is None else scheduler(config, log)


def operator_of(nodeid: str) -> str | None:
    """Return the operator of one of our items; None for a test.

    >>> operator_of("my_ops::rescale::numerics"), operator_of("tests/test_x.py::Test::test_it")
    ('my_ops::rescale', None)
    """
    namespace, *rest = nodeid.split("::")
    if namespace.isidentifier() and len(rest) == 2:  # noqa: PLR2004 - operator and row
        return f"{namespace}::{rest[0]}"
    return None
