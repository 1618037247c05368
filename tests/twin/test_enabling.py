"""`opwright enable`: plain `python` on the twin, in an environment made for the test."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from opwright.twin.enabling import (
    FILES,
    EnvironmentNotWritableError,
    disable,
    enable,
    state,
)

ROOT = Path(__file__).parents[2]
# How torch_npu would be loaded, without importing it.
LOADER = "import importlib.util as u; print(type(u.find_spec('torch_npu').loader).__name__)"
# Variables that choose a CANN; the process of these tests may be on the twin.
CHOICES = ("ASCEND", "OPWRIGHT", "LD_LIBRARY_PATH", "PYTHONPATH", "TORCH_DEVICE")


@dataclass(frozen=True)
class Environment:
    """A virtual environment that sees the packages of ours."""

    root: Path

    @property
    def packages(self) -> Path:
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        return self.root / "lib" / version / "site-packages"

    def see(self, *folders: str | Path) -> None:
        """Look for packages in these folders too, and in no other one."""
        (self.packages / "seen.pth").write_text("\n".join(map(str, folders)), encoding="utf-8")

    def python(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        plain = {k: v for k, v in os.environ.items() if not k.startswith(CHOICES)}
        command = [str(self.root / "bin" / "python"), *arguments]
        return subprocess.run(
            command,
            cwd=self.root,  # not in the checkout, whose packages would be found there
            env=plain | variables,
            capture_output=True,
            text=True,
            check=False,
        )

    def printed(self, *arguments: str, **variables: str) -> str:
        done = self.python(*arguments, **variables)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    command = [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "environment")]
    subprocess.run(command, check=True)
    made = Environment(tmp_path / "environment")
    made.see(sysconfig.get_path("purelib"), ROOT)
    return made


@pytest.fixture
def cann(tmp_path: Path) -> Path:
    """Return the folder of a CANN that is not ours, as far as it is looked at."""
    (tmp_path / "cann" / "lib64").mkdir(parents=True)
    (tmp_path / "cann" / "lib64" / "libascendcl.so").touch()
    return tmp_path / "cann"


@pytest.mark.twin
def test_plain_python_runs_on_the_twin(environment: Environment) -> None:
    program = "import torch; print(torch.ones(2).npu().sum().item())"
    assert environment.python("-c", program).returncode == 1
    said = environment.printed("-m", "opwright", "enable")
    assert said.startswith("torch_npu runs on the twin, where no CANN is, in the environment of ")
    assert said.endswith(str(environment.packages))
    assert environment.printed("-W", "ignore", "-c", program) == "2.0"


def test_disable_takes_it_back(environment: Environment) -> None:
    before = sorted(environment.packages.iterdir())
    environment.printed("-m", "opwright", "enable")
    assert environment.printed("-c", LOADER) == "ActivatingLoader"
    assert "no longer runs" in environment.printed("-m", "opwright", "disable")
    assert "did not run" in environment.printed("-m", "opwright", "disable")
    assert environment.printed("-c", LOADER) == "SourceFileLoader"
    left = {path for path in environment.packages.iterdir() if path.name != "__pycache__"}
    assert sorted(left) == before


def test_a_real_cann_goes_first_unless_the_twin_is_preferred(
    environment: Environment, cann: Path
) -> None:
    named = [
        {"ASCEND_HOME_PATH": str(cann)},
        {"ASCEND_TOOLKIT_HOME": str(cann)},
        {"LD_LIBRARY_PATH": str(cann / "lib64")},
    ]
    for prefer, loader in ((False, "SourceFileLoader"), (True, "ActivatingLoader")):
        enable(environment.packages, prefer=prefer)
        assert [environment.printed("-c", LOADER, **each) for each in named] == [loader] * 3


def test_a_shell_with_a_real_cann_has_it_named(environment: Environment, cann: Path) -> None:
    done = environment.printed("-m", "opwright", "enable", ASCEND_HOME_PATH=str(cann))
    assert f"name the CANN in {cann}, which goes first" in done
    # Each variable counts, as for the installed module, also beside one that names the twin.
    beside = {"ASCEND_HOME_PATH": str(ROOT / "opwright" / "cann"), "ASCEND_TOOLKIT_HOME": str(cann)}
    assert f"name the CANN in {cann}, which" in environment.printed(
        "-m", "opwright", "enable", **beside
    )
    preferred = environment.printed(
        "-m", "opwright", "enable", "--prefer", ASCEND_HOME_PATH=str(cann)
    )
    assert "goes first" not in preferred
    assert "goes first" not in environment.printed("-m", "opwright", "enable")


def test_the_twins_own_variables_are_no_real_cann(environment: Environment) -> None:
    enable(environment.packages)
    toolkit = ROOT / "opwright" / "cann"
    variables = {
        "ASCEND_HOME_PATH": str(toolkit),
        "LD_LIBRARY_PATH": f"/nowhere{os.pathsep}{toolkit / 'lib64'}",
    }
    assert environment.printed("-c", LOADER, **variables) == "ActivatingLoader"


def test_the_switch_and_an_uninstalled_opwright_keep_the_twin_out(
    environment: Environment,
) -> None:
    enable(environment.packages)
    assert environment.printed("-c", LOADER, OPWRIGHT_TWIN="0") == "SourceFileLoader"
    environment.see(sysconfig.get_path("purelib"))  # without this checkout
    assert environment.printed("-c", LOADER) == "SourceFileLoader"


def test_python_starts_with_one_small_module_more(environment: Environment) -> None:
    program = "import sys; print(*sys.modules)"
    before = set(environment.printed("-c", program).split())
    enable(environment.packages)
    more = set(environment.printed("-c", program).split()) - before
    assert more == {"_opwright_twin", "__future__"}


def test_no_start_compiles_the_module(environment: Environment) -> None:
    module = Path(cache_from_source(str(environment.packages / "_opwright_twin.py")))
    enable(environment.packages)
    assert module.is_file()
    disable(environment.packages)
    assert not module.exists()


def test_pip_knows_the_files(tmp_path: Path) -> None:
    folder = tmp_path / "opwright-0.1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: opwright\nVersion: 0.1.0\n")
    files = b"opwright/__init__.py,sha256=x,1\r\nopwright-0.1.0.dist-info/RECORD,,\r\n"
    (folder / "RECORD").write_bytes(files)
    for prefer in (False, False, True):
        enable(tmp_path, prefer=prefer)
        listed = (folder / "RECORD").read_bytes()
        assert listed == files + "".join(f"{name},,\n" for name in FILES).encode()
    assert disable(tmp_path)
    assert (folder / "RECORD").read_bytes() == files


def test_pytest_does_not_warn_of_the_module(environment: Environment) -> None:
    """Where warnings are errors, it would not start: pip's list has the module with a plugin."""
    folder = environment.packages / "opwright-0.1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: opwright\nVersion: 0.1.0\n")
    (folder / "entry_points.txt").write_text("[pytest11]\nopwright = opwright.pytest_plugin\n")
    (folder / "RECORD").write_text("opwright-0.1.0.dist-info/RECORD,,\n")
    enable(environment.packages)
    assert FILES[0] in (folder / "RECORD").read_text(encoding="utf-8")
    done = environment.python("-m", "pytest", "-W", "error", "-p", "no:cacheprovider", "--co")
    assert done.returncode == pytest.ExitCode.NO_TESTS_COLLECTED, done.stdout + done.stderr


