"""`opwright new`, `add` and `build`, then the wheel in a clean environment of a user."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import time
import zipfile
from dataclasses import dataclass
from importlib.metadata import version as distribution_version
from pathlib import Path

import pytest

from opwright.kit.emit.cpp.stable import SINCE
from opwright.pairs import installed_minor
from tests.acceptance.pair_trees import environment_outside, newest_tree

# One worker runs them all: they share what the first one builds.
pytestmark = [
    pytest.mark.twin,
    pytest.mark.build,
    pytest.mark.compile,
]

LIMIT = 600  # seconds
CHECK = Path(__file__).parent / "operator_kit" / "check_wheel.py"
PLATFORM = sysconfig.get_platform().replace("-", "_").replace(".", "_")
PYTHON = "cp{}{}".format(*sys.version_info)
FORMS = {
    "full": ((), f"{PYTHON}-{PYTHON}-{PLATFORM}"),
    "stable": (("--stable-abi",), f"py3-none-{PLATFORM}"),
    "plugin": (("--plugin",), "py3-none-any"),
}
# A function of CANN, which the twin has: it runs without a reference, so without opwright.
# Text: it is added to the file of the project.
TIMES = """

@ops.operator("times(Tensor x, Tensor y) -> Tensor", aclnn="aclnnMul",
              shapes={"out": ow.broadcast("x", "y")})
def times(x, y):
    return x * y
"""
# Runs a script where opwright cannot be imported. Text: for the Python of an environment of a user.
ALONE = """
import runpy, sys
assert "opwright" not in sys.modules
sys.modules["opwright"] = None
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@dataclass(frozen=True)
class Workshop:
    """A project with an operator of each template, and what is made of it."""

    project: Path
    cache: Path

    def run(
        self, *command: str | Path, where: Path | None = None, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in the project's folder and return its output, whatever its exit code."""
        return subprocess.run(
            [str(part) for part in command],
            cwd=where or self.project,
            env=os.environ | {"XDG_CACHE_HOME": str(self.cache)} | variables,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )

    def opwright(self, *arguments: str | Path) -> str:
        """Run a verb that succeeds, and return what it prints."""
        result = self.run(sys.executable, "-m", "opwright", *arguments)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    def refused(self, *arguments: str | Path) -> str:
        """Run a verb that fails, and return its message."""
        result = self.run(sys.executable, "-m", "opwright", *arguments)
        assert result.returncode == 2, result.stdout + result.stderr
        assert "Traceback" not in result.stderr
        return result.stderr

    def wheel(self, form: str) -> Path:
        """Return the wheel of a form, built if it is not there."""
        out = self.project / f"dist-{form}"
        if not out.exists():
            self.opwright("build", *FORMS[form][0], "-o", out)
        (wheel,) = out.iterdir()
        return wheel

    def environment(self, form: str) -> Path:
        """Return the Python of a clean environment with the wheel of a form."""
        folder = self.cache.parent / f"venv-{form}"
        python = folder / "bin" / "python"
        if not folder.exists():
            make_environment(folder, self.wheel(form))
        return python

    def on_the_twin(
        self, python: Path, *arguments: str | Path, kernels: bool
    ) -> subprocess.CompletedProcess[str]:
        """Run the environment's Python outside the project."""
        options = ("--kernels", self.project / "operators.py") if kernels else ()
        command = (sys.executable, "-m", "opwright", "run", *options, "--", python, *arguments)
        return self.run(*command, where=self.cache.parent, PYTHONSAFEPATH="1")


def make_environment(folder: Path, wheel: Path) -> None:
    """Make a clean environment that sees torch, torch_npu and opwright of this one."""
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", f"--python={python}", "--disable-pip-version-check"]
    for command in (
        [sys.executable, "-m", "venv", "--without-pip", str(folder)],
        [*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel)],
    ):
        subprocess.run(command, check=True, capture_output=True, timeout=LIMIT)
    (site,) = folder.glob("lib/python*/site-packages")
    outer = sysconfig.get_path("purelib")
    # Python's site module runs the line; so the .pth files of the outer folder are read as well.
    (site / "outer.pth").write_text(f"import site; site.addsitedir({outer!r})\n", encoding="utf-8")


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """Return a project that a user made, in a folder with an awkward name."""
    folder = tmp_path_factory.mktemp("kit") / "space & öther"
    folder.mkdir()
    workshop = Workshop(project=folder, cache=folder / "cache")
    workshop.opwright("new", "my_ops", "--from", "attention")
    workshop = Workshop(project=folder / "my_ops", cache=folder / "cache")
    workshop.opwright("add", "softcap", "--from", "functional")
    workshop.opwright("add", "ema_", "--from", "in-place")
    workshop.opwright("add", "scaled_norm", "--from", "multi-output")
    with (workshop.project / "operators.py").open("a", encoding="utf-8") as file:
        file.write(TIMES)
    return workshop


