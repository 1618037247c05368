"""The example custom_pypto, used as a reader of its README would: also what that adds to it.

One wheel is built for all tests: of a copy of the package to which the README's steps were applied.
"""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.sample import EXAMPLES, assert_prints_what_the_readme_says, copied

if TYPE_CHECKING:
    from pathlib import Path

# One worker runs them all: they share what the first one builds.
pytestmark = [
    pytest.mark.twin,
    pytest.mark.build,
    pytest.mark.compile,
    pytest.mark.slow,
]

LIMIT = 900  # seconds; a build from nothing takes less than a minute on two cores
GUIDE = "\n## Adding an operator\n"
# A file of the walk-through with its name before it, or a patch.
BLOCK = re.compile(
    r"^(?:`(?P<path>[\w/.]+)`:\n\n)?```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
PATCH = "diff"


@dataclass(frozen=True)
class Block:
    """A block of code of the README."""

    path: str | None
    language: str
    text: str


def guide() -> list[Block]:
    """Return the blocks of the walk-through."""
    text = (EXAMPLES / "custom_pypto" / "README.md").read_text(encoding="utf-8")
    part = text.partition(GUIDE)[2].partition("\n## ")[0]
    assert part
    return [Block(m["path"], m["language"], m["text"]) for m in BLOCK.finditer(part)]


def run(
    folder: Path, *command: str, input_: str | None = None, path: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder with this interpreter's programs, whatever its exit code."""
    tools = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    environment = {**os.environ, "PATH": tools if path is None else path}
    return subprocess.run(
        command,
        cwd=folder,
        env={**environment, "GIT_CEILING_DIRECTORIES": str(folder.parent)},
        input=input_,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the package with the operator that the walk-through adds."""
    copy = copied("custom_pypto", tmp_path_factory.mktemp("with a space"))
    for block in guide():
        if block.path is not None:
            assert not (copy / block.path).exists()
            (copy / block.path).write_text(block.text, encoding="utf-8")
        elif block.language == PATCH:
            done = run(copy, "git", "apply", "-", input_=block.text)
            assert done.returncode == 0, done.stderr
        else:
            pytest.fail(f"a block of {block.language} that is neither a file nor a patch")
    return copy


@pytest.fixture(scope="module")
def installed(folder: Path) -> Path:
    """Build the wheel and install it; return the virtual environment."""
    done = run(folder, "bash", "run.sh")
    assert done.returncode == 0, done.stdout + done.stderr
    assert_prints_what_the_readme_says("custom_pypto", done.stdout)
    return folder / "build" / "venv"


@pytest.fixture(scope="module")
def tested(folder: Path, installed: Path) -> str:
    """Run the package's tests, and return what they print."""
    done = run(folder, "bash", "examples/run.sh", str(installed), "-vv", "--show-capture=no")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_has_the_layout_of_the_readme(folder: Path, installed: Path) -> None:
    (wheel,) = (folder / "dist").glob("custom_pypto-1.0-*.whl")
    assert wheel.stat().st_size > 0
    (package,) = installed.glob("lib/python*/site-packages/custom_pypto")
    converters = {path.name for path in (package / "converter").glob("*.py")}
    assert {"add_custom.py", "npu_lightning_indexer_pto.py"} <= converters
    assert (package / "custom_pypto_lib.so").exists()


def test_all_tests_of_the_wheel_pass(tested: str) -> None:
    summary = tested.splitlines()[-1]
    assert re.fullmatch(r"=+ \d+ passed(, \d+ warnings)? in [\d.:s() ]+=+", summary), summary
    for mode in ("eager", "max-autotune", "reduce-overhead", "npugraph_ex"):
        for test in ("sums_agree_with_the_cpu", "the_steps_of_a_decoder_agree"):
            assert re.search(rf"::test_{test}\S*\[\S*{mode}\] PASSED", tested), (mode, test)


def test_the_operator_of_the_walk_through_runs_in_every_mode(tested: str) -> None:
    for mode in ("eager", "max-autotune", "reduce-overhead", "npugraph_ex"):
        assert f"test_npu_scale_pto.py::test_it_agrees_with_the_cpu[{mode}] PASSED" in tested


def test_the_walk_through_is_formatted(folder: Path) -> None:
    written = [block.path for block in guide() if block.path is not None]
    sources = [path for path in written if path.endswith(".cpp")]
    style = "{BasedOnStyle: Google, ColumnLimit: 120, DerivePointerAlignment: false}"
    done = run(folder, "clang-format", f"--style={style}", "--dry-run", "--Werror", *sources)
    assert done.returncode == 0, done.stderr
    python = [path for path in written if path.endswith(".py")]
    done = run(folder, "ruff", "format", "--isolated", "--line-length=100", "--check", *python)
    assert done.returncode == 0, done.stdout


def test_lint_finds_nothing(folder: Path) -> None:
    done = run(folder, "opwright", "lint", ".")
    assert done.returncode == 0, done.stdout
    assert "0 errors, 0 warnings" in done.stdout


def test_the_check_accuses_the_schema_that_hides_the_writes(folder: Path, installed: Path) -> None:
    operator = "npu_sparse_attention_pto_undeclared"
    done = run(folder, "bash", "examples/check.sh", str(installed), operator)
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(rf"{operator} +mutation \[npu\] +undeclared-write", done.stdout)


def test_what_is_missing_is_reported(folder: Path) -> None:
    done = run(folder, "bash", "build_and_install.sh", path="/nowhere:/bin")
    assert done.returncode == 1
    assert "is not on the PATH" in done.stderr
    done = run(folder, "bash", "build_and_install.sh", "--frob")
    assert done.returncode == 1
    assert "unknown option '--frob'" in done.stderr
