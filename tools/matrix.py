"""Build and test opwright for several pairs, and write the page that says what passes.

    python -m tools.matrix                       PAIRS, as far as their Python is on this machine
    python -m tools.matrix 2.10.0/3.11 2.14.0/3.13
    python -m tools.matrix --quick 2.10.0/3.11   without the slow tests and the examples
    python -m tools.matrix --without tests/twin/graphs 2.10.0/3.11
    python -m tools.matrix --again 2.10.0/3.11   only what failed: steps, and files of tests
    python -m tools.matrix 2.10.0/3.11/aarch64   for another processor, which this machine emulates
    python -m tools.matrix --page-only           from the results that are there

Each pair has its own tree (build/pairs), in which `make demo`, all tests, the examples and
PyTorch's own tests in float32 run. The results stand in tests/matrix, so that a pair can be run on
one machine and the next one on another. On an emulated processor, where everything takes many times
as long, the tests are left out, and all examples but EMULATED_EXAMPLES.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import tomli

from opwright.pairs import read_pairs
from tools.aarch64 import find_missing_packages
from tools.preflight import npu_release
from tools.repository import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

TREES = ROOT / "build" / "pairs"
RESULTS = ROOT / "tests" / "matrix"  # a file for each pair, in git
REPORT = "tests-{}.xml"  # of a run; tests that run again have the outcome of the last one
DEFAULT = "2.13.0/3.11"
# Those that well-known projects on Ascend pin, the default and the newest.
PAIRS = ("2.7.1/3.11", "2.9.0/3.11", "2.10.0/3.11", "2.10.0/3.12", DEFAULT, "2.14.0/3.13")
# On other processors; the newest torch whose wheel for it needs no CUDA.
EMULATED = ("2.10.0/3.11/aarch64",)
STEPS = ("setup", "demo", "test", "examples", "conformance")
EMULATED_STEPS = ("setup", "demo", "examples")
QUICK_STEPS = ("setup", "demo", "test")
CONFORMANCE = "conformance.json"  # the counts, below a tree's build folder
CASES = "*/float32/*"
# Nets are trained, and operators in Ascend C run; `make demo` has wheels and compiled graphs.
EMULATED_EXAMPLES = ("ascend_c", "training")
STATES = {True: "yes", False: "no", None: "not run"}
INTRODUCTION = """\
# Versions

Written by `make matrix`; do not edit. A wheel of torch_npu is for one minor version of torch, and
so is a build of opwright. `make demo`, `make test` and `make setup` take `TORCH=2.10.0
PYTHON=python3.12`; the pair then has a tree of its own below `build/pairs`, and the others stay as
they are. In an environment that has torch and torch_npu, `pip install .` builds for those.

`test` says whether no test failed, `tests` how many passed of those that apply; "quick" leaves out
those that take longer than two seconds. `conformance` has PyTorch's own tests in float32: how many
pass of those that this torch_npu supports. The torch_npu of a row is the release that was tested,
at the commits in the last column.
"""


@dataclass(frozen=True)
class Result:
    """The outcome of one pair."""

    pair: str
    torch_npu: str
    quick: bool = False  # the slow tests and the examples were left out
    left_out: list[str] = field(default_factory=list)  # files and folders of tests
    steps: dict[str, bool] = field(default_factory=dict)
    suites: dict[str, dict[str, int]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    conformance: dict[str, int] = field(default_factory=dict)  # passed, supported
    commit: str = ""


@dataclass(frozen=True)
class Parts:
    """The parts of a pair's name."""

    torch: str
    python: str
    arch: str = ""  # of an emulated processor

    @classmethod
    def of(cls, pair: str) -> Parts:
        """Read a name: torch and Python, and the processor if another one than this machine's."""
        return cls(*pair.split("/"))

    @property
    def tree(self) -> str:
        """The name of the folder below build/pairs."""
        return "-".join(filter(None, ["torch", self.torch, "python", self.python, self.arch]))

    @property
    def result(self) -> str:
        """The name of the file in tests/matrix."""
        return "-".join(filter(None, [self.torch, self.python, self.arch])) + ".json"


def tree_of(pair: str) -> Path:
    """Return the tree of a pair; the default one is built in the clone itself."""
    return ROOT if pair == DEFAULT else TREES / Parts.of(pair).tree