@pytest.mark.parametrize("form", FORMS)
def test_the_wheel(workshop: Workshop, form: str) -> None:
    wheel = workshop.wheel(form)
    assert wheel.name == f"my_ops-0.1.0-{FORMS[form][1]}.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = json.loads(archive.read("my_ops/metadata.json"))
        about = archive.read("my_ops-0.1.0.dist-info/METADATA").decode()
    assert {"my_ops/__init__.py", "my_ops/__init__.pyi", "my_ops/py.typed"} <= names
    assert ("my_ops/libmy_ops.so" in names) == (form != "plugin")
    assert ("my_ops/build.json" in names) == (form != "plugin")
    assert not [name for name in names if name.startswith(("csrc", "tests"))]
    schemas = {entry["schema"].partition("(")[0] for entry in metadata["operators"]}
    assert {f"my_ops::{name}" for name in ("attention", "softcap", "ema_", "times")} <= schemas
    assert ("Requires-Dist: opwright" in about) == (form == "plugin")
    oldest = SINCE if form == "stable" else installed_minor()
    assert f"Requires-Dist: torch>={oldest}" in about


def test_the_record_of_a_build(workshop: Workshop) -> None:
    with zipfile.ZipFile(workshop.wheel("full")) as archive:
        record = json.loads(archive.read("my_ops/build.json"))
        listed = archive.read("my_ops-0.1.0.dist-info/RECORD").decode()
    (digest,) = record["libraries"].values()
    assert re.fullmatch("[0-9a-f]{64}", digest)
    assert "my_ops/libmy_ops.so,sha256=" in listed
    assert set(record["tools"]) >= {"compiler", "opwright", "python", "torch", "torch_npu"}
    assert str(workshop.project.parent) not in json.dumps(record)


@pytest.mark.parametrize("form", FORMS)
def test_the_installed_wheel_on_cpu_and_npu(workshop: Workshop, form: str) -> None:
    python = workshop.environment(form)
    # The plugin brings its references itself.
    result = workshop.on_the_twin(python, CHECK, "cpu", "npu", kernels=form != "plugin")
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout == "my_ops 0.1.0 on cpu npu opwright\n"


