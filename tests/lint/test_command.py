"""opwright lint on the command line: which files it reads, what it writes, how it ends."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from opwright.cli import app
from opwright.errors import OpwrightError
from opwright.lint.errors import LintPathError
from opwright.lint.linting import read_bytes

VOID = 'TORCH_LIBRARY(n, m) { m.def("f(Tensor x) -> ()", [](const at::Tensor &x) {}); }\n'
PURE = 'TORCH_LIBRARY(n, m) {\n  m.def("f(Tensor x) -> ()");\n}\n'
SOUND = 'TORCH_LIBRARY(n, m) { m.def("f(Tensor x) -> Tensor", [](const at::Tensor &x) {}); }\n'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "csrc").mkdir()
    (tmp_path / "csrc" / "binding.cpp").write_text(PURE)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["lint", *arguments])


def found(result: Result) -> list[tuple[str, str]]:
    data = json.loads(result.stdout)
    return [(each["file"], each["rule"]) for each in data["findings"]]


def error_of(result: Result) -> str:
    assert isinstance(result.exception, OpwrightError)
    return str(result.exception)


def test_findings_end_with_1_and_none_with_0(project: Path) -> None:
    result = run("csrc")
    assert result.exit_code == 1
    assert "csrc/binding.cpp:2:9: error: n::f returns nothing" in result.stdout
    (project / "csrc" / "binding.cpp").write_text(SOUND)
    result = run("csrc")
    assert (result.exit_code, result.stdout) == (0, "0 errors, 0 warnings, 0 notes in 1 files\n")


def test_notes_end_with_0(project: Path) -> None:
    text = PURE.replace("Tensor x", "Tensor! x")
    (project / "csrc" / "binding.cpp").write_text(text)
    result = run("csrc", "--ignore", "no-kernel")
    assert result.exit_code == 0
    assert "[bare-write]" in result.stdout


def test_rules_are_selected_and_ignored(project: Path) -> None:
    assert project.is_dir()
    both = [("csrc/binding.cpp", "no-kernel"), ("csrc/binding.cpp", "void-pure")]
    assert found(run("csrc", "--format", "json")) == both
    assert found(run("csrc", "--format", "json", "--select", "void-pure")) == both[1:]
    assert found(run("csrc", "--format", "json", "--ignore", "void-pure,no-kernel")) == []


def test_an_unknown_rule_is_reported_with_the_nearest(project: Path) -> None:
    assert project.is_dir()
    text = error_of(run("csrc", "--select", "void-pur"))
    assert "OPW-C061" in text
    assert "void-pure, " in text


@pytest.mark.parametrize("arguments", [(), ("nowhere",), ("empty",)])
def test_nothing_to_lint_is_an_error(project: Path, arguments: tuple[str, ...]) -> None:
    (project / "empty").mkdir()
    assert "OPW-C060" in error_of(run(*arguments))


def test_a_mistake_ends_with_2(project: Path) -> None:
    assert project.is_dir()
    command = [sys.executable, "-m", "opwright", "lint", "nowhere"]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ended.returncode == 2
    assert "OPW-C060" in ended.stderr


def test_the_report_goes_to_a_file(project: Path) -> None:
    result = run("csrc", "--format", "sarif", "-o", "lint.sarif", "--statistics")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "void-pure" in result.stderr
    log = json.loads((project / "lint.sarif").read_text())
    assert [each["ruleId"] for each in log["runs"][0]["results"]] == ["no-kernel", "void-pure"]


@pytest.mark.parametrize(
    ("file", "why"), [("no/lint.sarif", "there is no folder"), ("csrc", "which is a folder")]
)
def test_a_file_that_cannot_be_written_is_reported_before_the_run(
    project: Path, monkeypatch: pytest.MonkeyPatch, file: str, why: str
) -> None:
    assert project.is_dir()
    monkeypatch.setattr("opwright.lint.linting.lint", None)
    text = error_of(run("csrc", "-o", file))
    assert "OPW-C062" in text
    assert why in text


def test_a_report_that_cannot_be_written_leaves_the_old_one(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "lint.txt").write_text("old")

    def full(*_given: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("opwright.command_line.files.Path.replace", full)
    assert "OPW-C062" in error_of(run("csrc", "-o", "lint.txt"))
    assert (project / "lint.txt").read_text() == "old"
    assert sorted(each.name for each in project.iterdir()) == ["csrc", "lint.txt"]


def test_a_report_goes_into_a_device() -> None:
    command = [sys.executable, "-m", "opwright", "lint", __file__, "-o", "/dev/stdout"]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ended.stdout == "0 errors, 0 warnings, 0 notes in 1 files\n"
    assert Path("/dev/stdout").is_symlink()


def test_a_suffix_is_read_in_any_case(project: Path) -> None:
    (project / "csrc" / "binding.cpp").rename(project / "csrc" / "BINDING.CPP")
    (project / "core.PY").write_text('import torch\nlib = torch.library.Library("p", "DEF")\n')
    (project / "ops.PY").write_text(
        'from core import lib\nimport torch.library\nlib.define("f(Tensor x) -> ()")\n'
    )
    assert {file for file, _ in found(run(".", "--format", "json"))} == {
        "csrc/BINDING.CPP",
        "ops.PY",
    }


def test_a_suppression_needs_a_reason(project: Path) -> None:
    file = project / "csrc" / "binding.cpp"
    head = 'TORCH_LIBRARY(n, m) {\n  m.def("f(Tensor x) -> ()", [](const at::Tensor &x) {});'
    assert VOID.splitlines()[0].replace("{ ", "{\n  ", 1).startswith(head)
    line = '  m.def("f(Tensor x) -> ()");  // opwright-lint: ignore[void-pure, no-kernel]'
    file.write_text(f"TORCH_LIBRARY(n, m) {{\n{line}\n}}\n")
    rules = [rule for _, rule in found(run("csrc", "--format", "json"))]
    assert sorted(rules) == ["no-kernel", "suppression", "void-pure"]
    file.write_text(f"TORCH_LIBRARY(n, m) {{\n{line} for tests\n}}\n")
    result = run("csrc")
    assert result.exit_code == 0
    assert "2 silenced" in result.stdout


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("ignore[missing-meta] gone", "nothing is found here for missing-meta"),
        ("ignore[missing-mta] typo", "a rule that does not exist: missing-mta"),
        ("ignore all of it", "the suppression names no rule"),
    ],
)
def test_suppressions_that_do_nothing_are_found(project: Path, comment: str, message: str) -> None:
    file = project / "csrc" / "binding.cpp"
    file.write_text(SOUND.rstrip() + f"  // opwright-lint: {comment}\n")
    result = run("csrc")
    assert result.exit_code == 1
    assert message in result.stdout


def test_a_loop_of_links_and_folders_of_others_are_not_followed(project: Path) -> None:
    (project / "csrc" / "again").symlink_to(project, target_is_directory=True)
    (project / "csrc" / "copy.cpp").symlink_to(project / "csrc" / "binding.cpp")
    (project / "csrc" / "gone.cpp").symlink_to(project / "nothing.cpp")
    for folder in ("third_party", "build", ".hidden", "tests", "sub"):
        (project / folder).mkdir()
        (project / folder / "other.cpp").write_text(PURE.replace("(n,", f"({folder.strip('.')},"))
    (project / "sub" / ".git").write_text("gitdir: ../.git/modules/sub\n")
    (project / "big.py").write_text("import torch.library\n#" + "x" * (9 << 20))
    assert {file for file, _ in found(run(".", "--format", "json"))} == {"csrc/binding.cpp"}
    text = run(".", "--verbose").stdout
    assert "sub: a repository of its own" in text
    assert "tests: tests" in text
    assert "big.py: too large" in text
    with_tests = found(run(".", "--tests", "--format", "json"))
    assert ("tests/other.cpp", "void-pure") in with_tests
    named = found(run("sub", "--format", "json"))
    assert ("sub/other.cpp", "void-pure") in named


def test_files_are_left_out(project: Path) -> None:
    (project / "csrc" / "old").mkdir()
    (project / "csrc" / "old" / "a.cpp").write_text(PURE.replace("(n,", "(old,"))
    assert len(found(run("csrc", "--format", "json"))) == 4
    assert len(found(run("csrc", "--format", "json", "--exclude", "old"))) == 2
    assert len(found(run("csrc", "--format", "json", "--exclude", "*/a.cpp"))) == 2


def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    with pytest.raises(LintPathError, match="OPW-C060"):
        read_bytes(tmp_path / "gone.cpp")


def test_rules_are_listed() -> None:
    result = run("--rules")
    assert result.exit_code == 0
    assert "missing-meta       " in result.stdout


def test_torch_is_not_imported() -> None:
    code = (
        "import sys\n"
        "for name in ('torch', 'torch_npu', 'torchgen', 'opwright.twin'):\n"
        "    sys.modules[name] = None\n"
        "from pathlib import Path\n"
        "from opwright.lint.linting import lint\n"
        f"assert lint([Path({str(Path(__file__).parent / 'corpus')!r})]).findings\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