def test_what_changes_nothing_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the user of an image whose packages belong to root."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    def forbid(patch: pytest.MonkeyPatch) -> None:
        for name in ("write_atomically", "record", "py_compile.compile"):
            patch.setattr(f"opwright.twin.enabling.{name}", refuse)
        patch.setattr(Path, "unlink", refuse)

    with monkeypatch.context() as patch:
        forbid(patch)
        assert not disable(tmp_path)
    enable(tmp_path)
    forbid(monkeypatch)
    enable(tmp_path)
    for change in (lambda: enable(tmp_path, prefer=True), lambda: disable(tmp_path)):
        with pytest.raises(EnvironmentNotWritableError, match="Permission denied"):
            change()


def test_the_state_is_read_from_the_folder(tmp_path: Path) -> None:
    seen = [state(tmp_path)]
    for prefer in (False, True, False):
        enable(tmp_path, prefer=prefer)
        seen.append(state(tmp_path))
    disable(tmp_path)
    assert [*seen, state(tmp_path)] == ["disabled", "enabled", "preferred", "enabled", "disabled"]


def test_an_environment_that_cannot_be_changed_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "site-packages"
    folder.touch()
    with pytest.raises(EnvironmentNotWritableError, match="OPW-T022") as caught:
        enable(folder)
    assert str(folder) in str(caught.value)
