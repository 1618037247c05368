"""Converters of a user's library, of operators and of subgraphs, and what they do wrong.

Scripts run in processes of their own, as nothing takes a converter back, without torch_npu.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import torch

import torch_aie
from aie.tests import processes

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


def run(script: str, library: Path, **variables: str) -> processes.Done:
    done = processes.run(script, library, **{"TORCH_AIE_LOG_LEVEL": "warn", **variables})
    assert done.returncode == 0, done.stderr
    return done


OUTCOMES = """
import sys
import torch
import torch_aie

torch.ops.load_library(sys.argv[1])


class Model(torch.nn.Module):
    def __init__(self, operator):
        super().__init__()
        self.operator = operator

    def forward(self, x):
        return self.operator(x)


for name in ("erf", "sin", "exp", "asin", "sinh", "cosh", "asinh", "tanh"):
    module = torch.jit.trace(Model(getattr(torch, name)).eval(), torch.ones(2))
    try:
        compiled = torch_aie.compile(module, inputs=[torch.ones(2)])
    except ValueError as error:
        print(name, repr(str(error)))
    else:
        print(name, compiled(torch.ones(2)).tolist())
"""


@pytest.fixture(scope="module")
def outcomes(library: Path) -> processes.Done:
    return run(OUTCOMES, library)


@pytest.mark.build
@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("erf", "aten::erf(%x) at <string>"),
        ("erf", "its converter returned false"),
        ("sin", "its converter associated nothing with the output %"),
        ("exp", "[-1.0, -1.0]"),
        ("asin", "aten::asin(%x) at <string>"),
        ("asin", ": the tensor is null; BaseLayer::GetOutput(index) gives a null pointer for an "),
        ("sinh", ": the tensor is null"),
        ("cosh", "aten::cosh(%x) at <string>"),
        ("cosh", ": the tensor is null"),
        ("asinh", "aten::asinh(%x) at <string>"),
        ("asinh", ": AssociateValueAndVar: the value is null"),
        ("tanh", "aten::tanh(%x) at <string>"),
        ("tanh", ": int was thrown; throw a std::exception or use TORCH_CHECK"),
    ],
)
def test_converter(outcomes: processes.Done, operator: str, expected: str) -> None:
    lines = dict(line.split(" ", 1) for line in outcomes.stdout.splitlines())
    assert expected in lines[operator]


@pytest.mark.build
def test_replaced_converter_is_reported(outcomes: processes.Done) -> None:
    assert "the converter of aten::exp is replaced by a later one, of " in outcomes.stderr


@pytest.mark.build
def test_overload_that_there_is_not_is_reported(outcomes: processes.Done) -> None:
    (line,) = [line for line in outcomes.stderr.splitlines() if "is never called" in line]
    assert "the converter of 'aten::floor_divide.absent(Tensor self, float other)" in line
    assert "the operator is 'aten::floor_divide" in line


# A mistake in a registration is reported once, and again when the operator is compiled.
REFUSED = """
import sys
import torch
import torch_aie

torch.ops.load_library(sys.argv[1])


class Model(torch.nn.Module):
    def __init__(self, operator):
        super().__init__()
        self.operator = operator

    def forward(self, x):
        return self.operator(x)


def outcome(operator, *kept):
    module = torch.jit.trace(Model(operator).eval(), torch.ones(2))
    try:
        compiled = torch_aie.compile(module, inputs=[torch.ones(2)], torch_executed_ops=kept)
    except ValueError as error:
        return str(error)
    assert torch.equal(compiled(torch.ones(2)), module(torch.ones(2)))
    return str(compiled.graph).count("execute_engine")


for operator in (torch.relu, torch.relu, torch.tan, torch.erf, torch.ceil, torch.floor, torch.cos):
    print(repr(outcome(operator)))
