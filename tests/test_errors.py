"""What every error has: the form of its text, and names that are near to what was written."""

from __future__ import annotations

from opwright.errors import OpwrightError, nearest_first


def test_nearest_first_keeps_every_name() -> None:
    assert nearest_first("Mul", ["Add", "Muls", "Sub"]) == ("Muls", "Add", "Sub")
    assert nearest_first("zzz", ["b", "a"]) == ("a", "b")


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
