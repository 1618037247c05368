"""The reference of the lightning indexer's prolog: small cases by hand, and its parts."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from opwright.reference.errors import ReferenceArgumentError
from opwright.reference.lightning_indexer_prolog import lightning_indexer_prolog, quantized

pytestmark = pytest.mark.torch
TOKENS, HIDDEN, RANK, HEADS, WIDTH, ROPE = 3, 32, 16, 4, 128, 64


def inputs(seed: int = 0) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator).bfloat16()

    def bytes_(*shape: int) -> torch.Tensor:
        return torch.randint(-128, 128, shape, generator=generator, dtype=torch.int8)

    return {
        "token_x": normal(TOKENS, HIDDEN),
        "q_norm": bytes_(TOKENS, RANK),
        "q_norm_scale": torch.rand(TOKENS, 1, generator=generator),
        "wq_b": bytes_(RANK, HEADS * WIDTH),
        "wq_b_scale": torch.rand(HEADS * WIDTH, 1, generator=generator) * 1e-3,
        "wk": normal(HIDDEN, WIDTH),
        "weights_proj": normal(HIDDEN, HEADS),
        "ln_gamma_k": normal(WIDTH),
        "ln_beta_k": normal(WIDTH),
        # Neither turns nor scales: columns of a pair go into halves.
        "cos_idx_rope": torch.ones(TOKENS, ROPE).bfloat16(),
        "sin_idx_rope": torch.zeros(TOKENS, ROPE).bfloat16(),
        "hadamard_q": torch.eye(WIDTH).bfloat16(),
        "hadamard_k": torch.eye(WIDTH).bfloat16(),
        "idx_k_cache": torch.zeros(2, 16, 1, WIDTH, dtype=torch.int8),
        "idx_k_scale_cache": torch.zeros(2, 16, 1).half(),
        "idx_k_cache_index": torch.tensor([3, 31, 3]),
    }


def test_a_row_is_scaled_so_that_its_largest_value_is_127() -> None:
    values, scale = quantized(torch.tensor([[0.0, -2.0, 1.0, 0.5]]))
    assert values.tolist() == [[0, -127, 64, 32]]  # 63.5 and 31.75; halves go to the even
    assert scale.tolist() == [[torch.tensor(2 / 127).half().item()]]


def test_a_row_of_zeros_has_the_scale_zero() -> None:
    values, scale = quantized(torch.zeros(2, 4))
    assert values.count_nonzero() == 0
    assert scale.tolist() == [[0], [0]]


@given(st.lists(st.floats(-100, 100, width=16), min_size=1, max_size=20))
def test_quantised_values_are_within_half_a_step(row: list[float]) -> None:
    exact = torch.tensor([row]).bfloat16()
    values, scale = quantized(exact)
    step = exact.float().abs().max() / 127
    error = (values * step - exact.float()).abs()
    assert bool((error <= step * 0.501).all())
    assert torch.allclose(scale.float(), step, rtol=2**-11, atol=2**-24)


def test_queries_are_exact_sums_of_bytes() -> None:
    """2000 products of 127 * 127 are more than float32 can count."""
    given_ = inputs()
    given_["q_norm"] = torch.full((TOKENS, 2000), 127, dtype=torch.int8)
    given_["wq_b"] = torch.full((2000, HEADS * WIDTH), 127, dtype=torch.int8)
    given_["q_norm_scale"] = torch.ones(TOKENS, 1)
    given_["wq_b_scale"] = torch.ones(HEADS * WIDTH, 1) / 2**20
    query, scale, _ = lightning_indexer_prolog(**given_)
    assert query.shape == (TOKENS, HEADS, WIDTH)
    assert bool((query == 127).all())
    want = torch.tensor(2000 * 127 * 127 / 2**20).bfloat16().float() / 127
    assert bool((scale == want.half()).all())


def test_rope_is_on_the_first_columns_of_each_head() -> None:
    given_ = inputs()
    given_["q_norm"] = torch.zeros(TOKENS, RANK, dtype=torch.int8)
    given_["q_norm"][:, 0] = 1
    given_["wq_b"] = torch.zeros(RANK, HEADS * WIDTH, dtype=torch.int8)
    given_["wq_b"][0] = torch.arange(WIDTH, dtype=torch.int8).repeat(HEADS)
    given_["q_norm_scale"] = torch.ones(TOKENS, 1)
    given_["wq_b_scale"] = torch.ones(HEADS * WIDTH, 1)
    query, _, _ = lightning_indexer_prolog(**given_)
    assert query[1, 2].tolist() == [*range(0, 64, 2), *range(1, 64, 2), *range(64, 128)]


def test_keys_and_scales_are_written_and_the_last_one_stays() -> None:
    given_ = inputs()
    lightning_indexer_prolog(**given_)
    keys, scales = given_["idx_k_cache"].view(32, WIDTH), given_["idx_k_scale_cache"].view(32)
    assert scales.nonzero().flatten().tolist() == [3, 31]
    assert keys.any(1).nonzero().flatten().tolist() == [3, 31]
    for token, row in ((1, 31), (2, 3)):
        wide = given_["token_x"][token].float() @ given_["wk"].float()
        normal = torch.nn.functional.layer_norm(wide, [WIDTH], eps=1e-6)
        key = (normal * given_["ln_gamma_k"] + given_["ln_beta_k"]).bfloat16()
        ordered = torch.cat((key[:64:2], key[1:64:2], key[64:])).float()
        error = (keys[row] * scales[row].float() - ordered).abs().max()
        assert error <= scales[row].float() * 0.6


def test_the_hadamard_matrices_apply_last() -> None:
    plain, turned = inputs(), inputs()
    order = torch.randperm(WIDTH, generator=torch.Generator().manual_seed(1))
    turned["hadamard_q"] = torch.eye(WIDTH)[order].bfloat16()
    turned["hadamard_k"] = torch.eye(WIDTH)[order].bfloat16()
    before, after = lightning_indexer_prolog(**plain), lightning_indexer_prolog(**turned)
    inverse = order.argsort()
    assert torch.equal(after[0], before[0][..., inverse])
    assert torch.equal(after[1], before[1])
    assert torch.equal(turned["idx_k_cache"], plain["idx_k_cache"][..., inverse])


def test_weights_are_scaled_by_heads_and_width() -> None:
    given_ = inputs()
    _, _, weights = lightning_indexer_prolog(**given_)
    product = (given_["token_x"].float() @ given_["weights_proj"].float()).bfloat16().float()
    assert torch.equal(weights, (product * HEADS**-0.5 * WIDTH**-0.5).half())


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"layernorm_epsilon_k": 1e-5}, "layernorm_epsilon_k"),
        ({"layout_query": "BSND"}, "layout_query"),
        ({"layout_key": "TND"}, "layout_key"),
        ({"idx_k_cache_index": torch.tensor([0, 1, 32])}, "idx_k_cache_index"),
        ({"idx_k_cache_index": torch.tensor([0, -1, 2])}, "idx_k_cache_index"),
    ],
)
def test_lightning_indexer_prolog_refuses_wrong_calls(change: dict[str, Any], name: str) -> None:
    given_ = inputs() | change
    with pytest.raises(ReferenceArgumentError, match=f"'{name}'"):
        lightning_indexer_prolog(**given_)
    assert given_["idx_k_cache"].count_nonzero() == 0
