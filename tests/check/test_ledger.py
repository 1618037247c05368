"""The ledger of known failures: what it lets pass, and what it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from opwright.check.finding import Finding, Kind
from opwright.check.known.accept import accept, quote
from opwright.check.known.errors import LedgerError, LedgerFileError
from opwright.check.known.failures import failures, is_passed, new_failures
from opwright.check.known.ledger import (
    Judgement,
    check_entries,
    entries_of,
    judge_outcomes,
    read_ledger,
)
from opwright.check.outcome import Outcome
from opwright.check.record import CheckedRow, Record

if TYPE_CHECKING:
    from pathlib import Path

    from opwright.check.outcome import Status

WRONG = Kind("wrong", "it is wrong", "mend it")
WORSE = Kind("worse", "it is worse", "mend it")
ROWS = (
    CheckedRow(name="numerics", title="", columns=("eager",), kinds=("wrong", "worse")),
    CheckedRow(name="compiled", title="", columns=("aot", "max"), kinds=("wrong",)),
)
COLUMNS = {row.name: row.columns for row in ROWS}
OPERATORS = ("my_ops::rescale", "my_ops::rescale_", "my_ops::norm")
VERSIONS = {"torch_npu": "2.13.0+cpu", "torch": "2.13.0"}


def cell(
    operator: str, row: str, *kinds: Kind, column: str = "eager", status: Status = "passed"
) -> Outcome:
    """Return an outcome with findings of these kinds."""
    findings = tuple(
        Finding(kind=kind, expected="1", got="2", place="ops.py:1", fix="mend it") for kind in kinds
    )
    return Outcome(
        operator=f"my_ops::{operator}",
        row=row,
        column=column,
        status="failed" if kinds else status,
        findings=findings,
    )


def judge(text: str, *outcomes: Outcome) -> Judgement:
    """Compare outcomes with a ledger."""
    entries = entries_of(text, where="check.toml")
    check_entries(entries, operators=OPERATORS, rows=ROWS, where="check.toml")
    return judge_outcomes(
        outcomes, entries, operators=OPERATORS, columns=COLUMNS, versions=VERSIONS
    )


def entry(operator: str, row: str, **more: str) -> str:
    """Return an entry of a ledger."""
    values = {"operator": f"my_ops::{operator}", "row": row, "reason": "known", **more}
    return "\n".join(["[[known]]", *(f'{key} = "{value}"' for key, value in values.items()), ""])


def known(judgement: Judgement) -> list[str]:
    """Return what is known, as text."""
    return [f"{each.operator} {each.row}/{each.kind} [{each.column}]" for each in judgement.known]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (entry("rescale", "numerics"), ["my_ops::rescale numerics/wrong [eager]"]),
        (entry("rescale", "numerics/wrong"), ["my_ops::rescale numerics/wrong [eager]"]),
        (entry("rescale*", "numerics", column="eager"), ["my_ops::rescale numerics/wrong [eager]"]),
        (
            entry("*", "numerics", version="torch_npu<2.14"),
            ["my_ops::rescale numerics/wrong [eager]"],
        ),
        (entry("*", "numerics", version="torch-npu>=2.14"), []),
        (entry("norm", "numerics"), []),
        (entry("rescale", "compiled"), []),
    ],
)
def test_an_entry_has_what_it_names(text: str, expected: list[str]) -> None:
    assert known(judge(text, cell("rescale", "numerics", WRONG))) == expected


def test_an_entry_for_a_kind_has_no_other() -> None:
    outcome = cell("rescale", "numerics", WRONG, WORSE)
    judgement = judge(entry("rescale", "numerics/worse", issue="#17"), outcome)
    assert known(judgement) == ["my_ops::rescale numerics/worse [eager]"]
    assert (judgement.known[0].reason, judgement.known[0].issue) == ("known", "#17")
    record = run_of([outcome], judgement)
    assert [each.kind for each in new_failures(record)] == ["wrong"]
    assert not is_passed(record)


def run_of(outcomes: list[Outcome], judgement: Judgement) -> Record:
    """Return a run."""
    return Record(
        target="ops.py",
        versions=VERSIONS,
        seed=0,
        seconds=0.0,
        operators=(),
        rows=(),
        outcomes=tuple(outcomes),
        known=judgement.known,
        unexpected=judgement.unexpected,
    )


@pytest.mark.parametrize("status", ["crashed", "hung", "out of memory", "error"])
def test_a_cell_that_did_not_end_is_a_failure(status: Status) -> None:
    outcome = cell("norm", "numerics", status=status)
    kind = status.replace(" ", "-")
    assert [each.kind for each in failures([outcome])] == [kind]
    judgement = judge(entry("norm", f"numerics/{kind}"), outcome)
    assert is_passed(run_of([outcome], judgement))
    assert not is_passed(run_of([outcome], Judgement((), ())))


def test_a_blocked_cell_fails_only_where_nothing_else_does() -> None:
    blocked = cell("norm", "numerics", status="blocked")
    other = cell("norm", "compiled", WRONG, column="aot")
    elsewhere = cell("rescale", "compiled", WRONG, column="aot")
    assert [each.kind for each in failures([blocked, other])] == ["wrong"]
    assert [each.kind for each in failures([blocked, elsewhere])] == ["wrong", "blocked"]


class TestUnexpectedPass:
    def test_an_entry_for_what_passes_is_reported_with_its_line(self) -> None:
        judgement = judge(f"# one\n\n{entry('rescale', 'numerics')}", cell("rescale", "numerics"))
        assert judgement.unexpected == (
            "check.toml:3: my_ops::rescale numerics: is known to fail, but passes",
        )
        assert not is_passed(run_of([], judgement))

    def test_a_kind_that_is_no_more_found(self) -> None:
        judgement = judge(entry("rescale", "numerics/worse"), cell("rescale", "numerics", WRONG))
        assert len(judgement.unexpected) == 1

    def test_what_was_not_run_may_still_fail(self) -> None:
        assert judge(entry("rescale", "numerics"), cell("norm", "numerics")).unexpected == ()

    def test_of_several_columns_all_must_pass(self) -> None:
        text = entry("rescale", "compiled")
        one, other = (cell("rescale", "compiled", column=name) for name in ("aot", "max"))
        assert judge(text, one).unexpected == ()
        assert len(judge(text, one, other).unexpected) == 1

    def test_of_a_pattern_all_operators_must_pass(self) -> None:
        text = entry("rescale*", "numerics")
        assert judge(text, cell("rescale", "numerics")).unexpected == ()
        both = [cell("rescale", "numerics"), cell("rescale_", "numerics")]
        assert len(judge(text, *both).unexpected) == 1

    def test_what_could_not_be_reported_is_not_passed(self) -> None:
        text = entry("rescale", "numerics/wrong")
        assert judge(text, cell("rescale", "numerics", status="crashed")).unexpected == ()

    def test_what_does_not_apply_any_more(self) -> None:
        judgement = judge(
            entry("rescale", "numerics"), cell("rescale", "numerics", status="not applicable")
        )
        assert "does not apply" in judgement.unexpected[0]

    def test_an_entry_for_other_versions(self) -> None:
        text = entry("rescale", "numerics", version="torch<2")
        assert judge(text, cell("rescale", "numerics")).unexpected == ()


REFUSED = {
    "no reason": ('[[known]]\noperator = "*"\nrow = "numerics"', "OPW-C023", "check.toml:1, *"),
    "an empty reason": (entry("rescale", "numerics", reason=" "), "OPW-C023", "reason = ' '"),
    "no operator": ('\n[[known]]\nrow = "numerics"\nreason = "x"', "OPW-C022", "check.toml:2"),
    "a key": (entry("rescale", "numerics", rows="x"), "OPW-C022", "allowed: row, column"),
    "a number": ('[[known]]\noperator="*"\nrow = 1\nreason="x"', "OPW-C022", "give a string"),
    "a version": (entry("rescale", "numerics", version="2.13"), "OPW-C022", "'2.13'"),
    "another package": (entry("rescale", "numerics", version="numpy<3"), "OPW-C022", "'numpy<3'"),
    "a row": (entry("rescale", "numeric"), "OPW-C024", "allowed: numerics, compiled"),
    "a kind": (entry("rescale", "numerics/wron"), "OPW-C024", "kind 'wron' of row numerics"),
    "a column": (entry("rescale", "compiled", column="eager"), "OPW-C024", "allowed: aot, max"),
    "an operator": (entry("scal", "numerics"), "OPW-C025", "allowed: my_ops::rescale, "),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_entry_that_is_not_as_it_must_be_is_refused(name: str) -> None:
    text, identifier, part = REFUSED[name]
    with pytest.raises(LedgerError) as caught:
        judge(text)
    assert [each.id for each in caught.value.errors] == [identifier]
    assert part in str(caught.value)


def test_all_that_is_wrong_is_reported_at_once() -> None:
    with pytest.raises(LedgerError) as caught:
        judge(entry("scal", "numeric") + entry("rescale", "numerics") + entry("norm", "compile"))
    assert [each.where for each in caught.value.errors] == [
        "check.toml:1, my_ops::scal",
        "check.toml:1, my_ops::scal",
        "check.toml:9, my_ops::norm",
    ]


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("[[known]", "Expected ']]'"),
        ("[[none]]", "key 'none'"),
        ("known = 1", "known = 1"),
        ("known = [1]", "known = [1]"),
    ],
)
def test_what_is_no_ledger_is_refused(text: str, got: str) -> None:
    with pytest.raises(LedgerFileError) as caught:
        entries_of(text, where="check.toml")
    assert caught.value.got.startswith(got)


def test_a_header_in_a_text_is_no_entry() -> None:
    text = f'{entry("rescale", "numerics", reason="x")}issue = """\n[[known]]\n"""\n'
    entries = entries_of(text + entry("norm", "numerics"), where="check.toml")
    assert [each.place.line for each in entries] == [1, 8]
    inline = 'known = [{operator = "*", row = "numerics", reason = "x"}]'
    assert entries_of(inline, where="check.toml")[0].place.line == 0


def test_what_is_accepted_is_refused_until_it_has_a_reason(tmp_path: Path) -> None:
    file = tmp_path / "check.toml"
    file.write_text("# ours\n" + entry("norm", "numerics").rstrip())
    outcomes = [
        cell("rescale", "numerics", WRONG),
        cell("rescale", "compiled", WRONG, column="aot"),
        cell("rescale", "compiled", WRONG, column="max"),
        cell("rescale_", "compiled", column="max", status="hung"),
    ]
    assert accept(file, failures(outcomes), columns=COLUMNS) == 3
    text = file.read_text()
    assert text.startswith("# ours\n")
    with pytest.raises(LedgerError) as caught:
        read_ledger(file, operators=OPERATORS, rows=ROWS)
    assert [each.id for each in caught.value.errors] == ["OPW-C023"] * 3
    file.write_text(text.replace('""', '"because"'))
    entries = read_ledger(file, operators=OPERATORS, rows=ROWS)
    assert [str(each) for each in entries] == [
        "my_ops::norm numerics",
        "my_ops::rescale numerics/wrong",
        "my_ops::rescale compiled/wrong",
        "my_ops::rescale_ compiled/hung [max]",
    ]
    judgement = judge_outcomes(
        outcomes, entries, operators=OPERATORS, columns=COLUMNS, versions=VERSIONS
    )
    assert is_passed(run_of(outcomes, judgement))


def test_nothing_is_added_where_it_would_spoil_the_file(tmp_path: Path) -> None:
    file = tmp_path / "check.toml"
    file.write_text("known = []\n")
    with pytest.raises(LedgerFileError):
        accept(file, failures([cell("rescale", "numerics", WRONG)]), columns=COLUMNS)
    assert file.read_text() == "known = []\n"
    assert list(tmp_path.iterdir()) == [file]


def test_nothing_fails_and_nothing_is_written(tmp_path: Path) -> None:
    assert accept(tmp_path / "check.toml", [], columns=COLUMNS) == 0
    assert list(tmp_path.iterdir()) == []


def test_a_new_ledger_is_made(tmp_path: Path) -> None:
    file = tmp_path / "check.toml"
    assert accept(file, failures([cell("norm", "numerics", WRONG)]), columns=COLUMNS) == 1
    assert file.read_text() == (
        "# Known failures of `opwright check`: they do not fail a run. Each has a reason; an entry"
        " without\n"
        "# one is refused. An entry for what passes is reported, and fails the run until it is"
        " removed.\n"
        "\n"
        "[[known]]\n"
        'operator = "my_ops::norm"\n'
        'row = "numerics/wrong"\n'
        'reason = ""  # say why this is accepted: until then the file is refused\n'
    )


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_quoted_as_toml_has_it(text: str) -> None:
    assert tomli.loads(f"x = {quote(text)}") == {"x": text}
