"""The page of a run: everything is in it, nothing of a run is markup, and it works in a browser."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest

from opwright.check.finding import Finding, Kind
from opwright.check.outcome import Outcome
from opwright.check.record import CheckedOperator, CheckedRow, KnownFailure, Record
from opwright.check.report.counts import cells
from opwright.check.report.html import page_of
from opwright.kit.declare.sample import Sample
from tests.check.made_up import ROWS, made_up_run

if TYPE_CHECKING:
    from pathlib import Path

EVIL = (
    '</script><script>document.title="taken"</script><img src=x onerror=alert(1)>"\'&amp;{{ 7*7 }}'
)


@dataclass
class Page(HTMLParser):
    """A page, parsed: tags with attributes, the text outside of scripts, the data."""

    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    text: str = ""
    scripts: list[str] = field(default_factory=list)
    inside: str = ""

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside = tag if tag in {"script", "style"} else ""
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        del tag
        self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside == "script":
            self.scripts[-1] += data
        elif not self.inside:
            self.text += data

    @property
    def data(self) -> dict[str, Any]:
        """The document that the page's script shows."""
        document: dict[str, Any] = json.loads(self.scripts[0])
        return document

    def buttons(self) -> dict[int, dict[str, str | None]]:
        """Return the buttons of the matrix by number."""
        return {
            int(attributes["data-number"] or ""): attributes
            for _, attributes in self.tags
            if "data-number" in attributes
        }


def parsed(record: Record) -> Page:
    """Return the page of a run, parsed."""
    page = Page()
    page.feed(page_of(record))
    page.close()
    return page


def test_every_cell_is_in_the_matrix_and_opens_what_is_known_of_it() -> None:
    record = made_up_run(12)
    page = parsed(record)
    data, buttons = page.data, page.buttons()
    assert len(buttons) == len(record.outcomes) == 12 * sum(len(row.columns) for row in ROWS)
    for number, (status, outcome) in enumerate(cells(record).values()):
        cell = data["cells"][number]
        assert data["operators"][cell["operator"]]["name"] == outcome.operator
        assert data["rows"][cell["row"]]["name"] == outcome.row
        label = f"{outcome.row} {outcome.column}: {status}"
        assert buttons[number]["aria-label"] == label
        assert (cell["column"], cell["status"]) == (outcome.column, status)
        assert data["texts"][cell["reason"]] == outcome.reason
        assert [data["texts"][each] for each in cell["samples"]] == list(outcome.samples)
        details = {data["texts"][name]: data["texts"][text] for name, text in cell["details"]}
        assert details == outcome.details
        assert [each["got"] for each in cell["findings"]] == [e.got for e in outcome.findings]
        assert all(each["fix"] and each["places"] for each in cell["findings"])


def test_a_cell_that_was_not_run_is_empty() -> None:
    record = made_up_run(1)
    page = parsed(dataclasses.replace(record, outcomes=record.outcomes[:3]))
    assert len(page.buttons()) == 3


def test_what_fails_is_text_without_scripts_too() -> None:
    record = made_up_run(12)
    text = parsed(record).text
    for outcome in record.outcomes:
        for finding in outcome.findings:
            assert finding.got in text
    assert "the operator has no backward" in text
    assert record.unexpected[0] in text
    assert record.known[0].reason in text


def test_the_page_needs_nothing_besides_itself() -> None:
    page = page_of(made_up_run(3))
    given = parsed(made_up_run(3))
    assert not {tag for tag, _ in given.tags} & {"link", "img", "iframe", "object", "base", "form"}
    for _, attributes in given.tags:
        assert not {"src", "action", "onclick", "onload"} & attributes.keys()
        assert (attributes.get("href") or "#").startswith("#")
    assert not re.search(r"\b(fetch|XMLHttpRequest|import|innerHTML|eval)\b *\(?", given.scripts[1])
    assert "url(" not in page
    policy = next(a["content"] for _, a in given.tags if "http-equiv" in a)
    assert policy is not None
    assert policy.startswith("default-src 'none';")


def evil_run() -> Record:
    """Return a run in which every text is an attempt to be markup."""
    finding = Finding(
        kind=Kind(EVIL, EVIL, EVIL),
        expected=EVIL,
        got=EVIL,
        place=EVIL,
        fix=EVIL,
        sample=Sample(((EVIL, EVIL),)),
        script=(EVIL,),
        trace=EVIL,
    )
    common = Outcome(
        operator=EVIL, row=EVIL, column=EVIL, status="passed", reason=EVIL, samples=(EVIL,)
    )
    return Record(
        target=EVIL,
        versions={EVIL: EVIL},
        seed=0,
        seconds=0.0,
        operators=(CheckedOperator(name=EVIL, schema=EVIL, place=EVIL),),
        rows=(CheckedRow(name=EVIL, title=EVIL, columns=("one", EVIL, "two")),),
        outcomes=(
            dataclasses.replace(
                common,
                column="one",
                status="failed",
                findings=(finding,),
                details={EVIL: EVIL},
            ),
            dataclasses.replace(common, status="not applicable"),
            dataclasses.replace(common, column="two", status="crashed"),
        ),
        known=(
            KnownFailure(operator=EVIL, row=EVIL, column="x", kind=EVIL, reason=EVIL, issue=EVIL),
        ),
        unexpected=(EVIL,),
    )


