"""Numbers made of sizes that are not fixed: they may be others between the ends of a range."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import torch_aie

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")


class Between(nn.Module):
    """False at both ends of 1 to 4."""

    def forward(self, x: Tensor) -> Tensor:
        n = x.size(0)
        if (n > 2) & (n < 4):
            return torch.relu(x) * 2
        return torch.relu(x) + 1


class Parity(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(x)
        result: Tensor = y * 2 if (x.size(0) - 1) % 3 == 0 else y + 1
        return result


class Negated(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(x)
        result: Tensor = y * 2 if not (x.size(0) > 2) else y + 1
        return result


class Contained(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(x)
        result: Tensor = y * 2 if x.size(0) in [2, 3] else y + 1
        return result


class Text(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        text = "{}".format(x.size(0) + 7)  # noqa: UP032
        return torch.relu(x) + len(text)


class Bits(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        n = x.size(0)
        return torch.relu(x) + (n & 3) + (n ^ 5) + (n | 8) + (n << 1)


class Chosen(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x) + [5, 6, 7, 8, 9][x.size(0)]


class Squeezed(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x).squeeze(0) + 1


class Last(nn.Module):
    """One row of 1 and of 3, two rows of 2 and of 4."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.split(torch.relu(torch.cat([x, x[:1]])), 3)[-1] + 1


@pytest.mark.parametrize("allow", [False, True])
@pytest.mark.parametrize(
    "model", [Between, Parity, Negated, Contained, Text, Bits, Chosen, Squeezed, Last]
)
def test_all_sizes_of_a_range(model: type[nn.Module], *, allow: bool) -> None:
    script = torch.jit.script(model().eval())
    module = torch_aie.compile(
        script,
        inputs=[torch_aie.Input(min_shape=(1, 3), max_shape=(4, 3))],
        precision_policy=torch_aie.PrecisionPolicy.FP32,
        allow_tensor_replace_int=allow,
    )
    assert "torch_aie::execute_engine" in str(module.graph)
    for rows in (1, 2, 3, 4):
        x = torch.randn(rows, 3)
        torch.testing.assert_close(module(x), script(x))


def test_late_numbers_are_named_if_all_has_to_be_compiled() -> None:
    with pytest.raises(ValueError, match=r"(?s)as a whole.*aten::__and__.*arguments"):
        torch_aie.compile(
            torch.jit.script(Bits().eval()),
            inputs=[torch_aie.Input(min_shape=(1, 3), max_shape=(4, 3))],
            allow_tensor_replace_int=True,
            require_full_compilation=True,
        )


class Halves(nn.Module):
    """Takes even sizes only: the ends of the range are enough."""

    def forward(self, x: Tensor) -> Tensor:
        n = x.size(0)
        return torch.relu(x).view(2, n // 2, 3).sum(0)


def test_sizes_between_that_the_model_refuses() -> None:
    script = torch.jit.script(Halves().eval())
    module = torch_aie.compile(script, inputs=[torch_aie.Input(min_shape=(2, 3), max_shape=(8, 3))])
    for rows in (2, 4, 8):
        x = torch.ones(rows, 3)
        torch.testing.assert_close(module(x), script(x))
