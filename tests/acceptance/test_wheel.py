"""The wheel of `make wheel`, used without compiler and sources.

It is installed into an empty environment, which has links to the packages of this one, so that
torch and torch_npu are not downloaded again.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from importlib.metadata import version
from io import BytesIO
from pathlib import Path

import auditwheel.policy
import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection
from elftools.elf.sections import SymbolTableSection

from native.portable import stubs
from opwright import __version__
from tests.acceptance.sample import add_custom_project
from tests.docs.pages import DOCS, follow
from tools.repository import repository_files

ROOT = Path(__file__).parents[2]
LIMIT = 900  # seconds for one command
MAX_BYTES = 60e6  # of the wheel
PACKAGES = ("opwright/", "aie/python/torch_aie/", "aie/python/mindietorch/")
PROGRAMS = ("bash", "sh", "ls", "grep")  # of the machine; none of them compiles
SITE = Path("lib", f"python{sys.version_info.major}.{sys.version_info.minor}", "site-packages")
OURS = re.compile(r"opwright|torch_aie|mindietorch|_editable|__pycache__|cmake|ninja|.*\.pth$")
MISSING_COMPILER = """\
OPW-B010 a tool of the build is missing
  where:   PATH
  got:     no program 'g++'
  fix:     this needs a C++ compiler: install g++ 11 or newer, or name one in CXX
