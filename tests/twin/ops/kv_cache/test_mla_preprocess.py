"""The steps before latent attention: native/opapi/ops/kv_cache/mla_preprocess.cpp."""

from __future__ import annotations

import pytest
import torch

from tests.twin.aclnn_calls import AclnnError, call
from tests.twin.ops.compare import near_integers
from tests.twin.ops.samples import normal

TOKENS, HIDDEN, LOW, HEADS, NOPE, KEY, ROPE = 6, 64, 32, 3, 16, 512, 64
PAGES, PAGE = 3, 4
SLOTS = [5, 0, -1, 11, 7, 2]
EPSILON = 1e-5
BF16 = torch.bfloat16


def int8(*shape: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-99, 99, shape, generator=generator).to(torch.int8)


def normed(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor | float = 0) -> torch.Tensor:
    return x / (x.square().mean(-1, keepdim=True) + EPSILON).sqrt() * gamma.float() + beta


def turned(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    a, b = x.chunk(2, -1)
    return x * cos.float()[:, None] + torch.cat([-b, a], -1) * sin.float()[:, None]


def kept(x: torch.Tensor) -> torch.Tensor:
    return x.to(BF16).float()


class Problem:
    """Operands in bfloat16 and what the formulas make of them."""

    def __init__(self) -> None:
        wide = KEY + ROPE + LOW
        self.x = normal(TOKENS, HIDDEN, dtype=BF16)
        self.norms = [
            (
                normal(width, dtype=BF16, seed=seed),
                normal(width, dtype=BF16, seed=seed + 1) / 4,
                torch.tensor([scale], dtype=BF16),
                torch.tensor([offset], dtype=torch.int8),
            )
            for width, seed, scale, offset in ((HIDDEN, 1, 0.03, 3), (LOW, 3, 0.05, -2))
        ]
        self.down, self.up = int8(wide, HIDDEN, seed=5), int8(HEADS * (NOPE + ROPE), LOW, seed=6)
        self.scales = [
            normal(rows, dtype=torch.float32, seed=7 + rows).abs() / 2000 + 1e-5
            for rows in (wide, HEADS * (NOPE + ROPE))
        ]
        self.biases = [int8(len(scale), seed=len(scale)).int() * 20 for scale in self.scales]
        self.gamma = normal(KEY, dtype=BF16, seed=9)
        self.cos, self.sin = (normal(TOKENS, ROPE, dtype=BF16, seed=seed) for seed in (10, 11))
        self.up_key = normal(HEADS, NOPE, KEY, dtype=BF16, seed=12) / 4

    def product(self, x: torch.Tensor, norm: int, weight: torch.Tensor) -> torch.Tensor:
        _, _, scale, offset = self.norms[norm]
        quantized = (x / scale.float() + offset).round().clamp(-128, 127).double()
        sums = quantized @ weight.double().t() + self.biases[norm]
        return kept((sums * self.scales[norm].double()).float())

    def expect(self, *, normalizes: bool) -> dict[str, torch.Tensor]:
        gamma, beta, _, _ = self.norms[0]
        x = self.x.float()
        low = self.product(normed(x, gamma, beta.float()) if normalizes else x, 0, self.down)
        gamma, beta, _, _ = self.norms[1]
        down = normed(low[:, KEY + ROPE :], gamma, beta.float())
        query = self.product(down, 1, self.up).view(TOKENS, HEADS, -1)
        return {
            "down": down,
            "query": torch.einsum("thd,hdk->thk", query[..., :NOPE], self.up_key.float()),
            "query rope": turned(query[..., NOPE:], self.cos, self.sin),
            "key": normed(low[:, :KEY], self.gamma)[:, None],
            "key rope": turned(low[:, None, KEY : KEY + ROPE], self.cos, self.sin),
        }

    def run(
        self, mode: int, *, normalizes: bool = True, quantization: int = 0
    ) -> list[torch.Tensor]:
        wide, cache = {0: (576, (PAGES, PAGE, 1, 576)), 1: (KEY, (PAGES, PAGE, 1, KEY))}.get(
            mode, (KEY, (PAGES, KEY // (32 if mode == 2 else 16), PAGE, 32 if mode == 2 else 16))
        )
        rope = (PAGES, PAGE, 1, ROPE) if mode == 1 else (PAGES, ROPE // 16, PAGE, 16)
        dtype = torch.int8 if mode == 2 else BF16
        results = [
            torch.full(shape, 9).to(kind).to("npu")
            for shape, kind in (
                ((TOKENS, HEADS, wide), dtype),
                (cache, dtype),
                ((TOKENS, HEADS, ROPE), BF16),
                (rope, BF16),
                ((TOKENS, LOW), BF16),
            )
        ]
        split = [None, None] if mode == 0 else results[2:4]
        scales: list[torch.Tensor | None] = [None, None]
        if mode == 2:
            scales = [torch.tensor([0.1], dtype=BF16), torch.full((HEADS,), 0.5, dtype=BF16)]
        first, second = self.norms
        slots = torch.tensor(SLOTS, dtype=torch.int32)
        operands = [
            *(self.x, *first, self.down, self.scales[0], self.biases[0]),
            *(*second, self.up, self.scales[1], self.biases[1]),
            *(self.gamma, self.cos, self.sin, self.up_key, results[1], split[1], slots, *scales),
        ]
        call(
            "aclnnMlaPreprocessV2",
            *(None if each is None else each.to("npu") for each in operands),
            *(LOW, ROPE, ROPE, EPSILON, 2, 2, *[True] * 3, mode, quantization, normalizes, 1, True),
            *(results[0], results[1], *split, results[4]),
        )
        return [each.cpu() for each in results]


def stored(values: torch.Tensor, like: torch.Tensor, mode: int) -> torch.Tensor:
    """The cache after the tokens were written to it, one slot after the other."""
    whole = torch.full((PAGES * PAGE, values.shape[-1]), 9.0)
    for row, slot in zip(values[:, 0], SLOTS, strict=True):
        if slot >= 0:
            whole[slot] = row
    if mode < 2:
        return whole.view(like.shape)
    pages = whole.view(PAGES, PAGE, like.shape[1], like.shape[3])
    return pages.transpose(1, 2)


@pytest.mark.parametrize("normalizes", [True, False])
@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_query_and_caches(mode: int, *, normalizes: bool) -> None:
    problem = Problem()
    expected = problem.expect(normalizes=normalizes)
    query, cache, query_rope, rope_cache, down = problem.run(mode, normalizes=normalizes)
    torch.testing.assert_close(down.float(), expected["down"], rtol=2e-2, atol=2e-2)
    wanted, key = expected["query"], expected["key"]
    if mode == 0:
        wanted = torch.cat([wanted, expected["query rope"]], -1)
        key = torch.cat([key, expected["key rope"]], -1)
    if mode == 2:
        near_integers(query, (kept(wanted) * 0.5).round().clamp(-128, 127))
        divided = (key / torch.tensor(0.1, dtype=BF16).float()).round().clamp(-128, 127)
        near_integers(cache, stored(divided, cache, mode))
    else:
        torch.testing.assert_close(query.float(), wanted, rtol=2e-2, atol=0.1)
        torch.testing.assert_close(cache.float(), stored(key, cache, mode), rtol=2e-2, atol=5e-2)
    if mode > 0:
        torch.testing.assert_close(query_rope.float(), expected["query rope"], rtol=2e-2, atol=0.1)
        rope = stored(expected["key rope"], rope_cache, mode)
        torch.testing.assert_close(rope_cache.float(), rope, rtol=2e-2, atol=5e-2)


def test_modes_that_are_not_there_are_refused() -> None:
    with pytest.raises(AclnnError, match="parameter 'cacheMode' is 4; allowed: 0 to 3"):
        Problem().run(4)
    with pytest.raises(AclnnError, match="parameter 'quantMode' is 1; allowed: 0"):
        Problem().run(1, quantization=1)
