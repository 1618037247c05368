"""The files for other people's CI: a workflow of ten lines and a Dockerfile, read as they stand."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import TYPE_CHECKING

import pytest
import yaml  # type: ignore[import-untyped]  # PyYAML ships no types

from opwright.pairs import read_pairs
from tests.docs.pages import DOCS
from tests.docs.tree import PYTHON, TAG, TORCH, VERBS, WHEEL

if TYPE_CHECKING:
    from collections.abc import Iterator

GUIDES = DOCS / "guides"
TORCH_NPU = next(each.torch_npu for each in read_pairs() if each.torch == TORCH)
# Commands that the base image has, or that the instructions before install.
PROGRAMS = {"apt-get", "rm", "python3", "pip", "useradd", "opwright"}


@dataclass(frozen=True, slots=True)
class Instruction:
    """A line of a Dockerfile, its continuations joined."""

    name: str
    words: str


def instructions(text: str) -> list[Instruction]:
    """Parse a Dockerfile."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [Instruction(*line.split(maxsplit=1)) for line in joined.splitlines() if line]


def commands(found: list[Instruction]) -> Iterator[list[str]]:
    """Yield the words of each command that the build runs."""
    for each in found:
        if each.name == "RUN":
            yield from (part.split() for part in each.words.split(" && "))


@pytest.fixture(scope="module")
def dockerfile() -> list[Instruction]:
    return instructions((GUIDES / "Dockerfile").read_text(encoding="utf-8"))


def words_of(found: list[Instruction], name: str) -> list[str]:
    """Return the words of the instructions of a name."""
    return [each.words for each in found if each.name == name]


@pytest.mark.parametrize("name", ["twin.yml", "Dockerfile"])
def test_the_page_shows_the_file_beside_it(name: str) -> None:
    page = (GUIDES / "twin_in_ci.md").read_text(encoding="utf-8")
    assert f"\n{(GUIDES / name).read_text(encoding='utf-8')}```\n" in page


def test_the_workflow_has_ten_lines_and_runs_pytest_on_the_twin() -> None:
    text = (GUIDES / "twin.yml").read_text(encoding="utf-8")
    assert len(text.splitlines()) == 10
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    (job,) = workflow["jobs"].values()
    assert job["timeout-minutes"]
    *_, python, tests = job["steps"]
    assert python["with"] == {"python-version": PYTHON}
    assert tests["run"].split(" && ") == [
        f"pip install torch_npu=={TORCH_NPU} pytest ${{{{ vars.OPWRIGHT }}}}",
        "python -m pytest --npu-twin",
    ]


def test_the_image_is_debian_slim_with_the_default_python(dockerfile: list[Instruction]) -> None:
    known = {"FROM", "RUN", "ENV", "ARG", "COPY", "USER", "WORKDIR", "CMD"}
    assert {each.name for each in dockerfile} <= known
    # Debian 12, whose python3 is the default version here.
    assert (words_of(dockerfile, "FROM"), PYTHON) == (["debian:bookworm-slim"], "3.11")
    assert words_of(dockerfile, "USER") == ["npu"]


def test_what_the_image_runs_is_there(dockerfile: list[Instruction]) -> None:
    found = list(commands(dockerfile))
    assert {words[0] for words in found} == PROGRAMS
    assert {words[1] for words in found if words[0] == "opwright"} == {"enable", "doctor"} & VERBS
    for script in words_of(dockerfile, "RUN"):
        subprocess.run(["bash", "-n", "-c", script], check=True)
    packages = next(words for words in found if "install" in words and words[0] == "apt-get")
    assert {"python3", "python3-venv"} <= {*packages}
    (venv,) = (words[-1] for words in found if words[1:3] == ["-m", "venv"])
    assert f"PATH={venv}/bin:$PATH" in words_of(dockerfile, "ENV")


def test_the_image_installs_the_wheel_of_the_default_pair(dockerfile: list[Instruction]) -> None:
    (copied,) = words_of(dockerfile, "COPY")
    source, target = copied.split()
    assert fnmatch(f"dist/{WHEEL}", source)
    assert not fnmatch(f"dist/{WHEEL.replace(TAG, 'cp312')}", source)
    install = next(words for words in commands(dockerfile) if words[:2] == ["pip", "install"])
    assert {f"torch_npu=={TORCH_NPU}", f"{target}*.whl", "pytest"} <= {*install}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# a\nFROM x:y\n", [("FROM", "x:y")]),
        ("RUN a \\\n    && b c\n\nUSER u\n", [("RUN", "a && b c"), ("USER", "u")]),
    ],
)
def test_instructions_are_read(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(each.name, each.words) for each in instructions(text)] == expected
