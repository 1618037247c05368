"""Converters of a user's library, of operators and of subgraphs, and what they do wrong.

Programs run in processes of their own, as nothing takes a converter back, without torch_npu.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn

import torch_aie
from aie.tests import processes

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCE = Path(__file__).with_name("converters.cpp")
PREFIX = Path(torch_aie.__file__).parent
TORCH = Path(torch.__file__).parent


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("converters") / "libconverters.so"
    includes = [f"-I{PREFIX / 'include'}", "-isystem", str(TORCH / "include")]
    command = ["g++", "-std=c++20", "-shared", "-fPIC", "-Wall", "-Werror", *includes]
    links = [f"-L{PREFIX / 'lib'}", f"-L{TORCH / 'lib'}", "-ltorch_aie", "-ltorch_cpu", "-lc10"]
    search = [f"-Wl,-rpath,{PREFIX / 'lib'}", f"-Wl,-rpath,{TORCH / 'lib'}"]
    subprocess.run([*command, SOURCE, "-o", built, *links, *search], check=True)
    return built


def run(program: Callable[[str], None], library: Path, **variables: str) -> processes.Done:
    done = processes.run(program, str(library), **{"TORCH_AIE_LOG_LEVEL": "warn", **variables})
    assert done.returncode == 0, done.stderr
    return done


def load(library: str) -> None:
    torch.ops.load_library(library)  # type: ignore[no-untyped-call]  # torch's


def traced(module: nn.Module, x: torch.Tensor) -> Any:  # noqa: ANN401 - torch's
    return torch.jit.trace(module.eval(), x)  # type: ignore[no-untyped-call]  # torch's


class Model(nn.Module):
    """A model of one operator."""

    def __init__(self, operator: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.operator = operator

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.operator(x)


def print_outcomes(library: str) -> None:
    """Print the result of each operator, or its error."""
    load(library)
    for name in ("erf", "sin", "exp", "asin", "sinh", "cosh", "asinh", "atanh", "acosh", "tanh"):
        module = traced(Model(getattr(torch, name)), torch.ones(2))
        try:
            compiled = torch_aie.compile(module, inputs=[torch.ones(2)])
        except ValueError as error:
            print(name, repr(str(error)))  # noqa: T201 - what the tests below read
        else:
            print(name, compiled(torch.ones(2)).tolist())  # noqa: T201 - as above


@pytest.fixture(scope="module")
def outcomes(library: Path) -> processes.Done:
    return run(print_outcomes, library)


@pytest.mark.build
@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("erf", "aten::erf(%x) at <here>:"),
        ("erf", "its converter returned false"),
        ("sin", "its converter associated nothing with the output %"),
        ("exp", "[-1.0, -1.0]"),
        ("asin", "aten::asin(%x) at <here>:"),
        ("asin", ": the tensor is null; BaseLayer::GetOutput(index) gives a null pointer for an "),
        ("sinh", ": the tensor is null"),
        ("cosh", "aten::cosh(%x) at <here>:"),
        ("cosh", ": the tensor is null"),
        ("asinh", "aten::asinh(%x) at <here>:"),
        ("asinh", ": AssociateValueAndVar: the value is null"),
        ("atanh", "aten::atanh(%x) at <here>:"),
        ("atanh", " has a value already; a converter associates each output of its own node once"),
        ("acosh", "aten::acosh(%x) at <here>:"),
        ("acosh", ": its converter associated a value that is no output of the node"),
        ("tanh", "aten::tanh(%x) at <here>:"),
        ("tanh", ": int was thrown; throw a std::exception or use TORCH_CHECK"),
    ],
)
def test_converter(outcomes: processes.Done, operator: str, expected: str) -> None:
    lines = dict(line.split(" ", 1) for line in outcomes.stdout.splitlines())
    assert expected.replace("<here>", __file__) in lines[operator]


@pytest.mark.build
def test_replaced_converter_is_reported(outcomes: processes.Done) -> None:
    assert "the converter of aten::exp is replaced by a later one, of " in outcomes.stderr


@pytest.mark.build
def test_overload_that_there_is_not_is_reported(outcomes: processes.Done) -> None:
    (line,) = [line for line in outcomes.stderr.splitlines() if "is never called" in line]
    assert "the converter of 'aten::floor_divide.absent(Tensor self, float other)" in line
    assert "the operator is 'aten::floor_divide" in line


# Each is reported once, and again when the operator is compiled.
MISTAKES = (
    "the converter of 'aten::tan(Tensor self -> Tensor', of ",
    "libconverters.so, is not registered: ",
    "the converter of 'aten::atan(Tensor self) -> Tensor', of ",
    "its function is empty",
    "the converter of 'no schema', of ",
    "the converter of 'aten::floor(Tensor self, int digits) -> Tensor', of ",
    "is not registered: the operator is 'aten::floor(Tensor self) -> Tensor'",
)


def compile_refused(library: str) -> None:
    """Compile operators whose converters were refused, and others."""
    load(library)
    first = str(outcome(torch.relu))
    assert [text for text in MISTAKES if text not in first] == []
    assert "compile again, and only graphs with these operators are refused" in first
    assert "aten::cos" not in first  # a later registration is right
    assert outcome(torch.relu) == 1
    tan = str(outcome(torch.tan))
    assert "aten::tan(Tensor self -> Tensor" in tan
    assert "aten::atan" not in tan
    assert "its converter returned false" in str(outcome(torch.erf))
    assert outcome(torch.ceil) == 0  # on libtorch: its converter declines
    assert MISTAKES[-1] in str(outcome(torch.floor))
    assert outcome(torch.cos) == 0
    assert outcome(torch.tan, "aten::tan") == 0
    assert outcome(torch.relu) == 1


def outcome(operator: Callable[[torch.Tensor], torch.Tensor], *kept: str) -> str | int:
    """Return how many engines the compiled operator has, or why there is none."""
    module = traced(Model(operator), torch.ones(2))
    try:
        compiled = torch_aie.compile(module, inputs=[torch.ones(2)], torch_executed_ops=kept)
    except ValueError as error:
        return str(error)
    assert torch.equal(compiled(torch.ones(2)), module(torch.ones(2)))
    return str(compiled.graph).count("execute_engine")


@pytest.mark.build
def test_registrations_that_are_refused(library: Path) -> None:
    done = run(compile_refused, library, REFUSED_CONVERTERS="1", TORCH_AIE_LOG_LEVEL="error")
    assert [text for text in MISTAKES if text not in done.stderr] == []


class Inferred(nn.Module):
    """A model of an operator of the library, whose schema was inferred."""

    def forward(self, x: torch.Tensor) -> Any:  # noqa: ANN401 - torch's
        return torch.ops.aie_tests.inferred(x)


def compile_own_operators(library: str) -> None:
    """Compile an operator of the library, and ask for what() of errors in C++."""
    load(library)
    module = traced(Inferred(), torch.ones(2))
    with pytest.raises(ValueError, match="its schema was inferred from its function") as error:
        torch_aie.compile(module, inputs=[torch.ones(2)], require_full_compilation=True)
    assert "give m.def a schema string" in str(error.value)
    for size in (0, 1025):
        what = torch.ops.aie_tests.what_of_block_size(size)
        assert what == f"min_block_size: got {size}, allowed are 1 to 1024"  # no backtrace


@pytest.mark.build
def test_inferred_schema_and_what_of_errors(library: Path) -> None:
    run(compile_own_operators, library)


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_library_that_lacks_a_symbol(tmp_path: Path) -> None:
    source = tmp_path / "library.c"
    source.write_text(
        "void absent_in_torch_aie(void);\nvoid use(void) { absent_in_torch_aie(); }\n"
    )
    library = tmp_path / "liblacking.so"
    command = ["gcc", "-shared", "-fPIC", "-Wl,-z,now", str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    with pytest.raises(OSError, match="Could not load this library: ") as error:
        torch.ops.load_library(str(library))  # type: ignore[no-untyped-call]  # torch's
    assert "undefined symbol: absent_in_torch_aie" in str(error.value.__cause__)
    module = torch.jit.script(torch.nn.ReLU().eval())
    compiled = torch_aie.compile(module, inputs=[torch.ones(2)])
    assert torch.equal(compiled(-torch.ones(2)), torch.zeros(2))


X = torch.tensor([-1.0, 0.3, 2.0])


class Quantize(nn.Module):
    """Scaled and rounded, as the library's converter makes integers of it."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale = torch.tensor(10.0, dtype=torch.double)
        offset = torch.tensor(1.0, dtype=torch.double)
        return (x * scale + offset).round_().clamp(-128, 127)


