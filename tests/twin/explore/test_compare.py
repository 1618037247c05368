"""Whether two orders had the same results."""

from __future__ import annotations

from opwright.twin.explore.compare import find_difference, find_findings, make_baseline
from opwright.twin.explore.events import Copy, Process
from opwright.twin.explore.outcome import Order, Outcome


def copy(key: str, digest: str) -> Copy:
    places = (f"train.py:{key} in step",)
    return Copy(key=key, direction="to the host", size=8, digest=digest, places=places)


def outcome(*copies: Copy, output: str = "") -> Outcome:
    processes = (Process(name="0.0", events=copies),)
    return Outcome(
        order=Order(), status=0, output=output, errors="", processes=processes, seconds=1.0
    )


def test_the_first_copy_that_differs_is_named() -> None:
    run = outcome(copy("1", "a"), copy("2", "b"), copy("3", "c"))
    baseline = make_baseline(run, run)
    assert find_difference(baseline, run) is None
    found = find_difference(baseline, outcome(copy("1", "a"), copy("3", "x"), copy("2", "y")))
    assert found is not None
    assert found.what == "a copy of 8 bytes to the host has other bytes"
    assert found.places == ("train.py:2 in step",)
    missing = find_difference(baseline, outcome(copy("1", "a")))
    assert missing is not None
    assert missing.what == "a copy of 8 bytes to the host did not happen"


def test_what_differs_in_one_order_is_not_compared() -> None:
    first = outcome(copy("1", "a"), copy("2", "b"), output="at 12:00\n")
    baseline = make_baseline(first, outcome(copy("1", "x"), copy("2", "b"), output="at 12:01\n"))
    assert baseline.unsteady == 1
    assert baseline.output is None
    assert find_difference(baseline, outcome(copy("1", "y"), copy("2", "b"), output="?")) is None
    assert find_difference(baseline, outcome(copy("1", "a"), copy("2", "c"))) is not None


def test_the_first_line_that_differs_is_named() -> None:
    baseline = make_baseline(outcome(output="a\nb\n"), outcome(output="a\nb\n"))
    changed = find_difference(baseline, outcome(output="a\nc\n"))
    assert changed is not None
    assert changed.what == "line 2 of its output is 'c', not 'b'"
    shorter = find_difference(baseline, outcome(output="a\n"))
    assert shorter is not None
    assert shorter.what == "line 2 of its output is missing, not 'b'"


def test_findings_are_the_same_at_other_addresses() -> None:
    finding = "opwright: nothing orders a and b\n  a reads x, 8 bytes at {}\n      train.py:1\n"
    errors = f"warning\n{finding.format('0x7f1')}Traceback\n  File\n{finding.format('0x7f2')}"
    assert find_findings(errors) == (
        "opwright: nothing orders a and b\n  a reads x, 8 bytes\n      train.py:1",
    )
