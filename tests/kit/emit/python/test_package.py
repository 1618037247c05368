"""Emitted packages, built with their own setup.py and used without opwright."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import opwright.twin  # noqa: F401  # before torch, which loads torch_npu

# isort: split
from opwright.kit.emit.all import emit_all
from opwright.kit.emit.cpp.stable import SINCE
from opwright.kit.emit.options import EmitOptions
from opwright.kit.packaging.writer import write_tree
from opwright.pairs import installed_minor
from tests.kit.emit.facts import facts_of
from tests.kit.emit.python import transformations, users_of_packages
from tests.kit.emit.python.emitting import DECLARATIONS, STABLE
from tests.twin.on_twin import output

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [
    pytest.mark.twin,
    pytest.mark.build,
    pytest.mark.slow,
]

LIMIT = 600  # seconds


def run(*command: str, cwd: Path, **environ: str) -> str:
    """Run a command that succeeds, and return its output."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module", params=["kit", "thin"])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def tree(name: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(f"tree_{name}")
    facts = facts_of(DECLARATIONS / f"{name}.py")
    write_tree(
        folder,
        emit_all(
            facts, EmitOptions(package=name, torch=installed_minor(), stable_abi=name in STABLE)
        ),
    )
    return folder


@pytest.fixture(scope="module")
def site(name: str, tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel and return the folder that it was installed in."""
    return installed(tree, tmp_path_factory, is_stable=name in STABLE)


def installed(tree: Path, factory: pytest.TempPathFactory, *, is_stable: bool) -> Path:
    """Build the wheel of a tree and return the folder that it was installed in."""
    wheels, folder = factory.mktemp("wheels"), factory.mktemp("site")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    run(*pip, "wheel", ".", "--no-build-isolation", "--no-deps", "-w", str(wheels), cwd=tree)
    (wheel,) = wheels.glob("*.whl")
    tag = "py3-none" if is_stable else f"cp{sys.version_info[0]}{sys.version_info[1]}-cp"
    assert f"-{tag}" in wheel.name
    run(*pip, "install", "--no-deps", "--target", str(folder), str(wheel), cwd=tree)
    return folder


def test_its_own_tests_pass_on_the_twin(site: Path, tree: Path) -> None:
    output = run(
        *("pytest", "--npu-twin", "-q", "-p", "no:cacheprovider", "--rootdir", str(tree)),
        cwd=tree / "tests",
        PYTHONPATH=str(site),
    )
    assert " passed" in output
    assert "skipped" not in output


def test_it_runs_without_opwright(name: str, site: Path) -> None:
    output(users_of_packages.run_without_opwright, name, str(site))


def test_another_torch_is_one_clear_sentence(name: str, site: Path) -> None:
    version = json.loads((site / name / "metadata.json").read_text())["version"]
    wanted = SINCE if name in STABLE else installed_minor()
    later = " or later" * (name in STABLE)
    torch_npu = importlib.metadata.version("torch_npu")
    message = (
        f"{name} {version} was built for torch {wanted}{later} and torch_npu {wanted}{later}, but "
        f"this environment has torch 2.6.1 and torch_npu {torch_npu}; install torch=={wanted}.* "
        f"and torch_npu=={wanted}.*, or a build of {name} for these versions"
    )
    output(users_of_packages.be_refused_by_version, name, str(site), message)


def test_transformations_compute_what_they_do_of_plain_operations(name: str, site: Path) -> None:
    output(transformations.transform_what_centers, name, str(site))


def test_vmap_computes_what_is_written_in_place(name: str, site: Path) -> None:
    output(transformations.map_what_writes, name, str(site))


def test_torch_compile_sees_no_mutation_and_computes_the_same(name: str, site: Path) -> None:
    output(users_of_packages.compile_a_write, name, str(site))


@pytest.mark.skipif(importlib.util.find_spec("google") is None, reason="TorchAir needs protobuf")
def test_the_converters_register_when_torchair_is_imported(name: str, site: Path) -> None:
    output(users_of_packages.import_torchair_later, name, str(site))


def test_autocast_casts(name: str, site: Path) -> None:
    if name != "kit":
        pytest.skip("only kit declares it")
    output(users_of_packages.cast_automatically, str(site))


def test_what_is_deprecated_warns_once(name: str, site: Path) -> None:
    if name != "kit":
        pytest.skip("only kit declares it")
    output(users_of_packages.call_what_is_deprecated, str(site))


def test_a_source_tree_says_that_it_is_not_built(name: str, tree: Path) -> None:
    message = (
        f"{name} has no library lib{name}.so beside it: this is its source; build and install the "
        "wheel, or run from another folder"
    )
    output(users_of_packages.be_refused, name, str(tree), message)


@pytest.fixture(scope="module", params=[False, True], ids=["classic", "stable"])
def writing_site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the package whose operators write; return the folder that it was installed in."""
    is_stable = bool(request.param)
    tree = tmp_path_factory.mktemp("tree_writes")
    facts = facts_of(DECLARATIONS / "writes.py")
    options = EmitOptions(package="writes", torch=installed_minor(), stable_abi=is_stable)
    write_tree(tree, emit_all(facts, options))
    return installed(tree, tmp_path_factory, is_stable=is_stable)


@pytest.mark.parametrize(
    "function",
    [
        transformations.differentiate_what_writes,
        transformations.map_over_ranks,
        transformations.write_to_a_view,
    ],
)
def test_gradients_of_what_writes_are_right_or_refused(
    writing_site: Path, function: Callable[..., None]
) -> None:
    output(function, str(writing_site))
