"""Emitted Python: the text, that it is Python as our own rules want it, and that it never varies.

OPWRIGHT_ACCEPT=1 writes the golden files anew; the difference is what a reviewer reads.
"""

from __future__ import annotations

import ast
import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import tomli

from opwright.aclnn.reg_op import parse_reg_op
from opwright.kit.emit.header import is_edited
from opwright.kit.emit.python.prototypes import type_prototype
from tests.alone import alone_command
from tests.kit.emit.facts import facts_of
from tests.kit.emit.python.emitting import DECLARATIONS, STABLE, files_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.aclnn.prototype import Prototype

GOLDEN = Path(__file__).parent / "golden"
NAMES = ("kit", "odd", "thin")
ROOT = Path(__file__).resolve().parents[4]
# The same in every package; they are read where they stand, in opwright/kit/shipped.
SHIPPED = {
    *("_autograd.py", "_converting.py", "_graphs.py", "_internals.py", "_internals_of_torchair.py"),
    *("_loading.py", "_rules.py", "_runtime.py", "_vjp.py", "_writing.py"),
    *("setup.py", "support.py"),
}


@pytest.fixture(scope="module", params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def files(name: str) -> Mapping[str, str]:
    return files_of(name)


@pytest.fixture(scope="module")
def tree(name: str, files: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(files, tmp_path_factory.mktemp(name))


def written(files: Mapping[str, str], folder: Path) -> Path:
    """Write files into a folder."""
    for path, text in files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    return folder


def test_the_text_is_as_accepted(name: str, files: Mapping[str, str]) -> None:
    own = {path: text for path, text in files.items() if Path(path).name not in SHIPPED}
    folder = GOLDEN / name
    if os.environ.get("OPWRIGHT_ACCEPT"):
        for path, text in own.items():
            target = folder / f"{path}.txt"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
    golden = {
        str(path.relative_to(folder)).removesuffix(".txt"): path.read_text()
        for path in folder.rglob("*.txt")
    }
    assert own == golden


def test_every_file_has_a_header_that_says_it_is_not_edited(files: Mapping[str, str]) -> None:
    edited = [p for p, text in files.items() if is_edited(text)]
    assert [Path(path).name for path in edited] == ["py.typed"]


def test_every_module_is_python(files: Mapping[str, str]) -> None:
    for path, text in files.items():
        if path.endswith((".py", ".pyi")):
            ast.parse(text, path)
            assert text.endswith("\n")
            assert not text.endswith("\n\n")


def test_the_build_configuration_is_toml(name: str, files: Mapping[str, str]) -> None:
    content = tomli.loads(files["pyproject.toml"])
    assert content["project"]["name"] == name
    both = ["torch>=2.13,<2.14", "torch_npu>=2.13,<2.14"]
    assert content["project"]["dependencies"] == (["torch>=2.13"] if name in STABLE else both)


def test_it_is_formatted(tree: Path) -> None:
    run("ruff", "format", "--check", "--line-length=100", "--exclude=_reference.py", ".", cwd=tree)


def test_our_own_rules_find_nothing(tree: Path) -> None:
    config = f"--config={ROOT / 'pyproject.toml'}"
    run("ruff", "check", config, "--no-cache", "--exclude=_reference.py", ".", cwd=tree)


@pytest.fixture(scope="module")
def mypy(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Return the command; torch, which takes it 20 seconds, is read once."""
    cache = tmp_path_factory.mktemp("mypy")
    return (sys.executable, "-m", "mypy", "--strict", f"--cache-dir={cache}")


def test_types_are_right(name: str, tree: Path, mypy: tuple[str, ...]) -> None:
    run(*mypy, name, cwd=tree)


def test_a_call_with_wrong_types_is_found(tmp_path: Path, mypy: tuple[str, ...]) -> None:
    tree = written(files_of("kit"), tmp_path)
    # Text: it is wrong on purpose.
    (tree / "use.py").write_text(
        "import torch\nimport kit\n"
        "x = torch.ones(2)\n"
        "y: torch.Tensor = kit.scale(x, 2.0)\n"
        "z: torch.Tensor = kit.ops.scale.default(x)\n"
        "kit.scale(x, 'two')\n"
        "kit.center(x, x, x)\n"
        "kit.ops.ema_.default(x)\n"
    )
    found = subprocess.run(
        [*mypy, "use.py"],
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    lines = {line.split(":")[1] for line in found.splitlines() if ": error:" in line}
    assert lines == {"6", "7", "8"}, found


def run(*command: str, cwd: Path) -> None:
    """Run a tool that finds nothing."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def print_digest(name: str) -> None:
    """Print a digest of what is emitted, where torch is not imported."""
    print(hashlib.sha256(repr(list(files_of(name).items())).encode()).hexdigest())  # noqa: T201 - the answer
    assert "torch._C" not in sys.modules


def test_the_text_depends_on_nothing_else(name: str, tmp_path: Path) -> None:
    found = set()
    for seed, folder, language in (("1", tmp_path, "C"), ("2", ROOT, "C.UTF-8")):
        done = subprocess.run(
            alone_command(print_digest, name),
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed, "LC_ALL": language},
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(done.stdout)
    assert len(found) == 1
    assert len(found.pop()) == 65  # a digest and the end of its line


def test_prototypes_are_read_back(name: str, files: Mapping[str, str]) -> None:
    facts = facts_of(DECLARATIONS / f"{name}.py")
    read = {p.op_type: p for p in parse_reg_op(files[f"{name}/op_proto.h"], where="op_proto.h")}
    wanted: dict[str, Prototype] = {}
    for operator in facts.operators:
        if operator.prototype is not None:
            wanted.setdefault(operator.prototype.op_type, type_prototype(operator))
    assert read.keys() == wanted.keys()
    for op_type, prototype in wanted.items():
        found = read[op_type]
        assert [(p.name, p.presence) for p in found.inputs] == [
            (p.name, p.presence) for p in prototype.inputs
        ]
        assert [p.name for p in found.outputs] == [p.name for p in prototype.outputs]
        assert [(a.name, a.type_name, a.required) for a in found.attributes] == [
            (a.name, a.type_name, a.required) for a in prototype.attributes
        ]
        for one, other in zip(found.inputs, prototype.inputs, strict=True):
            assert one.dtypes == other.dtypes