print(outcome(torch.tan, "aten::tan"), outcome(torch.relu))
"""


@pytest.mark.build
def test_registrations_that_are_refused(library: Path) -> None:
    done = run(REFUSED, library, REFUSED_CONVERTERS="1", TORCH_AIE_LOG_LEVEL="error")
    first, second, tan, erf, ceil, floor, cos, last = done.stdout.splitlines()
    other = "is not registered: the operator is 'aten::floor(Tensor self) -> Tensor'"
    for text in (
        "the converter of 'aten::tan(Tensor self -> Tensor', of ",
        "libconverters.so, is not registered: ",
        "the converter of 'aten::atan(Tensor self) -> Tensor', of ",
        "its function is empty",
        "the converter of 'no schema', of ",
        "the converter of 'aten::floor(Tensor self, int digits) -> Tensor', of ",
        other,
    ):
        assert text in first
        assert text in done.stderr
    assert "compile again, and only graphs with these operators are refused" in first
    assert "aten::cos" not in first  # a later registration is right
    assert (second, cos, last) == ("1", "0", "0 1")
    assert other in floor
    assert "aten::tan(Tensor self -> Tensor" in tan
    assert "aten::atan" not in tan
    assert "its converter returned false" in erf
    assert ceil == "0"  # on libtorch: its converter declines


# Messages about a library's own operators, and what() of errors in C++.
MESSAGES = """
import sys
import torch
import torch_aie

torch.ops.load_library(sys.argv[1])


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.ops.aie_tests.inferred(x)


try:
    module = torch.jit.trace(Model().eval(), torch.ones(2))
    torch_aie.compile(module, inputs=[torch.ones(2)], require_full_compilation=True)
except ValueError as error:
    print(repr(str(error)))
for size in (0, 1025):
    print(repr(torch.ops.aie_tests.what_of_block_size(size)))
"""


@pytest.mark.build
def test_inferred_schema_and_what_of_errors(library: Path) -> None:
    inferred, *errors = run(MESSAGES, library).stdout.splitlines()
    assert "its schema was inferred from its function" in inferred
    assert "give m.def a schema string" in inferred
    # No backtrace.
    assert errors == [f"'min_block_size: got {n}, allowed are 1 to 1024'" for n in (0, 1025)]


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


PATTERNS = """
import sys
import torch
import torch_aie

torch.ops.load_library(sys.argv[1])
X = torch.tensor([-1.0, 0.3, 2.0])


class Quantize(torch.nn.Module):
    def forward(self, x):
        scale = torch.tensor(10.0, dtype=torch.double)
        offset = torch.tensor(1.0, dtype=torch.double)
        return (x * scale + offset).round_().clamp(-128, 127)


class Sum(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + x + x * 2


class ReadTwice(torch.nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        return y + x + y


def show(name, model, **options):
    try:
        module = torch_aie.compile(torch.jit.trace(model.eval(), X), inputs=[X], **options)
    except Exception as e:
        print(name, type(e).__name__, str(e).splitlines()[0])
        return
    out = module(X)
    left = "torch_aie::subgraph" in str(module.graph)
    print(name, out.dtype, [round(v, 4) for v in out.tolist()], left)


show("quantize", Quantize(), require_full_compilation=True)
show("sum", Sum())
show("kept", Sum(), torch_executed_ops=["aten::relu"])
show("small", Sum(), min_block_size=100)
show("read", ReadTwice())
"""


@pytest.mark.build
def test_patterns(library: Path) -> None:
    text = run(PATTERNS, library, TORCH_AIE_LOG_PRINT_TO_STDOUT="1").stdout
    lines = dict(line.split(" ", 1) for line in text.splitlines() if line.split(" ")[0].isalpha())
    # clamp(round(10 x + 1)) as int8; the in-place rounding is not in the way.
    assert lines["quantize"] == "torch.int8 [-9, 4, 21] False"
    # -x in place of relu(x) + x; what is added to it stays.
    assert lines["sum"] == "torch.float32 [-1.0, 0.3, 2.0] False"
    # The operators' results: relu is kept, the block is too small, its result is read twice.
    assert lines["kept"] == "torch.float32 [-3.0, 1.2, 8.0] False"
    assert lines["small"] == lines["kept"]
    assert lines["read"] == "torch.float32 [-1.0, 0.9, 6.0] False"
    assert "the converter of a subgraph is replaced by a later one" in text


@pytest.mark.build
def test_broken_pattern(library: Path) -> None:
    lines = run(PATTERNS, library, BROKEN_PATTERN="1").stdout.splitlines()
    expected = "ValueError a pattern of RegisterSubgraphConverters is not valid:"
    # The first compile raises it; later ones go on.
    reported = [line for line in lines if expected in line]
    assert len(reported) == 1
    assert reported[0].startswith(f"quantize {expected}")
    assert "sum torch.float32 [-1.0, 0.3, 2.0] False" in lines
