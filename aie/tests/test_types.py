"""Types of results, beside TorchScript's; what the policies compute in."""

from __future__ import annotations

import pytest
import torch

import torch_aie
from aie.tests.operator_rows import CONVERTED, Row
from aie.tests.test_operators import scripted
from torch_aie import PrecisionPolicy

# PyTorch calls TorchScript deprecated in each of its functions; this package is about it.
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*torch.jit:DeprecationWarning",
    "ignore:torch.meshgrid:UserWarning",
    "ignore:at..frobenius_norm is deprecated:UserWarning",
)

INT = torch.tensor([[-7, 3, 2], [5, 0, -1]])
INT32 = INT.to(torch.int32)
BOOL = INT > 0
FLOAT = torch.tensor([[0.5, -1.25, 2.0], [0.0, 3.5, -2.0]])
ONE = torch.tensor(1.5, dtype=torch.float64)  # without dimensions: it does not promote

PROMOTIONS = [
    ("x + 1", INT32),
    ("x + 0.5", INT),
    ("x * True", INT),
    ("x + 1", BOOL),
    ("x + 0.5", BOOL),
    ("x + y", FLOAT, INT),
    ("x + y", FLOAT, ONE),
    ("x * y", FLOAT.double(), FLOAT),
    ("x - y * 2", INT32, INT),
    ("torch.sub(x, y, alpha=3)", FLOAT, FLOAT),
    ("2 - x", INT32),
    ("x / 2", INT),
    ("x // 2", INT),
    ("x % 3", INT),
    ("torch.fmod(x, 3)", INT),
    ("torch.div(x, 2, rounding_mode='trunc')", INT),
    ("torch.div(x, 2.0, rounding_mode='floor')", INT32),
    ("x ** 2", INT),
    ("x ** 0.5", BOOL.float()),
    ("2 ** x", FLOAT),
    ("x > 0.5", INT),
    ("x == y", FLOAT, INT),
    ("(x > 0) & (x < 3)", FLOAT),
    ("x & 3 | 4", INT),
    ("~x", INT32),
    ("x << 2", INT),
    ("torch.where(x > 0, x, 0.0)", FLOAT),
    ("torch.where(x > 0, 1, 2)", FLOAT),
    ("torch.where(y, x, x + 0.5)", INT, BOOL),
    ("x.masked_fill(y, 2.0)", INT, BOOL),
    ("x.masked_fill(y, z)", FLOAT, BOOL, torch.tensor(7)),
    ("x.clamp(-1, 2)", INT32),
    ("x.clamp(-1.5, 2)", INT),
    ("x.clamp(min=0)", FLOAT),
    ("x.clamp(y, y + 1)", FLOAT, INT.float()),
    ("x.clamp_max(y)", FLOAT, FLOAT.flip(0)),
    ("torch.maximum(x, y)", INT32, INT),
    ("x.cumsum(0)", INT32),
    ("x.cumsum(0)", BOOL),
    ("x.cumsum(1, dtype=torch.float64)", INT),
    ("x.cumprod(1)", INT32),
    ("x.sum()", BOOL),
    ("x.sum(1, dtype=torch.float32)", INT),
    ("x.mean(dtype=torch.float64)", FLOAT),
    ("x.prod(0)", INT32),
    ("x.any(), x.all(1)", BOOL),
    ("torch.any(x, dim=0), torch.all(x)", INT),
    ("x.max(), x.min()", INT32),
    ("x.max(1), x.min(0, True)", FLOAT),
    ("x.amax((0, 1)), x.amin(1)", INT),
    ("x.argmax(), x.argmin(1, True)", INT),
    ("x.topk(2)", INT32),
    ("x.topk(1, 0, False)", FLOAT),
    ("x.sort(1, True)", FLOAT),
    ("torch.sort(x, stable=True, dim=0)", INT),
    ("x.argsort(0)", FLOAT),
    ("x.std(), x.std(1), x.var(0, unbiased=False)", FLOAT),
    ("torch.var(x, (0, 1), correction=0), torch.var_mean(x, 1)", FLOAT),
    ("x.norm(), x.norm(3, 1), torch.linalg.vector_norm(x, 1)", FLOAT),
    ("torch.linalg.norm(x, 'fro'), torch.linalg.norm(x, 1)", FLOAT),
    ("x.logsumexp(1), x.softmax(0), x.log_softmax(1, dtype=torch.float64)", FLOAT),
    ("torch.softmax(x, 1, dtype=torch.float32)", INT),
    ("x.to(torch.int32), x.double(), x.half(), x.to(y)", FLOAT, INT),
    ("x.to(torch.bool).to(torch.float32), x.type_as(y)", INT, FLOAT.double()),
    ("torch.lerp(x, y, 0.25), torch.addcmul(x, y, y, value=2)", FLOAT, FLOAT.flip(1)),
    ("torch.addcdiv(x, y, y + 5, value=0.5), torch.atan2(x, y)", FLOAT, FLOAT.flip(1)),
    ("torch.nan_to_num(x / y), torch.isfinite(x / y)", FLOAT, FLOAT - 0.5),
    ("torch.log10(x + 5), torch.log1p(x + 5), torch.frac(x), torch.trunc(x)", FLOAT),
    ("torch.expm1(x), torch.erfc(x), torch.isnan(x), torch.isinf(x)", FLOAT),
    ("torch.logical_xor(x, y), torch.logical_or(x, y)", INT, FLOAT),
    ("torch.celu(x, 0.5), torch.selu(x)", FLOAT),
    ("torch.threshold(x, 0.1, 20.0)", FLOAT),
]