"""

pytestmark = [pytest.mark.twin, pytest.mark.slow]


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment without opwright, and what surrounds it."""

    folder: Path
    programs: Path

    @property
    def site(self) -> Path:
        """The folder of its packages."""
        return self.folder / SITE

    def variables(self, *, compiler: bool = False) -> dict[str, str]:
        """Return the variables of a user's shell, with the machine's programs or a few alone."""
        path = [str(self.folder / "bin"), os.environ["PATH"] if compiler else str(self.programs)]
        home = str(self.folder / "home")
        return {
            "PATH": os.pathsep.join(path),
            "HOME": home,
            "LANG": "C.UTF-8",
            "COLUMNS": "200",  # doctor's table breaks no path
            "OMP_NUM_THREADS": "1",
        }

    def run(
        self, *command: str | Path, cwd: Path, compiler: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """Run a command, whatever its exit code."""
        return subprocess.run(
            ["bash", "-c", '"$@"', "bash", *map(str, command)],
            cwd=cwd,
            env=self.variables(compiler=compiler),
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )

    def output(self, *command: str | Path, cwd: Path, compiler: bool = False) -> str:
        """Run a command, which must succeed, and return what it printed."""
        done = self.run(*command, cwd=cwd, compiler=compiler)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def pip(self, *arguments: str | Path) -> None:
        """Run the pip of this process's environment on this one."""
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
        command += ["--python", str(self.folder), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"

    def files(self) -> set[Path]:
        """Return its files, but not those that links lead to, nor bytecode of site-packages."""
        return {
            Path(top, name)
            for top, _, names in os.walk(self.folder)
            for name in names
            if Path(top) != self.site / "__pycache__"
        }


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_wheel(tmp_path_factory.mktemp("first"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    made = empty_environment(tmp_path_factory.mktemp("machine"))
    made.pip("install", "--no-index", wheel)  # it finds what it requires
    return made


def empty_environment(folder: Path) -> Environment:
    made = Environment(folder / "environment", folder / "programs")
    command = [sys.executable, "-m", "venv", "--without-pip", str(made.folder)]
    subprocess.run(command, check=True, timeout=LIMIT)
    for package in Path(sysconfig.get_path("purelib")).iterdir():
        if not OURS.match(package.name):
            (made.site / package.name).symlink_to(package)
    (made.folder / "home").mkdir()
    made.programs.mkdir()
    for name in PROGRAMS:
        found = shutil.which(name)
        assert found is not None
        (made.programs / name).symlink_to(found)
    return made


@pytest.fixture(scope="module")
def project(installed: Environment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the tutorial's project, up to where it needs a compiler."""
    folder = tmp_path_factory.mktemp("project")
    environ = installed.variables()
    follow(DOCS / "tutorial.md", folder, before="## Is it right?", environ=environ)
    return folder / "my_ops"


def make_wheel(output: Path, **variables: str) -> Path:
    done = subprocess.run(
        [sys.executable, "-m", "tools.wheel", "--output", output],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = output.iterdir()
    return made


def libraries(wheel: Path) -> dict[str, ELFFile]:
    with zipfile.ZipFile(wheel) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    return {
        name: ELFFile(BytesIO(content))
        for name, content in contents.items()
        if content.startswith(b"\x7fELF")
    }


def test_its_name_has_the_pair_and_the_platform(wheel: Path) -> None:
    torch = ".".join(version("torch").split(".")[:2])
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    tag = f"{python}-{python}-manylinux_2_28_x86_64"
    assert wheel.name == f"opwright-{__version__}+torch{torch}-{tag}.whl"
    assert wheel.stat().st_size < MAX_BYTES


def test_two_builds_have_the_same_bytes(wheel: Path, tmp_path: Path) -> None:
    other = {"TZ": "Asia/Shanghai", "LC_ALL": "C", "PYTHONHASHSEED": "7"}
    assert make_wheel(tmp_path, **other).read_bytes() == wheel.read_bytes()


def test_it_names_no_path_of_this_machine(wheel: Path) -> None:
    folders = [ROOT, Path(sys.prefix), Path(sys.base_prefix, "lib"), Path.home() / ".cache"]
    with zipfile.ZipFile(wheel) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    assert [
        (name, str(folder))
        for name, content in contents.items()
        for folder in folders
        if os.fsencode(folder) in content
    ] == []
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in contents)


def test_it_has_every_file_of_the_packages(wheel: Path) -> None:
    tracked = [name for name in repository_files() if name.startswith(PACKAGES)]
    with zipfile.ZipFile(wheel) as archive:
        missing = {name.removeprefix("aie/python/") for name in tracked} - {*archive.namelist()}
    assert all(any(name.startswith(package) for name in tracked) for package in PACKAGES)
    assert missing == set()


def test_its_libraries_run_on_older_systems(wheel: Path) -> None:
    """They need no newer version of a symbol, nor a symbol that older systems lack."""
    tools = stubs.Tools("g++", "readelf", "ar")
    symbols = [symbol for name in stubs.LIBRARIES for symbol in tools.symbols(tools.library(name))]
    older = {symbol.name for symbol in symbols if stubs.is_allowed(symbol.version)}
    newer = {symbol.name for symbol in symbols} - older
    assert "stat" in newer
    found = libraries(wheel)
    assert len(found) > len(stubs.LIBRARIES)
    for name, library in found.items():
        needed = library.get_section_by_name(".gnu.version_r")
        versions = (
            {version.name for _, each in needed.iter_versions() for version in each}
            if isinstance(needed, GNUVerNeedSection)
            else set()
        )
        assert {version for version in versions if not stubs.is_allowed(version)} == set(), name
        dynamic = library.get_section_by_name(".dynsym")
        assert isinstance(dynamic, SymbolTableSection)
        undefined = {
            symbol.name for symbol in dynamic.iter_symbols() if symbol["st_shndx"] == "SHN_UNDEF"
        }
        assert undefined & newer == set(), name
        assert library.get_section_by_name(".symtab") is None, f"{name} is not stripped"


def test_its_platform_is_that_of_auditwheel() -> None:
    file = Path(auditwheel.policy.__file__).parent / "manylinux-policy.json"
    major, minor = stubs.NEWEST["GLIBC"]
    (policy,) = (
        policy
        for policy in json.loads(file.read_text(encoding="utf-8"))
        if policy["name"] == f"manylinux_{major}_{minor}"
    )
    versions = policy["symbol_versions"][platform.machine()]
    newest = {
        family: max(
            tuple(map(int, version.split("."))) for version in versions[family] if "." in version
        )
        for family in stubs.NEWEST
    }
    assert newest == stubs.NEWEST


def test_the_doctor_finds_nothing_wrong(installed: Environment, tmp_path: Path) -> None:
    printed = installed.output("opwright", "doctor", cwd=tmp_path)
    assert re.search(r"^compiler +none *$", printed, re.MULTILINE)
    assert f"{installed.site / 'opwright/cann'} (complete)" in printed
    assert "there is no C++ compiler" in printed
    assert "no problem found" in printed


def test_the_tutorial_needs_no_compiler_up_to_the_wheel(project: Path) -> None:
    assert (project / "use.py").is_file()  # its output was compared


def test_checks_and_linter_run(installed: Environment, project: Path) -> None:
    rows = [f"--row={name}" for name in ("numerics", "meta")]
    assert "1 operator, 2 rows: " in installed.output("opwright", "check", ".", *rows, cwd=project)
    assert "0 errors" in installed.output("opwright", "lint", ".", cwd=project)


def test_max_autotune_runs(installed: Environment, tmp_path: Path) -> None:
    # Text: for the Python of the environment of the wheel.
    script = (
        "import torch, torch_npu, torchair\n"
        "backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())\n"
        "double = torch.compile(lambda x: x.relu() * 2, backend=backend)\n"
        "print(double(torch.tensor([-1.0, 3.0]).npu()).cpu().tolist())\n"
    )
    printed = installed.output("opwright", "run", "--", "python", "-c", script, cwd=tmp_path)
    assert printed.split("\n")[-2] == "[0.0, 6.0]"


def test_torch_aie_compiles_a_module(installed: Environment, tmp_path: Path) -> None:
    # Text: for the Python of the environment of the wheel.
    script = (
        "import opwright.twin, torch, torch_aie\n"
        "example = torch.ones(2, 4)\n"
        "module = torch.jit.trace(torch.nn.Linear(4, 3).eval(), example)\n"
        "policy = torch_aie.PrecisionPolicy.FP32\n"
        "inputs = [torch_aie.Input(example.shape)]\n"
        "compiled = torch_aie.compile(module, inputs=inputs, precision_policy=policy)\n"
        "print(torch.allclose(compiled(example), module(example)))\n"
    )
    printed = installed.output("python", "-W", "ignore", "-c", script, cwd=tmp_path)
    assert printed.split() == ["True"]


def test_pytest_runs_on_the_twin(installed: Environment, project: Path) -> None:
    printed = installed.output("python", "-m", "pytest", "-q", "--npu-twin", cwd=project)
    assert re.search(r"^\d+ passed", printed, re.MULTILINE)


@pytest.mark.parametrize("verb", ["build", "ascendc build"])
def test_what_needs_a_compiler_says_which(
    installed: Environment, project: Path, tmp_path: Path, verb: str
) -> None:
    folder = project if verb == "build" else ascend_c_project(tmp_path)
    done = installed.run("opwright", *verb.split(), ".", cwd=folder)
    assert (done.returncode, done.stderr) == (2, MISSING_COMPILER)


def test_reference_kernels_need_a_compiler_in_python_too(
    installed: Environment, tmp_path: Path
) -> None:
    text = (DOCS / "kernels.md").read_text(encoding="utf-8")
    (source,) = re.findall(r"```python\n(# reference\.py\n.*?)```", text, re.DOTALL)
    (tmp_path / "reference.py").write_text(source, encoding="utf-8")
    fix = "fix:     this needs a C++ compiler: install g++ 11 or newer, or name one in CXX"
    for command in (
        "opwright kernels build reference.py",
        "opwright run --kernels reference.py -- python -c 0",
    ):
        done = installed.run(*command.split(), cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr.startswith("OPW-K010 "), command
        assert done.stderr.rstrip().endswith(fix), command


@pytest.mark.build
def test_a_compiler_is_all_that_a_build_lacks(
    installed: Environment, project: Path, tmp_path: Path
) -> None:
    installed.output("opwright", "build", cwd=project, compiler=True)
    assert [path.name for path in (project / "dist").iterdir()] != []
    kernels = ascend_c_project(tmp_path)
    installed.output("opwright", "ascendc", "build", ".", cwd=kernels, compiler=True)


def ascend_c_project(folder: Path) -> Path:
    add_custom_project(folder)
    return folder / "ascend_c"


def test_nothing_is_left_after_it(wheel: Path, tmp_path: Path) -> None:
    environment = empty_environment(tmp_path)
    before = environment.files()
    environment.pip("install", "--no-index", wheel)
    script = "import opwright.twin, torch, torch_npu; torch.ones(1).npu()"
    environment.output("python", "-c", script, cwd=tmp_path)
    assert len(environment.files()) > len(before)
    environment.pip("uninstall", "--yes", "opwright")
    assert environment.files() == before
