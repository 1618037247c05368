"""What holds for all tests, and the selection for the inner loop.

`--quick` (`make quick`) leaves out the functions that tests/slow.txt names. `--record-slow` writes
that file anew, from a run of all tests on a machine that does nothing else. With both, it adds to
the file: where the first test of a module is left out, the next one pays for their fixtures.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

SLOW = Path(__file__).with_name("slow.txt")
SECONDS = 2.0  # a function that takes longer, its fixtures and all its parameters together, is slow

# No verdict from the clock: on a machine that others use as well, any example may take long.
settings.register_profile("opwright", deadline=None, print_blob=True)
settings.load_profile("opwright")


def function_of(nodeid: str) -> str:
    """Return a test's name without its parameters."""
    return nodeid.partition("[")[0]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("opwright's own tests")
    group.addoption("--quick", action="store_true", help="leave out what tests/slow.txt names")
    group.addoption("--record-slow", action="store_true", help="write tests/slow.txt anew")


def pytest_configure(config: pytest.Config) -> None:
    """Measure if asked to; the process that distributes the tests sees all reports."""
    if config.getoption("--record-slow") and not hasattr(config, "workerinput"):
        known = SLOW.read_text(encoding="utf-8").split() if config.getoption("--quick") else []
        config.pluginmanager.register(Recorder(known))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the slow ones."""
    if not config.getoption("--quick"):
        return
    slow = set(SLOW.read_text(encoding="utf-8").splitlines())
    left_out = [item for item in items if function_of(item.nodeid) in slow]
    items[:] = [item for item in items if function_of(item.nodeid) not in slow]
    config.hook.pytest_deselected(items=left_out)


class Recorder:
    """Adds up what each function takes, and names the slow ones."""

    def __init__(self, known: Iterable[str]) -> None:
        self.known = set(known)
        self.seconds: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a test's set-up, call or end."""
        self.seconds[function_of(report.nodeid)] += report.duration

    def pytest_sessionfinish(self) -> None:
        """Write the file."""
        slow = self.known | {name for name, taken in self.seconds.items() if taken > SECONDS}
        SLOW.write_text("".join(f"{name}\n" for name in sorted(slow)), encoding="utf-8")
