"""Settings of all tests, and the selection for the inner loop.

`--quick` (`make quick`) leaves out the functions and modules that tests/slow.txt names.
`--record-slow` writes that file anew, from a run of all tests on a machine that does nothing else;
with both, it adds to the file what such a run still finds.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, settings

from tests.by_version import expect, is_collected
from tests.isolation import Isolation
from tests.surroundings import settle

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

SLOW = Path(__file__).parent / "tests" / "slow.txt"
FUNCTION = 2.0  # seconds; a function that takes longer, all its parameters together, is slow,
FIXTURE = 5.0  # and so is the module of a test whose set-up takes longer: the next one would pay it

settle()

# No verdict from the clock: on a machine that others use as well, any example may take long. The
# same examples in each run; `--hypothesis-profile explore` tries others.
UNTIMED = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True, database=None
)
settings.register_profile("explore", UNTIMED, derandomize=False)
settings.register_profile("opwright", UNTIMED, derandomize=True)
settings.load_profile("opwright")


def function_of(nodeid: str) -> str:
    """Return a test's name without its parameters."""
    return nodeid.partition("[")[0]


def module_of(nodeid: str) -> str:
    """Return the path of a test's module."""
    return nodeid.partition("::")[0]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("opwright's own tests")
    group.addoption("--quick", action="store_true", help="leave out what tests/slow.txt names")
    group.addoption("--record-slow", action="store_true", help="write tests/slow.txt anew")


def pytest_configure(config: pytest.Config) -> None:
    """Isolate tests; measure if asked to: the process that distributes them sees all reports."""
    config.pluginmanager.register(Isolation())
    if config.getoption("--record-slow") and not hasattr(config, "workerinput"):
        known = SLOW.read_text(encoding="utf-8").split() if config.getoption("--quick") else []
        config.pluginmanager.register(Recorder(known))


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out the files that are about something that this pair does not have."""
    return None if is_collected(collection_path) else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what this pair cannot pass, and leave out the slow ones."""
    expect(items)
    if not config.getoption("--quick"):
        return
    slow = set(SLOW.read_text(encoding="utf-8").splitlines())
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        is_slow = slow & {function_of(item.nodeid), module_of(item.nodeid)}
        (left_out if is_slow else kept).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left_out)


class Recorder:
    """Adds up what each function takes, and names the slow ones."""

    def __init__(self, known: Iterable[str]) -> None:
        self.slow = set(known)
        self.seconds: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a test's set-up, call or end."""
        if report.when == "setup" and report.duration > FIXTURE:
            self.slow.add(module_of(report.nodeid))
        self.seconds[function_of(report.nodeid)] += report.duration

    def pytest_sessionfinish(self) -> None:
        """Write the file."""
        self.slow |= {name for name, taken in self.seconds.items() if taken > FUNCTION}
        names = {n for n in self.slow if "::" not in n or module_of(n) not in self.slow}
        SLOW.write_text("".join(f"{name}\n" for name in sorted(names)), encoding="utf-8")