def test_nothing_of_a_run_is_markup() -> None:
    page, plain = parsed(evil_run()), parsed(made_up_run(1))
    assert len(page.scripts) == len(plain.scripts) == 2
    assert page.scripts[1] == plain.scripts[1]
    assert "img" not in {tag for tag, _ in page.tags}
    assert page.data["operators"][0]["name"] == EVIL
    assert page.text.count(EVIL) > 10


def test_a_run_where_nothing_was_found() -> None:
    record = made_up_run(1)
    passed = tuple(each for each in record.outcomes if each.status == "passed")
    record = dataclasses.replace(record, outcomes=passed, known=(), unexpected=())
    text = parsed(record).text
    assert "nothing was found" in text
    assert "What fails" not in text


# In a browser. A script at the page's end does what a user does, and writes down what it sees.

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
in_browser = pytest.mark.skipif(
    BROWSER is None, reason="needs Chromium, for example Debian's package chromium"
)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--virtual-time-budget=5000",
]
MARK = "what was seen: "
STEPS = """
<script>
(() => {
  const seen = {};
  const panel = document.getElementById("panel");
  const press = (key) => document.activeElement.dispatchEvent(
    new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const look = (name) => { seen[name] = {
    panel: panel.hidden ? "" : panel.textContent, at: document.activeElement.dataset.number || "",
    lines: [...document.querySelectorAll("tbody tr")].filter((each) => !each.hidden).length,
    articles: [...document.querySelectorAll("article")].filter((each) => !each.hidden).length,
    hash: location.hash, title: document.title,
  }; };
  const type = (words) => {
    const input = document.getElementById("filter");
    input.value = words;
    input.dispatchEvent(new Event("input"));
  };
  @STEPS@
  document.body.replaceChildren("@MARK@" + JSON.stringify(seen));
})();
</script>
"""


def seen(
    record: Record, steps: str, tmp_path: Path, fragment: str = ""
) -> dict[str, dict[str, Any]]:
    """Open the page of a run in a browser, do something, and return what was seen."""
    file = tmp_path / "run.html"
    acts = STEPS.replace("@STEPS@", steps).replace("@MARK@", MARK)
    file.write_text(page_of(record).replace("</body>", f"{acts}</body>"), encoding="utf-8")
    assert BROWSER is not None
    done = subprocess.run(
        [
            BROWSER,
            *FLAGS,
            f"--user-data-dir={tmp_path / 'profile'}",
            "--dump-dom",
            f"{file.as_uri()}{fragment}",
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    page = Page()
    page.feed(done.stdout)
    found: dict[str, dict[str, Any]] = json.loads(page.text.partition(MARK)[2])
    return found


@in_browser
def test_a_user_finds_and_reads_a_failure(tmp_path: Path) -> None:
    record = made_up_run(12)
    steps = """
      look("start");
      press("n"); look("first");
      press("n"); look("second");
      press("ArrowRight"); look("right");
      press("ArrowDown"); look("down");
      press("Escape"); look("closed");
      type("operator_003"); look("filtered");
      type(""); look("all");
      document.querySelector('.chip[data-status="failed"]').click(); look("failed");
      document.querySelector('.chip[data-status="failed"]').click(); look("again");
      document.querySelector("tbody button.mark").click(); look("clicked");
    """
    found = seen(record, steps, tmp_path)
    shown = list(cells(record).values())
    bad = [
        number
        for number, (status, _) in enumerate(shown)
        if status in {"failed", "crashed", "hung"}
    ]
    failing = [outcome for status, outcome in shown if status == "failed"]
    width = len(shown) // 12
    assert found["start"]["panel"] == ""
    assert [found[each]["at"] for each in ("first", "second")] == [str(each) for each in bad[:2]]
    first = shown[bad[0]][1]
    assert first.operator in found["first"]["panel"]
    assert all(line in found["first"]["panel"] for line in first.reason.splitlines())
    assert found["first"]["hash"] == f"#cell-{bad[0]}"
    assert found["right"]["at"] == str(bad[1] + 1)
    assert found["down"]["at"] == str(bad[1] + 1 + width)
    assert found["down"]["panel"] != found["right"]["panel"] != ""
    assert (found["closed"]["panel"], found["closed"]["at"]) == ("", found["down"]["at"])
    assert found["filtered"]["lines"] == 1
    assert found["all"]["lines"] == found["again"]["lines"] == 12
    assert found["failed"]["lines"] == len({each.operator for each in failing})
    assert found["failed"]["articles"] == len(failing)
    assert shown[0][1].operator in found["clicked"]["panel"]


@in_browser
def test_an_address_opens_a_cell_with_its_graph(tmp_path: Path) -> None:
    record = made_up_run(12)
    number, outcome = next(
        (number, outcome)
        for number, (_, outcome) in enumerate(cells(record).values())
        if outcome.details
    )
    panel = seen(record, 'look("start");', tmp_path, f"#cell-{number}")["start"]["panel"]
    assert outcome.details["graph"] in panel
    assert outcome.details["timings"] in panel
    assert all(each in panel for each in outcome.samples)
    assert f"{outcome.calls} calls" in panel


@in_browser
def test_no_text_of_a_run_runs_in_a_browser(tmp_path: Path) -> None:
    steps = "".join(
        f'document.querySelectorAll("tbody button.mark")[{at}].click(); look("{at}");'
        for at in range(3)
    )
    found = seen(evil_run(), steps, tmp_path)
    assert len(found) == 3
    for each in found.values():
        assert each["panel"].count(EVIL) >= 3
        assert each["title"] == f"opwright check: {EVIL}"
