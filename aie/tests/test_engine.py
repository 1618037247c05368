"""A model in the engine before it runs: fewer steps, memory by a plan."""

from __future__ import annotations

import gc
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
import torch
from torch import nn
from torch.nn import functional

import torch_aie
from aie.tests import scripts
from torch_aie import Input, PrecisionPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")

SHAPE = (2, 4, 16, 16)


class Calls(nn.Module):
    """A function with two convolutions of its own."""

    def __init__(self, function: Callable[[Calls, torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Conv2d(4, 4, 3, padding=1)
        self.second = nn.Conv2d(4, 4, 1, groups=2, bias=False)
        self.up = nn.ConvTranspose2d(4, 4, 2, 2)
        self.up_groups = nn.ConvTranspose2d(4, 4, 2, 2, groups=2)
        self.wide = nn.Linear(128, 128)
        self.norm = nn.BatchNorm2d(4)
        self.norm.running_mean = self.values = torch.rand(4)
        self.norm.running_var = torch.rand(4) + 0.5
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(self, x)


def traced(module: nn.Module) -> torch.jit.ScriptModule:
    return scripts.traced(module, (torch.rand(SHAPE),))


def compiled(module: torch.jit.ScriptModule) -> torch.jit.ScriptModule:
    engine: torch.jit.ScriptModule = torch_aie.compile(
        module,
        inputs=[Input(SHAPE)],
        precision_policy=PrecisionPolicy.FP32,
        require_full_compilation=True,
    )
    return engine


def layers_of(module: torch.jit.ScriptModule) -> list[str]:
    """Return the names of the model's operations, in their order."""
    model = torch_aie.export_engine(
        module, inputs=[Input(SHAPE)], precision_policy=PrecisionPolicy.FP32
    )
    names = rb"Activation|Clip|Concatenation|Convolution|ElementWise|HardSwish|Scale|Unary"
    # A step is written as its operation's name behind the name's length.
    found = re.finditer(rb"(.)\0{7}(" + names + rb")(?=.\0{7})", model, re.DOTALL)
    return [m[2].decode() for m in found if m[1][0] == len(m[2])]


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x + x


def gated(x: torch.Tensor, gate: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    return gate(x) * x


FUSED: dict[str, tuple[Callable[[Calls, torch.Tensor], torch.Tensor], list[str]]] = {
    "batch norm": (lambda m, x: m.norm(m.first(x)), ["Convolution"]),
    "batch norm without bias before": (lambda m, x: m.norm(m.second(x)), ["Convolution"]),
    "batch norm behind transposed": (lambda m, x: m.norm(m.up(x)), ["Convolution"]),
    "batch norm behind transposed groups": (lambda m, x: m.norm(m.up_groups(x)), ["Convolution"]),
    "batch norm first": (lambda m, x: m.first(m.norm(x)), ["Scale", "Convolution"]),
    "number": (lambda m, x: 2 - m.first(x) / 4, ["Convolution"]),
    "relu": (lambda m, x: torch.relu(m.first(x)), ["Convolution"]),
    "gelu": (lambda m, x: functional.gelu(m.first(x), approximate="tanh"), ["Convolution"]),
    "leaky": (lambda m, x: functional.leaky_relu(m.up(x), 0.3), ["Convolution"]),
    "hardtanh": (lambda m, x: functional.relu6(m.first(x) * 9), ["Convolution"]),
    "swish": (lambda m, x: functional.silu(m.norm(m.first(x))), ["Convolution"]),
    "sum of an input": (lambda m, x: torch.relu(m.first(x) + x), ["Convolution"]),
    "sum of two": (lambda m, x: torch.relu(m.first(x) + m.second(x)), ["Convolution"] * 2),
    "sum behind relu": (
        lambda m, x: torch.relu(m.first(x)) + x,
        ["Convolution", "ElementWise"],
    ),
    "sum that broadcasts": (
        lambda m, x: m.first(x) + x[:, :, :1],
        ["Convolution", "ElementWise"],
    ),
    "sum with itself": (
        lambda m, x: doubled(m.first(x)),
        ["Convolution", "ElementWise"],
    ),
    "result that is read twice": (
        lambda m, x: gated(m.first(x), torch.relu),
        ["Convolution", "Activation", "ElementWise"],
    ),
    "residual that is read later": (
        lambda m, x: gated(torch.relu(m.first(x)), lambda y: torch.relu(m.second(y) + y)),
        ["Convolution", "Convolution", "ElementWise"],
    ),
    "residual that is shown by a view": (
        lambda m, x: gated(m.first(x), lambda y: (m.second(y) + y.flatten(1).view(SHAPE)) + y),
        ["Convolution", "Convolution", "ElementWise", "ElementWise"],
    ),
    "scale along another axis": (
        lambda m, x: m.first(x) * torch.arange(16.0),
        ["Convolution", "ElementWise"],
    ),
}


@pytest.mark.parametrize("name", FUSED)
def test_fusion_keeps_values(name: str) -> None:
    function, layers = FUSED[name]
    module = traced(Calls(function))
    x = torch.rand(SHAPE) - 0.5
    given = x.clone()
    engine = compiled(module)
    for _ in range(3):
        torch.testing.assert_close(engine(x), module(x), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(x, given, atol=0, rtol=0)  # no step wrote into the input
    assert layers_of(module) == layers


def test_constants_are_folded() -> None:
    def function(m: Calls, x: torch.Tensor) -> torch.Tensor:
        return x * torch.exp(torch.relu(m.values)).view(1, 4, 1, 1)

    module = traced(Calls(function))
    x = torch.rand(SHAPE)
    torch.testing.assert_close(compiled(module)(x), module(x), atol=1e-6, rtol=1e-6)
    assert layers_of(module) == ["ElementWise"]


def deep(m: Calls, x: torch.Tensor) -> torch.Tensor:
    y = torch.relu(m.first(x))
    for _ in range(6):
        y = torch.relu(m.second(m.first(y)) + y)
    return torch.cat([y, m.up(y)[:, :, :16, :16]], 1)


def test_memory_is_planned_before_the_first_call() -> None:
    module = nn.Sequential(*[nn.Conv2d(8, 8, 3, padding=1) for _ in range(3)])
    x = torch.rand(2, 8, 32, 32)
    script = scripts.traced(module, (x,))
    engine = torch_aie.compile(script, inputs=[x], precision_policy=PrecisionPolicy.FP32)
    cpu = [torch.profiler.ProfilerActivity.CPU]  # of the device too needs CANN
    # Without acc_events, some releases of torch warn that a second cycle would clear the first.
    with torch.profiler.profile(activities=cpu, profile_memory=True, acc_events=True) as profile:
        engine(x)
    taken = [e.cpu_memory_usage for e in profile.events() if "_convolution_" in e.name]
    assert taken == [0, 0, 0]  # all results are in the engine's block


def test_model_that_does_not_take_zeros_is_planned_by_a_run() -> None:
    module = Calls(lambda _, x: torch.div(torch.arange(1, 8193), x, rounding_mode="floor") * 2 + 1)
    numbers = torch.arange(1, 8193)
    script = scripts.traced(module, (numbers,))
    engine = torch_aie.compile(
        script, inputs=[numbers], truncate_long_and_double=True, require_full_compilation=True
    )
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        engine(numbers * 0)
    for x in (numbers, numbers + 1, numbers):
        torch.testing.assert_close(engine(x), script(x))


def test_results_outlive_later_runs() -> None:
    """Runs take memory from one block again and again: what was returned is not in it."""
    module = traced(Calls(deep))
    engine = compiled(module)
    inputs = [torch.rand(SHAPE) for _ in range(6)]
    results = [engine(x) for x in inputs]
    for x, result in zip(inputs, results, strict=True):
        torch.testing.assert_close(result, module(x), atol=1e-5, rtol=1e-5)


def test_threads_run_one_engine_at_once() -> None:
    module = traced(Calls(deep))
    engine = compiled(module)
    inputs = [torch.rand(SHAPE) for _ in range(24)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(engine, inputs))
    for x, result in zip(inputs, results, strict=True):
        torch.testing.assert_close(result, module(x), atol=1e-5, rtol=1e-5)


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    """Set this thread's number of threads; afterwards it is what it was."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def reorders(call: Callable[[], object], capfd: pytest.CaptureFixture[str]) -> int:
    """Return how many tensors oneDNN brings into another layout in a call."""
    capfd.readouterr()
    on = torch.backends.mkldnn.VERBOSE_ON
    with torch.backends.mkldnn.verbose(on):  # type: ignore[no-untyped-call]
        call()
    lines = capfd.readouterr().out.splitlines()
    assert any("exec,cpu,convolution" in line for line in lines)
    return sum("exec,cpu,reorder" in line for line in lines)


class Wide(nn.Module):
    """A convolution of ResNet-50, for which oneDNN wants other weights with 1 thread than with 4.

    With AVX-512 at least: on other machines it may want the same.
    """

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.wide = nn.Conv2d(256, 1024, 1)
        self.groups = nn.Conv2d(1024, 1024, 3, padding=1, groups=32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.groups(self.wide(x)))


def wide_engine() -> tuple[torch.jit.ScriptModule, torch.Tensor, torch.Tensor]:
    """Return a model that was compiled for four threads, an input, and its result."""
    module = Wide()
    x = torch.rand(1, 256, 14, 14)
    script = scripts.traced(module, (x,))
    torch.set_num_threads(4)
    engine: torch.jit.ScriptModule = torch_aie.compile(
        script, inputs=[x], precision_policy=PrecisionPolicy.FP32, require_full_compilation=True
    )
    return engine, x, module(x)


def test_weights_follow_the_number_of_threads(
    threads: Callable[[int], None], capfd: pytest.CaptureFixture[str]
) -> None:
    engine, x, wanted = wide_engine()
    for count in (4, 1, 2, 4, 1):
        threads(count)
        for _ in range(8):  # each time it takes more runs until they follow
            torch.testing.assert_close(engine(x), wanted, atol=1e-5, rtol=1e-5)
        assert reorders(lambda: engine(x), capfd) == 0


def test_weights_stay_where_numbers_of_threads_take_turns(
    threads: Callable[[int], None], capfd: pytest.CaptureFixture[str]
) -> None:
    engine, x, _ = wide_engine()
    counts = []
    for number in range(24):
        threads(1 + 3 * (number % 2))
        counts.append(reorders(lambda: engine(x), capfd))
    threads(1)  # the first run packed for one thread, and no later one for four
    assert max(counts[2:]) <= 1
    assert reorders(lambda: engine(x), capfd) == 0


def test_saved_weights_are_the_same_in_any_layout(
    threads: Callable[[int], None], tmp_path: Path
) -> None:
    engine, x, wanted = wide_engine()
    files = []
    for count in (4, 1):
        threads(count)
        torch.testing.assert_close(engine(x), wanted, atol=1e-5, rtol=1e-5)
        files.append(tmp_path / f"{count}.pt")
        engine.save(str(files[-1]))
    first, second = (torch.jit.load(str(f))(x) for f in files)  # type: ignore[no-untyped-call]
    torch.testing.assert_close(first, second, atol=0, rtol=0)
    torch.testing.assert_close(first, wanted, atol=1e-5, rtol=1e-5)


def test_threads_of_different_numbers_run_one_engine_at_once(
    threads: Callable[[int], None],
) -> None:
    engine, x, wanted = wide_engine()

    def run(count: int) -> list[torch.Tensor]:
        threads(count)  # of this thread of the pool
        return [engine(x) for _ in range(12)]

    with ThreadPoolExecutor(4) as pool:
        for results in pool.map(run, [1, 2, 4, 1]):
            for result in results:
                torch.testing.assert_close(result, wanted, atol=1e-5, rtol=1e-5)


def test_results_outlive_the_engine() -> None:
    module = traced(Calls(deep))
    x = torch.rand(SHAPE)
    result = compiled(module)(x)
    gc.collect()
    torch.testing.assert_close(result, module(x), atol=1e-5, rtol=1e-5)


def test_result_that_is_a_constant_belongs_to_the_caller() -> None:
    module = traced(Calls(lambda m, x: m.values.exp() + x.new_zeros(4)))
    engine = compiled(module)
    x = torch.rand(SHAPE)
    wanted = module(x).clone()
    engine(x).zero_()
    torch.testing.assert_close(engine(x), wanted, atol=1e-6, rtol=1e-6)


def test_results_are_contiguous_as_pytorchs() -> None:
    module = traced(Calls(lambda m, x: torch.relu(m.first(x))))
    x = torch.rand(SHAPE)
    assert compiled(module)(x).stride() == module(x).stride()


BOUNDS: list[Callable[[Calls, torch.Tensor], torch.Tensor]] = [
    lambda m, x: functional.relu6(m.first(x)),
    lambda m, x: functional.hardtanh(m.second(x) + x, -0.5, 0.25),
    lambda m, x: functional.hardsigmoid(m.first(x)),
    lambda m, x: torch.sigmoid(m.up(x)),
    lambda m, x: torch.relu(m.wide(x.reshape(16, 128))),
]


@pytest.mark.parametrize("function", BOUNDS)
def test_nan_goes_through_functions(
    function: Callable[[Calls, torch.Tensor], torch.Tensor],
) -> None:
    """relu behind a convolution is another matter: there optimize_for_inference loses NaN too."""
    module = traced(Calls(function))
    x = torch.rand(SHAPE) - 0.5
    x[0, 1, 3, 5] = float("nan")
    torch.testing.assert_close(compiled(module)(x), module(x), atol=1e-5, rtol=1e-5, equal_nan=True)


def test_autocast_changes_nothing() -> None:
    """A small product by ATen, one by oneDNN, and one of two values."""

    def function(m: Calls, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = m.wide(x.reshape(16, 128))
        small: torch.Tensor = functional.linear(y, m.wide.weight[:5], m.wide.bias[:5])
        return small + (y @ y.t())[:, :5]

    module = traced(Calls(function))
    engine = compiled(module)
    x = torch.rand(SHAPE)
    wanted = engine(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.testing.assert_close(engine(x), wanted, atol=0, rtol=0)
