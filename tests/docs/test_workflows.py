"""The workflows and issue forms of .github: what runs there can be run by hand, with few rights.

`actionlint`, where it is on the PATH, reads the format; the other tests ask for what it does not.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import defaultdict
from typing import TYPE_CHECKING

import pytest
import yaml  # type: ignore[import-untyped]  # PyYAML ships no types

from tests.docs.tree import GOALS, MAKEFILE
from tools.matrix import PAIRS
from tools.repository import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

FOLDER = ROOT / ".github" / "workflows"
FORMS = ROOT / ".github" / "ISSUE_TEMPLATE"
NAMES = ("docs", "matrix", "release", "test", "wheels")
# A goal, and variables whose values are variables of the job.
RUN = re.compile(r"make (?P<goal>[a-z-]+)(?P<words>(?: [A-Z_]+=\"\$[A-Z_]+\")*)")
WORD = re.compile(r"([A-Z_]+)=\"\$([A-Z_]+)\"")
PINNED = re.compile(r"[\w.-]+(?:/[\w.-]+)+@(?:v\d+|[0-9a-f]{40})")
LOCAL = "./.github/workflows/"
PROVIDED = {"GITHUB_REF_NAME"}  # by the runner
VARIABLES = set(re.findall(r"^([A-Z_]+) \?=", MAKEFILE, re.MULTILINE)) | {"PAIRS"}


def read(name: str) -> str:
    """Return the text of a workflow."""
    return (FOLDER / f"{name}.yml").read_text(encoding="utf-8")


def faults(text: str) -> Iterator[str]:
    """Yield what a workflow does that one of this project must not."""
    workflow: dict[Any, Any] = yaml.safe_load(text)
    if workflow.get("permissions") != {}:
        yield "rights that no job asked for"
    for name, job in workflow["jobs"].items():
        if "permissions" not in job:
            yield f"{name}: no permissions"
        if "uses" in job:
            if not (ROOT / job["uses"]).is_file() or not job["uses"].startswith(LOCAL):
                yield f"{name}: no such workflow: {job['uses']}"
            continue
        if "timeout-minutes" not in job:
            yield f"{name}: no timeout-minutes"
        known = {*workflow.get("env", ()), *job.get("env", ()), *PROVIDED}
        for step in job["steps"]:
            if "uses" in step and not PINNED.fullmatch(step["uses"]):
                yield f"{name}: not pinned: {step['uses']}"
            if "run" in step:
                yield from (f"{name}: {fault}" for fault in faults_of_run(step["run"], known))


def faults_of_run(line: str, known: set[str]) -> Iterator[str]:
    """Yield what is wrong with what a step runs."""
    match = RUN.fullmatch(line.strip())
    if match is None:
        yield f"not one goal of the Makefile: {line}"
        return
    if match["goal"] not in GOALS:
        yield f"the Makefile has no goal {match['goal']}"
    for variable, value in WORD.findall(match["words"]):
        if variable not in VARIABLES:
            yield f"the Makefile has no variable {variable}"
        if value not in known:
            yield f"nothing sets {value}"


def test_there_are_the_workflows_that_have_tests() -> None:
    assert sorted(path.stem for path in FOLDER.iterdir()) == [*NAMES]


@pytest.mark.parametrize("name", NAMES)
def test_a_workflow_runs_goals_of_the_makefile_with_few_rights(name: str) -> None:
    assert list(faults(read(name))) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("permissions: {}\n", "", "rights that no job asked for"),
        ("permissions: {}\n", "permissions: write-all\n", "rights that no job asked for"),
        ("    permissions:\n      contents: read\n", "", "test: no permissions"),
        ("    timeout-minutes: 120\n", "", "test: no timeout-minutes"),
        ("checkout@v6", "checkout@main", "test: not pinned: actions/checkout@main"),
        ("checkout@v6", "checkout@v6.0", "test: not pinned: actions/checkout@v6.0"),
        ("make test", "make tests", "test: the Makefile has no goal tests"),
        ("PIP_ARGS=", "PIP=", "test: the Makefile has no variable PIP"),
        ('"$PIP_ARGS"', '"$PIPARGS"', "test: nothing sets PIPARGS"),
        ("make test", "pytest && make test", "test: not one goal of the Makefile: pytest && make"),
        ('"$PIP_ARGS"', "${{ github.head_ref }}", "test: not one goal of the Makefile: make test"),
    ],
)
def test_what_is_wrong_is_reported(old: str, new: str, fault: str) -> None:
    text = read("test")
    assert old in text
    found = list(faults(text.replace(old, new)))
    assert [each.startswith(fault) for each in found] == [True], found


@pytest.mark.skipif(shutil.which("actionlint") is None, reason="actionlint is not on the PATH")
def test_actionlint_accepts_all_workflows() -> None:
    files = [*FOLDER.iterdir(), *(ROOT / "docs" / "guides").glob("*.yml")]
    command = ["actionlint", "-oneline", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_action_has_one_version() -> None:
    versions = defaultdict(set)
    for path in [*FOLDER.iterdir(), *(ROOT / "docs" / "guides").glob("*.yml")]:
        for action, version in re.findall(r"uses: (\S+)@(\w+)", path.read_text(encoding="utf-8")):
            versions[action].add(version)
    assert {action: each for action, each in versions.items() if len(each) > 1} == {}


@pytest.mark.parametrize("name", ["matrix", "wheels"])
def test_pairs_are_those_of_the_matrix(name: str) -> None:
    (job,) = yaml.safe_load(read(name))["jobs"].values()
    pairs = [f"{each['torch']}/{each['python']}" for each in job["strategy"]["matrix"]["include"]]
    assert pairs == [*PAIRS]


def test_a_release_signs_what_it_publishes() -> None:
    workflow = yaml.safe_load(read("release"))
    assert workflow[True] == {"push": {"tags": ["v*"]}}  # YAML reads the key `on` so
    notes, wheels, publish = workflow["jobs"].values()
    assert notes["steps"][-1]["run"].startswith("make release-notes ")
    assert "workflow_call" in yaml.safe_load(read("wheels"))[True]
    assert (wheels["needs"], publish["needs"]) == ("notes", "wheels")
    assert publish["permissions"] == dict.fromkeys(
        ("contents", "id-token", "attestations"), "write"
    )
    words = [step.get("uses", step.get("run", "")) for step in publish["steps"]]
    order = ["actions/download-artifact", "actions/attest-build-provenance", "make release"]
    assert all(word.startswith(start) for word, start in zip(words[1:], order, strict=True)), words
    folder = publish["steps"][1]["with"]["path"]
    assert publish["steps"][2]["with"]["subject-path"] == f"{folder}/**/*.whl"


def test_artifacts_that_a_release_takes_are_the_wheels() -> None:
    (job,) = yaml.safe_load(read("wheels"))["jobs"].values()
    kept = job["steps"][-1]["with"]
    pattern = yaml.safe_load(read("release"))["jobs"]["publish"]["steps"][1]["with"]["pattern"]
    assert kept["name"].startswith(pattern.removesuffix("*"))
    assert kept["if-no-files-found"] == "error"


@pytest.mark.parametrize("name", ["bug", "missing"])
def test_an_issue_form_asks_what_doctor_says(name: str) -> None:
    form = yaml.safe_load((FORMS / f"{name}.yml").read_text(encoding="utf-8"))
    assert form["name"]
    assert form["description"]
    fields = {each["id"]: each for each in form["body"]}
    assert len(fields) == len(form["body"])
    assert fields["doctor"]["attributes"]["label"] == "Output of `opwright doctor`"
    assert fields["doctor"]["validations"] == {"required": True}
