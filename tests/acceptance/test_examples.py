"""Every example has the verbs of its run.sh, a README of one form, a row in the table."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.sample import EXAMPLES, copied, promised, run

if TYPE_CHECKING:
    from pathlib import Path

NAMES = sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir())
VERBS = ["bash run.sh", "bash run.sh test", "bash run.sh clean"]
SECTIONS = ["Run", "What it prints", "Files"]  # first, in this order


def test_every_example_is_in_the_table() -> None:
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(\w+)\]\((\w+)\) \|(?:[^|\n]+\|){4}$", readme, re.MULTILINE)
    assert sorted(rows) == [(name, name) for name in NAMES]


@pytest.mark.parametrize("name", NAMES)
def test_the_readme_has_the_form_of_all(name: str) -> None:
    text = (EXAMPLES / name / "README.md").read_text(encoding="utf-8")
    assert re.match(r"# .+\n\n.", text)
    assert re.findall(r"^## (.+)$", text, re.MULTILINE)[: len(SECTIONS)] == SECTIONS
    assert promised(name)
    section = text.partition("\n## Run\n")[2].partition("\n## ")[0]
    shown = [line.split("#")[0].strip() for line in section.splitlines()]
    assert [line for line in VERBS if line not in shown] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_script_is_executable_and_says_its_verbs(name: str) -> None:
    script = EXAMPLES / name / "run.sh"
    assert script.stat().st_mode & stat.S_IXUSR
    texts = []
    for arguments in (["--help"], ["-h"], ["test", "--help"]):
        done = run(script, *arguments)
        assert (done.returncode, done.stderr) == (0, "")
        texts.append(done.stdout)
    assert len(set(texts)) == 1
    usage = re.findall(r"^  (bash run\.sh[ a-zA-Z]*?)  +\S", texts[0], re.MULTILINE)
    assert [line for line in usage if line in VERBS] == VERBS


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_argument_is_reported(name: str, tmp_path: Path) -> None:
    sample = copied(name, tmp_path)
    done = run("bash", sample / "run.sh", "--frob")
    assert done.returncode == 1
    assert "unknown argument '--frob'" in done.stderr
    done = run("bash", sample / "run.sh", "clean", "--frob")
    assert done.returncode == 1
    assert "unknown argument '--frob'" in done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_what_is_missing_is_reported(name: str, tmp_path: Path) -> None:
    bash, dirname = shutil.which("bash"), shutil.which("dirname")
    assert bash is not None
    assert dirname is not None
    (tmp_path / "dirname").symlink_to(dirname)
    done = subprocess.run(
        [bash, str(EXAMPLES / name / "run.sh")],
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "is not on the PATH; activate its environment first" in done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_clean_leaves_the_sources(name: str, tmp_path: Path) -> None:
    sample = copied(name, tmp_path)
    before = sorted(sample.rglob("*"))
    (sample / "build" / "deep").mkdir(parents=True)
    (sample / "build" / "deep" / "file").touch()
    for _ in range(2):  # where nothing was made, too
        done = run("bash", sample / "run.sh", "clean")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert sorted(sample.rglob("*")) == before


def test_make_examples_runs_all_and_shows_the_end_of_what_failed(tmp_path: Path) -> None:
    scripts = {"bad": "seq 100; exit 3", "good": 'echo "the verb is $1"', "late": "true"}
    for name, text in scripts.items():
        script = tmp_path / "examples" / name / "run.sh"
        script.parent.mkdir(parents=True)
        script.write_text(text + "\n")
    makefile = EXAMPLES.parent / "Makefile"
    made = ["make", "-C", str(tmp_path), "-f", str(makefile), "-o", "setup", "--no-print-directory"]
    done = run(*made, "examples", "VERB=test")
    assert done.returncode == 2
    words = re.findall(r"^(\w+) +(ok|FAILED) +\d+ s$", done.stdout, re.MULTILINE)
    assert words == [("bad", "FAILED"), ("good", "ok"), ("late", "ok")]
    numbers = re.findall(r"^ +(\d+)$", done.stdout, re.MULTILINE)
    assert numbers == [str(number) for number in range(61, 101)]
    assert done.stdout.endswith("failed: bad\n")
    log = tmp_path / "build" / "examples" / "good.log"
    assert log.read_text() == "the verb is test\n"
    assert run(*made, "examples", "EXAMPLES=good late").returncode == 0