class Sum(nn.Module):
    """relu(x) + x, and more."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) + x + x * 2


class ReadTwice(nn.Module):
    """relu(x) + x, whose first part is read again."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(x)
        return y + x + y


def result(model: nn.Module, **options: Any) -> tuple[torch.dtype, list[float]]:  # noqa: ANN401 - of compile
    """Return a result of a compiled model, in which no marker of a subgraph is left."""
    module = torch_aie.compile(traced(model, X), inputs=[X], **options)
    assert "torch_aie::subgraph" not in str(module.graph)
    out = module(X)
    return out.dtype, [round(value, 4) for value in out.tolist()]


def compile_patterns(library: str) -> None:
    """Compile models that have the subgraphs of the library's converters."""
    load(library)
    # clamp(round(10 x + 1)) as int8; the in-place rounding is not in the way.
    assert result(Quantize(), require_full_compilation=True) == (torch.int8, [-9, 4, 21])
    # -x in place of relu(x) + x; what is added to it stays.
    assert result(Sum()) == (torch.float32, [-1.0, 0.3, 2.0])
    # The operators' results: relu is kept, the block is too small, its result is read twice.
    plain = (torch.float32, [-3.0, 1.2, 8.0])
    assert result(Sum(), torch_executed_ops=["aten::relu"]) == plain
    assert result(Sum(), min_block_size=100) == plain
    assert result(ReadTwice()) == (torch.float32, [-1.0, 0.9, 6.0])


def compile_broken_pattern(library: str) -> None:
    """Compile where a pattern is not valid: the first time raises it, later ones go on."""
    load(library)
    expected = r"^a pattern of RegisterSubgraphConverters is not valid:"
    with pytest.raises(ValueError, match=expected):
        result(Quantize(), require_full_compilation=True)
    assert result(Sum()) == (torch.float32, [-1.0, 0.3, 2.0])
    for model, options in (
        (Sum(), {"torch_executed_ops": ["aten::relu"]}),
        (Sum(), {"min_block_size": 100}),
        (ReadTwice(), {}),
    ):
        result(model, **options)


@pytest.mark.build
def test_patterns(library: Path) -> None:
    printed = run(compile_patterns, library, TORCH_AIE_LOG_PRINT_TO_STDOUT="1").stdout
    assert "the converter of a subgraph is replaced by a later one" in printed


@pytest.mark.build
def test_broken_pattern(library: Path) -> None:
    run(compile_broken_pattern, library, BROKEN_PATTERN="1")
