"""The form of every error's text, and names that are near to what was written."""

from __future__ import annotations

from opwright.errors import OpwrightError, clip, first_of, sort_nearest_first


def test_nearest_first_keeps_every_name() -> None:
    assert sort_nearest_first("Mul", ["Add", "Muls", "Sub"]) == ("Muls", "Add", "Sub")
    assert sort_nearest_first("zzz", ["b", "a"]) == ("a", "b")


def test_what_is_too_long_is_cut_and_says_so() -> None:
    assert (clip("four", 4), clip("fiver", 4)) == ("four", "five…")
    assert (first_of(["a", "b"], 2), first_of(["a", "b", "c"], 2)) == (
        ["a", "b"],
        ["a", "b", "and 1 more"],
    )


def test_error_form() -> None:
    class SampleError(OpwrightError):
        id = "OPW-X000"
        title = "sample"
        usual_fix = "do it"

    assert str(SampleError(where="here", got="'q'", allowed=["w", "x"])) == (
        "OPW-X000 sample\n  where:   here\n  got:     'q'\n  allowed: w, x\n  fix:     do it"
    )
    assert str(SampleError(where="here", got="1", fix="do that")) == (
        "OPW-X000 sample\n  where:   here\n  got:     1\n  fix:     do that"
    )
