"""Operators that npugraph_ex updates or makes in-place again in the graphs that it captures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu

from tests.twin.ops import samples

if TYPE_CHECKING:
    from collections.abc import Iterator

HEADS, WIDTH = 4, 16
pytestmark = pytest.mark.filterwarnings("ignore")  # of dynamo and of torch_npu's backend


@pytest.fixture(autouse=True)
def fresh_compiler() -> Iterator[None]:
    torch._dynamo.reset()  # noqa: SLF001 - as PyTorch's own tests do
    # Where CI is set, newer releases of torch refuse operators whose results are undeclared
    # aliases; torch_npu's .out forms, which npugraph_ex calls, are such operators (docs/graphs.md).
    config = torch._functorch.config  # noqa: SLF001
    refuses = hasattr(config, "error_on_custom_op_aliasing")
    with config.patch({"error_on_custom_op_aliasing": False} if refuses else {}):
        yield
    torch._dynamo.reset()  # noqa: SLF001


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return samples.normal(*shape, seed=seed).to("npu")


def test_lengths_are_updated() -> None:
    """Lengths are symbols of the graph; each call brings its own."""
    query = normal(2, HEADS, 1, WIDTH)
    key, value = (normal(2, HEADS, 8, WIDTH, seed=seed) for seed in (1, 2))

    def step(lengths: list[int]) -> torch.Tensor:
        result, _ = torch_npu.npu_fused_infer_attention_score(
            query,
            key,
            value,
            num_heads=HEADS,
            input_layout="BNSD",
            actual_seq_lengths_kv=lengths,
        )
        return result + 1  # type: ignore[no-any-return]

    compiled = torch.compile(step, backend="npugraph_ex", dynamic=True, fullgraph=True)
    for lengths in ([3, 8], [5, 1], [2, 2]):
        assert torch.equal(compiled(lengths), step(lengths))


def test_caches_are_written_in_place() -> None:
    """Caches and results are those of eager calls, step by step."""
    gamma, cos, sin = normal(512), normal(1, 1, 2, 64, seed=1), normal(1, 1, 2, 64, seed=2)

    def step(
        kv: torch.Tensor, index: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        key, value = torch_npu.npu_kv_rmsnorm_rope_cache_v2(
            kv, gamma, cos, sin, index, keys, values, cache_mode="PA_BNSD", is_output_kv=True
        )
        return key + 1, value + keys.sum()

    def caches() -> list[torch.Tensor]:
        return [torch.zeros(1, 16, 1, width).half().to("npu") for width in (64, 512)]

    eager, graphed = caches(), caches()
    compiled = torch.compile(step, backend="npugraph_ex", dynamic=False, fullgraph=True)
    with torch.no_grad():
        for i in range(4):
            inputs = normal(1, 1, 2, 576, seed=i), torch.tensor([i, i + 5]).to("npu")
            actual, expected = compiled(*inputs, *graphed), step(*inputs, *eager)
            assert all(map(torch.equal, (*actual, *graphed), (*expected, *eager)))
