"""`opwright compare`: it names what is wrong in programs with one fault each, and no other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.twin.on_twin import python

pytestmark = [pytest.mark.twin, pytest.mark.compile, pytest.mark.slow]

PROGRAMS = Path(__file__).parent / "programs"


def compare(name: str, *options: str) -> tuple[int, dict[str, Any]]:
    """Compare a program of this folder; return the exit code and what was printed as JSON."""
    arguments = ("compare", "--json", *options, "--", "python", str(PROGRAMS / f"{name}.py"))
    done = python("-m", "opwright", *arguments)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def line_of(name: str, code: str) -> str:
    """Return the place of a line of a program, as in `/a/step.py:7`."""
    path = PROGRAMS / f"{name}.py"
    lines = path.read_text(encoding="utf-8").splitlines()
    return f"{path}:{lines.index(code) + 1} "


@pytest.mark.parametrize(
    ("name", "mode", "kind", "operator", "line"),
    [
        (
            "swapped_attributes",
            "max-autotune",
            "operator",
            "faulty.affine.default",
            "    z = torch.ops.faulty.affine(y, 2.0, 0.5)",
        ),
        (
            "kept_number",
            "captured",
            "constant",
            "aten.mul.Tensor",
            "    return torch.relu(x + table[0]) * position",
        ),
        ("kept_row", "captured", "constant", "aten.select.int", "    return x + table[position]"),
        (
            "replaced_tensor",
            "captured",
            "input",
            "aten.add.Tensor",
            "    return torch.relu(x) + bias",
        ),
        (
            "kept_choice",
            "captured",
            "order",
            "aten.sigmoid.default",
            "    return torch.sigmoid(x)",
        ),
        (
            "other_when_compiled",
            "max-autotune",
            "tracing",
            "aten.mul.Tensor",
            "    y = y * 2 if torch.compiler.is_compiling() else y * 3",
        ),
        (
            "difference",
            "npugraph_ex",
            "prefix",
            "aten.sub.Tensor",
            "    return (y[:, 1:] - y[:, :-1]) * 2",
        ),
        (
            "difference",
            "reduce-overhead",
            "prefix",
            "aten.sub.Tensor",
            "    return (y[:, 1:] - y[:, :-1]) * 2",
        ),
    ],
)
def test_the_first_operator_that_differs_is_named_with_its_line(
    name: str, mode: str, kind: str, operator: str, line: str, tmp_path: Path
) -> None:
    code, found = compare(name, "--mode", mode, "--out", str(tmp_path))
    (verdict,) = found["modes"]
    difference = verdict["difference"]
    assert (code, verdict["agrees"]) == (1, False)
    assert (difference["kind"], difference["operator"]["operator"]) == (kind, operator)
    assert difference["operator"]["source"].startswith(line_of(name, line))
    if kind in {"operator", "constant", "prefix"}:
        assert verdict["script"] == {"file": str(tmp_path / f"{mode}.py"), "shows_it": True}
        assert (tmp_path / f"{mode}.pt").is_file()
    else:
        assert verdict["script"] is None


def test_a_number_that_a_graph_keeps_is_shown_beside_that_of_eager(tmp_path: Path) -> None:
    _, found = compare("kept_number", "--mode", "captured", "--out", str(tmp_path))
    difference = found["modes"][0]["difference"]
    assert difference["operator"]["text"] == "torch.ops.aten.mul.Tensor(t[0], 2)"
    assert difference["eager"]["text"] == "torch.ops.aten.mul.Tensor(t[0], 3)"
    (given,) = difference["operator"]["inputs"]
    assert (given["name"], given["dtype"], given["shape"]) == ("self", "float32", [2, 4])
    assert difference["call"] == 3  # the first replay with another number


def test_a_capture_that_reads_from_the_device_is_refused_where_compilers_go_on() -> None:
    code, found = compare("host_read", "--mode", "captured", "--mode", "max-autotune")
    captured, compiled = found["modes"]
    assert code == 1
    assert captured["failure"]["operator"] == "aten._local_scalar_dense.default"
    assert captured["failure"]["source"].startswith(
        line_of("host_read", "    return x / largest.item()")
    )
    assert "107027" in captured["failure"]["text"]
    assert compiled["agrees"]


@pytest.mark.parametrize("name", ["sound_decoder", "sound_training", "only_functions"])
def test_sound_programs_agree_in_every_mode(name: str) -> None:
    code, found = compare(name)
    assert [(each["mode"], each["difference"], each["failure"]) for each in found["modes"]] == [
        (mode, None, None)
        for mode in ("captured", "max-autotune", "reduce-overhead", "npugraph_ex")
    ]
    assert code == 0
    assert all(each["compared"] >= each["calls"] == 3 for each in found["modes"])


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--", "bash", "run.sh"), "OPW-M001"),
        (("--", "python", "no_such_file.py"), "OPW-M001"),
        (("--mode", "max_autotune", "--", "python", "step.py"), "OPW-M005"),
        (("--step", "forward", "--", "python", str(PROGRAMS / "kept_row.py")), "OPW-M002"),
    ],
)
def test_usage_errors_end_with_two(arguments: tuple[str, ...], error: str) -> None:
    done = python("-m", "opwright", "compare", *arguments)
    assert done.returncode == 2
    assert error in done.stderr


def test_a_program_whose_step_gets_other_tensors_each_time_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "other.py"
    file.write_text(
        "import time, torch, torch_npu\n"
        "def step(x):\n    return x + 1\n"
        "step(torch.full((3,), time.time() % 1000).npu())\n"
    )
    done = python("-m", "opwright", "compare", "--mode", "captured", "--", "python", str(file))
    assert done.returncode == 2
    assert "OPW-M004" in done.stderr


def test_a_program_that_fails_in_eager_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "fails.py"
    file.write_text("import torch\ndef step(x):\n    return x @ x\nstep(torch.ones(2, 3).npu())\n")
    done = python("-m", "opwright", "compare", "--", "python", str(file))
    assert done.returncode == 2
    assert "OPW-M003" in done.stderr