def compiled(
    module: torch.jit.ScriptModule, tensors: list[torch.Tensor], policy: PrecisionPolicy
) -> torch.jit.ScriptModule:
    module = torch_aie.compile(
        module, inputs=tensors, precision_policy=policy, require_full_compilation=True
    )
    assert isinstance(module, torch.jit.ScriptModule)
    return module


@pytest.mark.parametrize(("expression", "tensors"), [(row[0], list(row[1:])) for row in PROMOTIONS])
def test_types_are_pytorchs(expression: str, tensors: list[torch.Tensor]) -> None:
    module = scripted(Row("", expression, ((),) * len(tensors)))
    result = compiled(module, tensors, PrecisionPolicy.FP32)(*tensors)
    torch.testing.assert_close(result, module(*tensors), atol=1e-5, rtol=1e-5, equal_nan=True)


@pytest.mark.parametrize("number", [1.5, 2])
@pytest.mark.parametrize("x", [INT32, BOOL, FLOAT.half()])
def test_numbers_of_traced_modules(x: torch.Tensor, number: float) -> None:
    """Tracing makes tensors of them; PyTorch marks those as numbers."""

    class Times(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * number

    module: torch.jit.ScriptModule = torch.jit.trace(Times().eval(), x)  # type: ignore[no-untyped-call]
    result = compiled(module, [x], PrecisionPolicy.FP32)(x)
    torch.testing.assert_close(result, module(x))


# A pole, and a number that FP16 does not have.
LOST = ("torch.tan(x)", "torch.masked_fill(x, y, -1e9)")


@pytest.mark.parametrize("row", [row for row in CONVERTED if row.expression not in LOST], ids=str)
def test_fp16_has_every_operator(row: Row) -> None:
    module = scripted(row)
    tensors = row.tensors()
    result = compiled(module, tensors, PrecisionPolicy.FP16)(*tensors)
    torch.testing.assert_close(result, module(*tensors), atol=2e-2, rtol=2e-2, equal_nan=True)


@pytest.mark.parametrize(
    ("policy", "exact"),
    [
        (PrecisionPolicy.FP32, True),
        (PrecisionPolicy.PREF_FP32, True),
        (PrecisionPolicy.PREF_FP16, False),
        (PrecisionPolicy.FP16, False),
    ],
)
def test_policy_is_what_sums_are_rounded_to(policy: PrecisionPolicy, exact: bool) -> None:  # noqa: FBT001 - a row's
    """2049 needs twelve bits: FP16 has eleven."""
    module = scripted(Row("", "x.sum(1) * 1.0"))
    given = torch.tensor([[2048.0, 1.0]])
    result = compiled(module, [given], policy)(given)
    assert result.dtype == torch.float32
    assert (result.item() == 2049) == exact


def test_rank_above_eight_is_refused() -> None:
    module = scripted(Row("", "x.reshape([1, 1, 1, 1, 1, 1, 2, 3, 1])"))
    with pytest.raises(ValueError, match="rank 9, allowed are at most 8"):
        compiled(module, [FLOAT], PrecisionPolicy.FP32)