def test_the_stable_wheel_serves_another_torch_and_python(workshop: Workshop) -> None:
    tree = newest_tree()
    if tree is None or not (tree / "opwright" / "cann" / "lib64" / "libopapi.so").exists():
        pytest.skip("no other pair is built in build/pairs; make setup TORCH=2.14.0 would do it")
    if [int(part) for part in tree.name.split("-")[1].split(".")] < [
        int(part) for part in SINCE.split(".")
    ]:
        pytest.skip(f"{tree.name} has no stable ABI that emitted code can use")
    python, folder = tree / ".venv" / "bin" / "python", workshop.cache.parent / "for-another"
    install = ("install", "--quiet", "--no-deps", "--no-index", "--target", folder)
    run = ("run", "--kernels", workshop.project / "operators.py", "--", python, CHECK)
    commands: tuple[tuple[str | Path, ...], ...] = (
        ("pip", "--disable-pip-version-check", *install, workshop.wheel("stable")),
        ("opwright", *run, "cpu", "npu"),
    )
    for command in commands:
        result = subprocess.run(
            [python, "-m", *command],
            cwd=workshop.cache.parent,
            env=environment_outside() | {"PYTHONPATH": str(folder)},
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout == "my_ops 0.1.0 on cpu npu opwright\n"


@pytest.mark.parametrize("form", ["full", "stable"])
def test_the_wheel_does_not_need_opwright(workshop: Workshop, form: str) -> None:
    python = workshop.environment(form)
    result = workshop.on_the_twin(python, "-c", ALONE, CHECK, "cpu", kernels=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.startswith("my_ops 0.1.0 on cpu ")


@pytest.mark.parametrize("form", ["full", "stable"])
def test_a_wrong_pair_is_one_sentence(workshop: Workshop, form: str) -> None:
    version, torch_npu = "2.6.1", distribution_version("torch_npu")
    wanted = {"full": installed_minor(), "stable": SINCE}[form]
    script = f"import torch; torch.__version__ = {version!r}; import my_ops"
    result = workshop.on_the_twin(workshop.environment(form), "-c", script, kernels=False)
    assert result.returncode == 1
    last = [line for line in result.stderr.splitlines() if line.startswith("ImportError")]
    later = " or later" * (form == "stable")
    sentence = (
        f"ImportError: my_ops 0.1.0 was built for torch {wanted}{later} and torch_npu "
        f"{wanted}{later}, but this environment has torch {version} and torch_npu {torch_npu}; "
        f"install torch=={wanted}.* and torch_npu=={wanted}.*, or a build of my_ops for these "
        "versions"
    )
    assert last == [sentence]


def test_a_second_build_compiles_nothing(workshop: Workshop) -> None:
    first = workshop.wheel("full").read_bytes()
    out = workshop.project / "dist-again"
    report = json.loads(workshop.opwright("build", "--no-compile", "--json", "-o", out))
    compiled = {
        step["what"]: step["from_cache"] for step in report["steps"] if step["name"] == "compile"
    }
    assert compiled == {"autograd.cpp": True, "functionalization.cpp": True, "operators.cpp": True}
    assert Path(report["wheel"]).read_bytes() == first


def test_builds_without_a_cache_give_the_same_bytes(workshop: Workshop, tmp_path: Path) -> None:
    first = workshop.wheel("stable").read_bytes()
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for name in ("operators.py", "pyproject.toml"):
        (moved / name).write_bytes((workshop.project / name).read_bytes())
    other = Workshop(project=moved, cache=tmp_path / "cache")
    assert other.wheel("stable").read_bytes() == first


def test_two_builds_at_once(workshop: Workshop) -> None:
    command = [sys.executable, "-m", "opwright", "build", "--stable-abi", "-o", "dist-both"]
    environment = os.environ | {"XDG_CACHE_HOME": str(workshop.cache.parent / "cache-both")}
    processes = [
        subprocess.Popen(
            command,
            cwd=workshop.project,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=LIMIT)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    (wheel,) = (workshop.project / "dist-both").iterdir()
    assert wheel.read_bytes() == workshop.wheel("stable").read_bytes()


# Failures


# Compiles nothing: says that it was started, and stays until it is stopped.
SLOW_COMPILER = """\
#!/bin/sh
case " $* " in
  *" -c "*) touch "$STARTED"; exec sleep 600 ;;
  *) exec g++ "$@" ;;
esac
"""


def test_stopped_builds(workshop: Workshop, tmp_path: Path) -> None:
    """Stopped at whatever moment, a build leaves nothing that the next one stumbles over."""
    command = [sys.executable, "-m", "opwright", "build", "--stable-abi", "-o", "dist"]
    for file in ("operators.py", "pyproject.toml"):
        (tmp_path / file).write_bytes((workshop.project / file).read_bytes())
    other = Workshop(project=tmp_path, cache=tmp_path / "cache")
    compiler, started = tmp_path / "slow_compiler", tmp_path / "started"
    compiler.write_text(SLOW_COMPILER, encoding="utf-8")
    compiler.chmod(0o755)

    def start(**variables: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command,
            cwd=tmp_path,
            env=os.environ | {"XDG_CACHE_HOME": str(other.cache)} | variables,
            start_new_session=True,
            stderr=subprocess.PIPE,
            text=True,
        )

    for seconds in (0.3, 0.6, 1.2):
        process = start()
        time.sleep(seconds)  # the moment is the parameter
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=LIMIT)
    process = start(CXX=str(compiler), STARTED=str(started))
    while not started.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)  # waits for the compiler's file
    os.killpg(process.pid, signal.SIGINT)
    _, printed = process.communicate(timeout=LIMIT)
    assert process.returncode == 130
    assert "Traceback" not in printed
    other.opwright(*command[3:])
    (wheel,) = (tmp_path / "dist").iterdir()
    assert wheel.read_bytes() == workshop.wheel("stable").read_bytes()


@pytest.fixture
def changed(workshop: Workshop, tmp_path: Path) -> Workshop:
    """Return a copy of the project that a test may break; it shares the cache."""
    for name in ("operators.py", "pyproject.toml"):
        (tmp_path / name).write_bytes((workshop.project / name).read_bytes())
    return Workshop(project=tmp_path, cache=workshop.cache)


@pytest.mark.parametrize(
    ("text", "error", "got"),
    [
        ("def f(:\n", "OPW-P003", "SyntaxError: invalid syntax"),
        ("1 / 0\n", "OPW-P003", "ZeroDivisionError: division by zero"),
        ('@ops.operator("f(Tensor x")\ndef f(x): ...\n', "OPW-D001", "f(Tensor x"),
        ('@ops.operator("f(Tensor x) -> Tensor")\ndef f(): ...\n', "OPW-D010", "1 error"),
    ],
)
def test_a_broken_declaration(changed: Workshop, text: str, error: str, got: str) -> None:
    file = changed.project / "operators.py"
    lines = len(file.read_text(encoding="utf-8").splitlines())
    with file.open("a", encoding="utf-8") as stream:
        stream.write(text)
    message = changed.refused("build")
    assert message.startswith(error)
    assert f"operators.py:{lines + 1}" in message
    assert got in message
    assert sorted(path.name for path in changed.project.iterdir()) == [
        "operators.py",
        "pyproject.toml",
    ]


def test_an_error_in_hand_written_cpp(changed: Workshop) -> None:
    assert changed.wheel("stable").exists()
    emitted = (changed.project / "generated/csrc/operators.cpp").read_text(encoding="utf-8")
    (changed.project / "csrc").mkdir()
    own = changed.project / "csrc/operators.cpp"
    number = next(i for i, line in enumerate(emitted.splitlines(), 1) if "softcap_npu(" in line)
    lines = emitted.splitlines(keepends=True)
    lines.insert(number, "  undeclared(x);\n")
    own.write_text("".join(lines), encoding="utf-8")
    message = changed.refused("build", "--stable-abi", "-o", "dist")
    assert message.startswith("OPW-B012 a generated source cannot be compiled\n")
    assert re.search(
        rf"where:   csrc/operators\.cpp:{number + 1}, operator my_ops::softcap, "
        r"declared at \S+operators\.py:\d+\n",
        message,
    )
    assert re.search(r"got:     '?undeclared'? was not declared", message)
    assert re.search(rf"\n  > {number + 1} \|   undeclared\(x\);\n", message)
    assert "undeclared" in (changed.project / "build/compile.log").read_text(encoding="utf-8")
    assert not (changed.project / "dist").exists()
    own.write_text(emitted, encoding="utf-8")
    changed.opwright("build", "--stable-abi", "-o", "dist")


def test_what_the_stable_abi_cannot_express(changed: Workshop) -> None:
    changed.opwright("add", "moved(Tensor x, Scalar by) -> Tensor")
    message = changed.refused("build", "--stable-abi")
    assert message.startswith("OPW-B021 the declaration needs more than libtorch's stable ABI\n")
    assert (
        "operator my_ops::moved\n  got:     argument 'by': the stable ABI passes no Scalar"
        in message
    )


def test_a_plugin_of_what_cpp_cannot_express(changed: Workshop) -> None:
    with (changed.project / "operators.py").open("a", encoding="utf-8") as stream:
        stream.write(  # text, as all that is added to the file of the project
            '@ops.operator("pick(Tensor x) -> Tensor",'
            ' shapes={"out": lambda x: [max([len(x.shape)] * 2) if x.shape[0] > 2 else 1]})\n'
            "def pick(x):\n    return x\n"
        )
    assert changed.refused("build").startswith("OPW-E102")
    changed.opwright("build", "--plugin")


def test_a_plugin_of_several_files(changed: Workshop) -> None:
    (changed.project / "helper.py").write_text("NUMBER = 1\n", encoding="utf-8")
    with (changed.project / "operators.py").open("a", encoding="utf-8") as stream:
        stream.write("from helper import NUMBER\n")
    message = changed.refused("build", "--plugin")
    assert message.startswith("OPW-B020 the declaration cannot be shipped as a plugin\n")
    assert "got:     ModuleNotFoundError: No module named 'helper'" in message
    assert not (changed.project / "dist").exists()


def test_a_plugin_in_another_encoding(changed: Workshop) -> None:
    file = changed.project / "operators.py"
    file.write_bytes(b"# coding: latin-1\n" + file.read_bytes())
    message = changed.refused("build", "--plugin")
    assert "got:     a file in iso-8859-1\n  fix:     save it as UTF-8" in message


def test_a_folder_that_is_no_project(changed: Workshop) -> None:
    assert changed.refused("build", changed.project.parent).startswith("OPW-P001 not a project\n")


def test_another_torch_than_the_projects(changed: Workshop) -> None:
    file = changed.project / "pyproject.toml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace('package = "my_ops"', 'package = "my_ops"\ntorch = "2.6"'))
    message = changed.refused("build")
    assert message.startswith("OPW-B011 the installed torch is not the project's\n")
    assert not (changed.project / "generated").exists()
