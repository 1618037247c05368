"""The samples of examples/torchair, used as their README says, and with a step left out."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from opwright.aclnn.op_def import parse_op_def
from opwright.kit.declare.place import Place
from opwright.kit.formats.msopgen import parse_msopgen
from tests.acceptance.sample import assert_prints_what_the_readme_says, copied

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "examples" / "torchair"
LIMIT = 900  # seconds; a form takes a quarter of a minute, and as much to compile
SCRATCH = ("non_in_place_from_scratch", "in_place_from_scratch")
# The models of each sample, and whether they write an argument.
CASES = {
    "non_in_place_from_scratch": (("my_op", "my_op, y is None"), False),
    "in_place_from_scratch": (("my_inplace", "my_inplace of a view"), True),
    "non_in_place_plugin": (("group_norm_swish_grad",), False),
    "in_place_plugin": (("scatter_pa_cache",), True),
}
SHOWN = ("in_place_plugin", "declared")  # in the README
LINE = re.compile(r"(ok|FAILED) +(\S+) +(static|dynamic) +(.+?)  +(.+)")


def environment() -> dict[str, str]:
    """Return an environment whose PATH begins with that of this interpreter."""
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    return os.environ | {"PATH": path}


def run(folder: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder and return its output, whatever its exit code."""
    return subprocess.run(
        command,
        cwd=folder,
        env=environment() | variables,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


def lines(output: str) -> dict[tuple[str, str, str], str]:
    """Return what verify.py prints for each mode, kind of shapes and model."""
    found = [LINE.fullmatch(line) for line in output.splitlines()]
    return {
        (match[2], match[3], match[4].strip()): f"{match[1]}: {match[5]}"
        for match in found
        if match is not None
    }


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the samples without anything that was built in them before."""
    return copied("torchair", tmp_path_factory.mktemp("examples"))


def expected(sample: str) -> dict[tuple[str, str, str], str]:
    """Return what verify.py has to print.

    A graph whose inputs are only read serves tensors at any address, as they are copied into it
    before; one that writes an input is captured for each tensor that it gets.
    """
    models, writes = CASES[sample]
    found = {}
    for model in models:
        found["meta", "dynamic", model] = "ok: shapes of 3 calls compared"
        for shapes, sizes in (("static", 1), ("dynamic", 3)):
            calls, graphs = 6 * sizes, sizes * (2 if writes else 1)
            found["eager", shapes, model] = f"ok: {calls} calls compared"
            for mode in ("npugraph_ex", "reduce-overhead"):
                found[mode, shapes, model] = (
                    f"ok: {calls} calls compared, {calls} replays of {graphs} graphs without a copy"
                )
            found["max-autotune", shapes, model] = (
                f"ok: {calls} calls compared, 1 graph of Ascend IR"
            )
    return found


@pytest.mark.twin
@pytest.mark.build
@pytest.mark.slow
@pytest.mark.parametrize("form", ["by_hand", "declared"])
@pytest.mark.parametrize("sample", CASES)
def test_a_sample_is_right_in_every_mode(samples: Path, sample: str, form: str) -> None:
    done = run(samples, "bash", "run.sh", sample, form)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"== {sample}, {form}\n" in done.stdout
    assert lines(done.stdout) == expected(sample)
    if (sample, form) == SHOWN:
        assert_prints_what_the_readme_says("torchair", done.stdout)


FAKE = "Operator does not support running with fake tensors"
STEPS = [
    # sample, step that is gone, a mode that needs it, what the user reads there
    ("non_in_place_plugin", "step4_meta", "max-autotune", FAKE),
    ("in_place_plugin", "step5_functionalization", "npugraph_ex", "Tensor-likes are not close!"),
]


@pytest.mark.twin
@pytest.mark.slow
@pytest.mark.parametrize(("sample", "step", "mode", "message"), STEPS)
def test_a_sample_without_a_step_fails(
    samples: Path, tmp_path: Path, sample: str, step: str, mode: str, message: str
) -> None:
    copy = tmp_path / "samples"
    shutil.copytree(samples, copy, ignore=shutil.ignore_patterns("build"))
    for file in (copy / sample / "by_hand").glob("step*.py"):
        if file.stem >= step:  # a later step builds on it
            file.write_text("import torch_npu\n")
    kernels = ["--kernels", "kernel.py"] if (copy / sample / "kernel.py").exists() else []
    done = run(
        copy / sample,
        *("opwright", "run", *kernels, "--", "python", "verify.py", "eager", mode),
        PYTHONPATH=os.pathsep.join(["by_hand", ".."]),
    )
    assert done.returncode == 1, done.stdout + done.stderr
    (model,), _ = CASES[sample]
    found = lines(done.stdout)
    for shapes in ("static", "dynamic"):
        assert found["eager", shapes, model].startswith("ok: "), found
        assert found[mode, shapes, model].startswith("FAILED: "), found
        assert message in found[mode, shapes, model]


@pytest.mark.twin
@pytest.mark.parametrize("sample", SCRATCH)
def test_what_msopgen_reads_and_what_it_generates_agree(sample: str) -> None:
    operator = SAMPLES / sample / "by_hand" / "step2_operator"
    (json,) = operator.glob("*.json")
    (source,) = operator.glob("op_host/*.cpp")
    (given,), _ = parse_msopgen(json.read_text(encoding="utf-8"), Place(str(json)))
    (generated,) = parse_op_def(source.read_text(encoding="utf-8"), where=str(source))
    assert generated.op_type == given.op_type
    assert [(p.name, p.presence) for p in generated.inputs] == [
        (p.name, p.presence) for p in given.inputs
    ]
    assert [p.name for p in generated.outputs] == [p.name for p in given.outputs]
    assert [(a.name, a.ctype, a.required) for a in generated.attributes] == [
        (a.name, a.ctype, a.required) for a in given.attributes
    ]


def counted(folder: Path) -> int:
    """Return the lines of all files of a form."""
    files = (f for f in folder.rglob("*") if f.is_file() and "__pycache__" not in f.parts)
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)


@pytest.mark.parametrize("sample", CASES)
def test_the_readme_counts_the_lines(sample: str) -> None:
    readme = (SAMPLES / "README.md").read_text(encoding="utf-8")
    found = re.search(rf"\[{sample}\].*\| (\d+) \| (\d+) \|", readme)
    assert found is not None
    folder = SAMPLES / sample
    assert (counted(folder / "by_hand"), counted(folder / "declared")) == (
        int(found[1]),
        int(found[2]),
    )


@pytest.mark.parametrize("argument", ["by-hand", "in_place"])
def test_a_form_or_sample_that_is_not_there_is_reported(samples: Path, argument: str) -> None:
    done = run(samples, "bash", "run.sh", argument)
    assert done.returncode == 1
    assert f"unknown argument '{argument}'" in done.stderr


@pytest.mark.parametrize("sample", CASES)
def test_every_file_of_a_form_is_in_the_readme(sample: str) -> None:
    folder = SAMPLES / sample
    readme = (folder / "README.md").read_text(encoding="utf-8")
    for file in (folder / "by_hand").rglob("*"):
        if file.is_file() and "__pycache__" not in file.parts:
            assert file.name in readme, file
    assert "| 6 | " in readme