def make(pair: str, goal: str, *variables: str) -> bool:
    """Run a goal of the Makefile for a pair, with a log; return whether it succeeds."""
    parts = Parts.of(pair)
    log = TREES / f"{parts.tree}.{goal}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    command = ["make", goal, f"TORCH={parts.torch}", f"PYTHON=python{parts.python}"]
    command += [f"ARCH={parts.arch}", *variables]
    with log.open("w", encoding="utf-8") as stream:
        done = subprocess.run(
            command, cwd=ROOT, stdout=stream, stderr=subprocess.STDOUT, check=False
        )
    print(f"  {goal}: {'ok' if done.returncode == 0 else f'FAILED, see {log}'}", flush=True)
    return done.returncode == 0


def find_reason_to_leave_out(pair: str) -> str:
    """Return what this machine lacks for a pair; an empty text if nothing."""
    parts = Parts.of(pair)
    python = f"python{parts.python}"
    if reason := find_reason_not_to_run(python):
        return reason
    missing = find_missing_packages() if parts.arch else []
    return f"apt-get install {' '.join(missing)} comes first" if missing else ""


def find_reason_not_to_run(python: str) -> str:
    """Return why an interpreter does not run, and what to do; an empty text if it does.

    One on the PATH may be a script of pyenv, which fails if no version of that name is chosen.
    """
    found = shutil.which(python, path=os.environ["PATH"])
    if found is None:
        return f"there is no {python} on the PATH"
    done = subprocess.run([found, "-c", ""], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    said = " ".join(done.stderr.split("\n\n")[0].split()) or f"it ends with {done.returncode}"
    return (
        f"{found} does not run ({said}): put an interpreter that runs first on the PATH; "
        "for one of pyenv's, choose its version with `pyenv global` or PYENV_VERSION"
    )


def run_pair(pair: str, *, quick: bool, left_out: list[str]) -> Result:
    """Set a pair up and run everything for it."""
    release = npu_release(Parts.of(pair).torch, read_pairs())
    result = Result(pair, release, quick=quick, left_out=left_out)
    for report in reports_of(pair):
        report.unlink()
    return run_steps(result, steps_of(pair, quick=quick), ignore(left_out))


def run_again(pair: str) -> Result:
    """Run the steps that did not succeed once more; of the tests, the files in which one failed."""
    result = read_result(result_file(pair))
    unreadable = any(name.startswith("::") for name in result.failures)
    if unreadable or (result.suites and not reports_of(pair)):
        # A file that cannot be imported has no module, and ends a run before its first test; and
        # the reports of pytest may be on another machine.
        return run_pair(pair, quick=result.quick, left_out=result.left_out)
    steps = [
        step
        for step in steps_of(pair, quick=result.quick)
        if step == "setup" or not result.steps.get(step)
    ]
    files = sorted({file_of(name) for name in result.failures})
    return run_steps(result, steps, files or ignore(result.left_out))


def steps_of(pair: str, *, quick: bool) -> list[str]:
    """Return the steps for a pair: fewer in a quick run, and no tests where it is emulated."""
    if Parts.of(pair).arch:
        return list(EMULATED_STEPS)
    return list(QUICK_STEPS if quick else STEPS)


def ignore(paths: Sequence[str]) -> list[str]:
    """Return pytest's arguments that leave out files and folders of tests."""
    return [f"--ignore={path}" for path in paths]


def run_steps(result: Result, steps: Sequence[str], arguments: Sequence[str]) -> Result:
    """Run these steps for a pair, pytest with more arguments, and return the new result."""
    reports = reports_of(result.pair)
    report = tree_of(result.pair) / "build" / REPORT.format(len(reports))
    variables = {
        "test": [f"PYTEST_ARGS={' '.join([f'--junitxml={report}', *arguments])}"],
        "examples": ["VERB=test"],
        "conformance": [f"CASES={CASES}"],
    }
    if Parts.of(result.pair).arch:
        variables["examples"] = [f"EXAMPLES={' '.join(EMULATED_EXAMPLES)}"]
    outcomes, before = dict(result.steps), read_commit()
    (tree_of(result.pair) / "build" / CONFORMANCE).unlink(missing_ok=True)
    for step in steps:
        goal = "quick" if result.quick and step == "test" else step
        outcomes[step] = make(result.pair, goal, *variables.get(step, []))
        if step == "setup" and not outcomes[step]:
            break
    suites, failures = count(reports_of(result.pair))
    return replace(
        result,
        steps=outcomes,
        suites=suites,
        failures=failures,
        conformance=read_conformance(result.pair) or result.conformance,
        commit=join_commits(result.commit, before),
    )


def read_conformance(pair: str) -> dict[str, int]:
    """Return what PyTorch's own tests have counted in this run; nothing if they did not run."""
    file = tree_of(pair) / "build" / CONFORMANCE
    if not file.is_file():
        return {}
    counts = json.loads(file.read_text(encoding="utf-8"))
    return {name: counts[name] for name in ("passed", "supported")}


def join_commits(first: str, last: str) -> str:
    """Show the commits that steps were run at.

    >>> join_commits("", "0123abcd"), join_commits("4567cdef", "0123abcd")
    ('0123abcd', '4567cdef, 0123abcd')
    """
    return ", ".join(dict.fromkeys(filter(None, [*first.split(", "), last])))


def read_commit() -> str:
    """Return the commit of this repository and whether files differ; nothing where git has none."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=8", "--exclude=*"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def reports_of(pair: str) -> list[Path]:
    """Return what pytest has written for a pair, the first run first."""
    found = (tree_of(pair) / "build").glob(REPORT.format("*"))
    return sorted(found, key=lambda file: (len(file.name), file.name))


def count(reports: Sequence[Path]) -> tuple[dict[str, dict[str, int]], list[str]]:
    """Return the counts of each suite, and the tests that failed, as their last run left them."""
    outcomes: dict[tuple[str, str], str] = {}
    for report in reports:
        for case in ET.parse(report).getroot().iter("testcase"):  # noqa: S314 - pytest wrote it
            outcomes[case.attrib["classname"], case.attrib["name"]] = outcome_of(case)
    suites: dict[str, Counter[str]] = {}
    for (module, _), outcome in outcomes.items():
        folders = [each for each in Path(file_of(module)).parts[:-1] if each != "tests"]
        suite = "/".join(folders[:2]) or "others"
        suites.setdefault(suite, Counter())[outcome] += 1
    failures = [
        f"{module}::{name}" for (module, name), outcome in outcomes.items() if outcome == "failed"
    ]
    return {name: dict(counts) for name, counts in sorted(suites.items())}, sorted(failures)


def outcome_of(case: ET.Element) -> str:
    """Return how a test ended; one that differs does what tests/by_version.toml says."""
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    if (skipped := case.find("skipped")) is not None:
        return "differs" if skipped.get("type") == "pytest.xfail" else "skipped"
    return "passed"


def file_of(test: str) -> str:
    """Return the file of a test in a report, which may be in a class.

    >>> file_of("tests.kit.live.test_a::test_two"), file_of("tests.test_b.TestCache::test_1")
    ('tests/kit/live/test_a.py', 'tests/test_b.py')
    """
    folders, _, module = test.partition("::")[0].partition(".test_")
    return f"{folders.replace('.', '/')}/test_{module.partition('.')[0]}.py"


def read_stored_results() -> list[Result]:
    """Return what was stored for all pairs, the oldest torch first."""
    found = [read_result(file) for file in RESULTS.glob("*.json")]
    return sorted(found, key=lambda result: order_of(result.pair))


def result_file(pair: str) -> Path:
    """Return where the result of a pair is stored."""
    return RESULTS / Parts.of(pair).result


def read_result(file: Path) -> Result:
    """Read a stored result."""
    return Result(**json.loads(file.read_text(encoding="utf-8")))


def order_of(pair: str) -> tuple[list[int], str]:
    """Return the key that orders pairs: their numbers, emulated processors last."""
    parts = Parts.of(pair)
    return [int(number) for number in f"{parts.torch}.{parts.python}".split(".")], parts.arch


def page(results: list[Result]) -> str:
    """Return the text of docs/versions.md."""
    columns = ["torch, torch_npu", "Python", *STEPS[:-1], "tests", STEPS[-1], "commit"]
    lines = [INTRODUCTION, f"| {' | '.join(columns)} |"]
    lines.append("|---|---|" + "---|" * len(STEPS[:-1]) + "--:|--:|---|")
    for result in results:
        parts = Parts.of(result.pair)
        steps = [STATES[result.steps.get(step)] for step in STEPS[:-1]]
        tests = share(totals(result)) + " (quick)" * result.quick
        python = ", ".join(filter(None, [parts.python, parts.arch]))
        cells = [f"{parts.torch}, {result.torch_npu}", python, *steps, tests]
        cells += [show_conformance(result.conformance), result.commit]
        lines.append(f"| {' | '.join(cells)} |")
    if any(Parts.of(result.pair).arch for result in results):
        examples = ", ".join(f"`{name}`" for name in EMULATED_EXAMPLES)
        lines += [
            "",
            f"qemu-user emulates another processor; of the examples, {examples} run there.",
        ]
    for result in results:
        if result.left_out:
            paths = ", ".join(f"`{path}`" for path in result.left_out)
            lines += ["", f"Left out with {result.pair}: {paths}."]
    lines += ["", "## Tests by suite", "", "Passed of those that apply; skipped ones do not.", ""]
    tested = [result for result in results if result.suites]
    names = sorted({name for result in tested for name in result.suites})
    lines.append("| suite | " + " | ".join(result.pair for result in tested) + " |")
    lines.append("|---|" + "--:|" * len(tested))
    for name in names:
        cells = [share(Counter(result.suites.get(name, {}))) for result in tested]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += ["", "## What does not pass, and why", ""]
    lines += reasons() or ["Nothing is known."]
    unexplained = [(result.pair, name) for result in results for name in result.failures]
    if unexplained:
        lines += ["", "Without a reason yet:", ""]
        lines += [f"* {pair}: `{name}`" for pair, name in unexplained]
    return "\n".join(lines) + "\n"


def show_conformance(counts: dict[str, int]) -> str:
    """Show the cases that passed of those that are supported."""
    if not counts:
        return STATES[None]
    passed, supported = counts["passed"], counts["supported"]
    return f"{passed} of {supported}, {passed / supported:.1%}" if supported else "none"


def totals(result: Result) -> Counter[str]:
    """Return the counts of all suites together."""
    return sum((Counter(counts) for counts in result.suites.values()), Counter())


def share(counts: Counter[str]) -> str:
    """Show the tests that passed of those that apply."""
    apply = counts["passed"] + counts["failed"] + counts["differs"]
    return f"{counts['passed']} of {apply}, {counts['passed'] / apply:.1%}" if apply else ""


def reasons() -> list[str]:
    """Return the lines about tests/by_version.toml: a reason, where it holds, and the tests."""
    content = tomli.loads((ROOT / "tests" / "by_version.toml").read_text(encoding="utf-8"))
    lines = []
    for entry in content.get("differs", ()):
        where = [f"{key} {entry[key]}" for key in ("torch", "python") if key in entry]
        where += [f"without `{entry['lacks']}`"] if "lacks" in entry else []
        lines.append(f"* {', '.join(where)}: {entry['reason']}")
        lines += [f"    * {tests}" for tests in tests_by_file(entry["tests"])]
    return lines


def tests_by_file(names: Sequence[str]) -> list[str]:
    """Show the tests of each file, one with parameters once.

    >>> tests_by_file(["tests/a.py::test_1[x]", "tests/a.py::test_1[y]", "tests/b.py"])
    ['`tests/a.py`: `test_1` (2)', '`tests/b.py`']
    """
    files: dict[str, Counter[str]] = {}
    for name in names:
        file, _, test = name.partition("::")
        files.setdefault(file, Counter()).update([test.partition("[")[0]] if test else [])
    texts = []
    for file, tests in files.items():
        shown = [f"`{test}`" + f" ({number})" * (number > 1) for test, number in tests.items()]
        texts.append(f"`{file}`" + f": {', '.join(shown)}" * bool(shown))
    return texts


def main() -> int:
    """Run the pairs, store what they did and write the page; 1 if a step fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("pairs", nargs="*", metavar="TORCH/PYTHON[/ARCH]")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "versions.md")
    parser.add_argument("--quick", action="store_true", help="leave out the slow tests, examples")
    parser.add_argument("--without", action="append", default=[], metavar="PATH", help="of tests")
    parser.add_argument("--again", action="store_true", help="only what failed in the last run")
    parser.add_argument("--page-only", action="store_true")
    options = parser.parse_args()
    failed = False
    for pair in () if options.page_only else options.pairs or (*PAIRS, *EMULATED):
        if reason := find_reason_to_leave_out(pair):
            print(f"{pair}: left out, {reason}")
            continue
        print(pair, flush=True)
        if options.again and result_file(pair).is_file():
            result = run_again(pair)
        else:
            result = run_pair(pair, quick=options.quick, left_out=options.without)
        failed |= not all(result.steps.values())
        text = json.dumps(asdict(result), indent=1) + "\n"
        RESULTS.mkdir(exist_ok=True)
        result_file(pair).write_text(text, encoding="utf-8")
    options.page.write_text(page(read_stored_results()), encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
