"""The progress of pip that set-up shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.packages import Display, State, follow, install

if TYPE_CHECKING:
    import pytest

# Each line of pip's, when it came, and the state after it at 100 seconds.
LINES = [
    (0, "Requirement already satisfied: pip in ./lib", "looking at what is installed"),
    (1, "Collecting torch==2.13.0", "looking up package 1, torch"),
    (2, "  Downloading torch-2.13.0-cp311.whl.metadata (30 kB)", "looking up package 1, torch"),
    (3, "Collecting filelock (from torch==2.13.0)", "looking up package 2, filelock"),
    (80, "Downloading torch-2.13.0-cp311.whl (190.0 MB)", "downloading torch"),
    (80, "Progress 0 of 190000000", "downloading torch, 0 of 190 MB"),
    (
        100,
        "Progress 38000000 of 190000000",
        "downloading torch, 38 of 190 MB, about 1:20 left of it",
    ),
    (100, "Progress 190000000 of 190000000", "downloading torch, 190 of 190 MB"),
    (100, "Installing collected packages: filelock, torch", "installing 2 packages"),
    (100, "Successfully installed filelock-3.20.0 torch-2.13.0", "installing 2 packages"),
]


def test_the_lines_of_pip_are_followed() -> None:
    state = State()
    for now, line, text in LINES:
        state = follow(state, line, now)
        assert state.text(100.0) == text


def test_a_log_is_not_flooded_and_has_the_longest_silence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    display, state = Display(begin=100.0, is_terminal=False), State()
    for tenths, (_, line, _) in enumerate(LINES):
        now = 100.0 + tenths / 10
        state = follow(state, line, now)
        display.show(state, now)
    display.close()
    assert capsys.readouterr().out.splitlines() == [
        "  0:00 looking at what is installed",
        "  0:00 installing 2 packages",
    ]


def test_a_failure_of_pip_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    assert install(["--no-index", "no-such-package-anywhere"]) == 1
    assert "No matching distribution found for no-such-package-anywhere" in capfd.readouterr().err
