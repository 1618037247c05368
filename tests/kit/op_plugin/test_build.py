"""`opwright op-plugin build`: what the wheel does, and the errors of wrong files."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from opwright.cli import app
from opwright.kit.op_plugin import library
from opwright.kit.op_plugin.build import build_extension
from opwright.kit.op_plugin.errors import KernelError
from opwright.kit.op_plugin.request import Request
from opwright.kit.packaging.compile import link
from opwright.kit.packaging.progress import Progress
from opwright.pairs import installed_minor
from tests.kit.op_plugin.extensions import DERIVATIVES, FUNCTIONS, HEADER, KERNEL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from opwright.kit.packaging.build import Built
    from opwright.kit.packaging.compile import Builder, Library

LIMIT = 300  # seconds
PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder with an extension, and let the cache be in it."""
    root = tmp_path_factory.mktemp("op_plugin")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(root / "cache"))
        patch.chdir(root)
        sources = root / "sources"
        sources.mkdir()
        (sources / "op_plugin_functions.yaml").write_text(FUNCTIONS)
        (sources / "derivatives.yaml").write_text(DERIVATIVES)
        (sources / "kernels.cpp").write_text(KERNEL)
        (sources / "sizes.h").write_text(HEADER)
        yield root


def request_of(folder: Path) -> Request:
    """Return the request to build the extension."""
    return Request(
        paths=[folder / "sources"],
        name="t_ops",
        version="1.0",
        out=folder / "dist",
        work=folder / "build" / "t_ops",
        jobs=1,
    )


@pytest.fixture(scope="module")
def built(folder: Path) -> tuple[Built, Progress]:
    """Build the wheel."""
    progress = Progress()
    return build_extension(request_of(folder), progress), progress


@pytest.mark.build
def test_notes_say_what_is_left_out_and_what_has_no_meta_function(
    built: tuple[Built, Progress],
) -> None:
    place, lacks = "sources/op_plugin_functions.yaml", "has no Meta function, which graphs and meta"
    assert [note.partition(" tensors")[0] for note in built[1].notes] == [
        f"{place}:38: npu_t_old is left out, not for {installed_minor()}",
        f"{place}:18: npu_t_tail {lacks}",
        f"{place}:36: npu_t_kinds {lacks}",
    ]


@pytest.mark.build
def test_the_wheel_has_the_package_and_nothing_of_the_build(built: tuple[Built, Progress]) -> None:
    with zipfile.ZipFile(built[0].wheel) as wheel:
        names = {Path(name) for name in wheel.namelist()}
    assert {path.name for path in names if path.parts[0] == "t_ops"} == {
        *("__init__.py", "_extension.py", "_graphs.py", "_internals.py", "_loading.py"),
        *("_runtime.py", "build.json", "libt_ops.so", "metadata.json"),
    }


@pytest.mark.build
def test_a_second_build_is_from_the_cache_and_equal(
    folder: Path, built: tuple[Built, Progress]
) -> None:
    before = built[0].wheel.read_bytes()
    again = build_extension(
        dataclasses.replace(request_of(folder), may_compile=False), progress := Progress()
    )
    assert again.wheel.read_bytes() == before
    steps = {step.name: step.from_cache for step in progress.steps}
    assert [step.what for step in progress.steps if step.name == "read"] == [
        "sources/op_plugin_functions.yaml, sources/derivatives.yaml: 7 operators, 2 derivatives"
    ]
    assert {name for name, cached in steps.items() if cached} == {"generate", "compile", "link"}


@pytest.mark.build
def test_what_is_emitted_leaves_nothing_undefined(
    folder: Path, built: tuple[Built, Progress], monkeypatch: pytest.MonkeyPatch
) -> None:
    del built  # is in the cache
    flags: list[Sequence[str]] = []

    def linked(builder: Builder, objects: Sequence[Path], name: str) -> Library:
        flags.append(builder.link_flags)
        return link(builder, objects, name)

    monkeypatch.setattr(library, "link", linked)
    build_extension(dataclasses.replace(request_of(folder), may_compile=False), Progress())
    assert flags == [("-Wl,--no-undefined",)]


@pytest.mark.build
def test_the_command_prints_the_wheel_and_the_steps(
    folder: Path, built: tuple[Built, Progress]
) -> None:
    options = ["--name", "t_ops", "--no-compile", "--json"]
    result = CliRunner().invoke(app, ["op-plugin", "build", str(folder / "sources"), *options])
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["wheel"] == str(built[0].wheel)
    assert report["notes"] == built[1].notes
    assert [step["name"] for step in report["steps"]] == [step.name for step in built[0].steps]


@pytest.mark.twin
@pytest.mark.build
def test_the_operators_work_after_one_import(folder: Path, built: tuple[Built, Progress]) -> None:
    site = folder / "site"
    with zipfile.ZipFile(built[0].wheel) as wheel:
        wheel.extractall(site)
    done = subprocess.run(
        [
            *(Path(sysconfig.get_path("scripts"), "opwright"), "run"),
            *("--kernels", PROGRAMS / "reference.py"),
            *("--", sys.executable, PROGRAMS / "checks.py"),
        ],
        env=os.environ | {"PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.stdout == "all hold\n", done.stderr


@pytest.mark.build
def test_a_mistake_in_a_kernel_is_shown_with_its_lines(
    folder: Path, built: tuple[Built, Progress]
) -> None:
    assert built
    kernel = folder / "sources" / "kernels.cpp"
    kernel.write_text(KERNEL.replace("apply_tensor_without_format(x,", "apply_tensor_for(x,"))
    try:
        with pytest.raises(KernelError) as caught:
            build_extension(request_of(folder), Progress())
    finally:
        kernel.write_text(KERNEL)
    text = str(caught.value)
    assert text.startswith(
        "OPW-O009 a kernel cannot be compiled\n"
        "  where:   sources/kernels.cpp:16, operator npu::npu_t_kinds, "
        "sources/op_plugin_functions.yaml:36\n"
        "  got:     'apply_tensor_for' is not a member of"
    ), text
    assert "  > 16 |   auto second = npu_preparation::apply_tensor_for(x, {n});\n" in text
    assert "all messages: build/t_ops.log" in text


@pytest.mark.build
def test_a_mistake_in_a_derivative_is_reported_with_its_place(
    folder: Path, built: tuple[Built, Progress]
) -> None:
    assert built
    derivatives = folder / "sources" / "derivatives.yaml"
    derivatives.write_text(DERIVATIVES.replace("grad.expand_as(x)", "grad.spread_as(x)"))
    try:
        with pytest.raises(KernelError) as caught:
            build_extension(request_of(folder), Progress())
    finally:
        derivatives.write_text(DERIVATIVES)
    text = str(caught.value)
    assert "operator npu::npu_t_stats, sources/derivatives.yaml:5\n" in text, text
    assert "has no member named 'spread_as'" in text.replace("\u2018", "'").replace("\u2019", "'")
    assert "or the formula in derivatives.yaml" in text
