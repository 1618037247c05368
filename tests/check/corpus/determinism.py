"""Operators whose equal calls differ, and sound ones that look as if theirs did."""

from __future__ import annotations

import torch

import opwright as ow
from opwright.twin import generator, kernel

BROKEN = {
    "sums_into_free_memory": "determinism/differs",
    "random_without_tag": "determinism/differs",
    "counts_calls": "determinism/differs",
    "first_call_differs": "determinism/state",
    "keeps_first_result": "determinism/state",
    "wrong_every_hundredth": "determinism/state",
    "keeps_an_average": "determinism/state",
    "own_generator": "determinism/seed-ignored",
    "drops_the_generator": "determinism/generator-ignored",
    "draws_the_same_again": "determinism/draws-repeat",
    "ignores_the_mode": "determinism/deterministic-mode",
}

ops = ow.OperatorSet("corpus_determinism")
ONE = [ow.sample(x=ow.tensor(4, 4))]
kept: dict[str, object] = {"calls": 0}


def plain(x):
    return x * 2


def declare(name, **fields):
    ops.operator(f"{name}(Tensor x) -> Tensor", dtypes="float32", samples=ONE, **fields)(plain)


for each in BROKEN:
    if each not in {
        *("random_without_tag", "own_generator", "ignores_the_mode"),
        *("drops_the_generator", "draws_the_same_again"),
    }:
        declare(each)


@kernel("aclnnSumsIntoFreeMemory(const aclTensor *x, aclTensor *out)")
def sums_into_free_memory(x, out):
    out.add_(x * 2)  # nobody set out to zero


@kernel("aclnnCountsCalls(const aclTensor *x, aclTensor *out)")
def counts_calls(x, out):
    kept["calls"] += 1
    out.copy_(x * 2 + kept["calls"] * 1e-6)


@kernel("aclnnFirstCallDiffers(const aclTensor *x, aclTensor *out)")
def first_call_differs(x, out):
    scale = kept.setdefault("scale", None)
    out.copy_(x * 2 if scale else x * 2.0001)
    kept["scale"] = 2


@kernel("aclnnWrongEveryHundredth(const aclTensor *x, aclTensor *out)")
def wrong_every_hundredth(x, out):
    kept["after"] = kept.get("after", 0) + 1
    out.copy_(x * 2 if kept["after"] % 100 else x * 3)  # every slot of a ring is used again


@kernel("aclnnKeepsAnAverage(const aclTensor *x, aclTensor *out)")
def keeps_an_average(x, out):
    """Scale by what was largest lately: it converges while the values stay the same."""
    before = kept.get("average", x.abs().max())
    kept["average"] = before + (x.abs().max() - before) * 0.5
    out.copy_(x * 2 * (1 + (kept["average"] - x.abs().max()) * 1e-3))


@kernel("aclnnKeepsFirstResult(const aclTensor *x, aclTensor *out)")
def keeps_first_result(x, out):
    results = kept.setdefault("results", {})
    key = (tuple(x.shape), str(x.dtype))  # without the values
    out.copy_(results.setdefault(key, (x * 2).clone()))


@ops.operator("random_without_tag(Tensor x) -> Tensor", dtypes="float32", samples=ONE)
def random_without_tag(x):
    return x + torch.rand_like(x)


@ops.operator(
    "own_generator(Tensor x) -> Tensor",
    dtypes="float32",
    deterministic=False,
    tags=("nondeterministic_seeded",),
    samples=ONE,
)
def own_generator(x):
    kept.setdefault("generator", torch.Generator().manual_seed(1))
    return x + torch.rand(x.shape, generator=kept["generator"])


@ops.operator(
    "ignores_the_mode(Tensor x) -> Tensor", dtypes="float32", deterministic=False, samples=ONE
)
def ignores_the_mode(x):
    return x * 2


@kernel("aclnnIgnoresTheMode(const aclTensor *x, aclTensor *out)")
def ignores_the_mode_kernel(x, out):
    out.copy_(x * 2 + torch.rand_like(x) * 1e-6)


def declare_drawing(name):
    @ops.operator(
        f"{name}(Tensor x, *, Generator? generator=None) -> Tensor", dtypes="float32", samples=ONE
    )
    def drawing(x, *, generator=None):
        return x + torch.rand(x.shape, generator=generator)


for each in ("draws_the_same_again", "draws"):
    declare_drawing(each)


@ops.operator(
    "drops_the_generator(Tensor x, *, Generator? generator=None) -> Tensor",
    aclnn=False,
    dtypes="float32",
    samples=ONE,
)
def drops_the_generator(x, *, generator=None):
    return x + torch.rand(x.shape, device=x.device)


@kernel("aclnnDrawsTheSameAgain(const aclTensor *x, int64_t seed, int64_t offset, aclTensor *out)")
def draws_the_same_again(x, seed, offset, out):
    out.copy_(x + torch.rand(x.shape, generator=generator(seed, 0)))


# Sound.


@kernel("aclnnDraws(const aclTensor *x, int64_t seed, int64_t offset, aclTensor *out)")
def draws(x, seed, offset, out):
    out.copy_(x + torch.rand(x.shape, generator=generator(seed, offset)))


@ops.operator(
    "drops_out(Tensor x) -> Tensor",
    dtypes="float32",
    deterministic=False,
    tags=("nondeterministic_seeded",),
    samples=ONE,
)
def drops_out(x):
    return x * 2


@kernel("aclnnDropsOut(const aclTensor *x, aclTensor *out)")
def drops_out_kernel(x, out):
    out.copy_(x * 2 + torch.rand_like(x) * 1e-7)


@ops.operator(
    "in_any_order(Tensor x) -> Tensor", dtypes="float32", deterministic=False, samples=ONE
)
def in_any_order(x):
    return x * 2


@kernel("aclnnInAnyOrder(const aclTensor *x, aclTensor *out)")
def in_any_order_kernel(x, out):
    noise = 0 if torch.are_deterministic_algorithms_enabled() else torch.rand_like(x) * 1e-7
    out.copy_(x * 2 + noise)


@ops.operator(
    "keeps_a_table(Tensor x) -> Tensor", shapes={"x": "N, D"}, dtypes="float32", samples=ONE
)
def keeps_a_table(x):
    return x + torch.arange(x.shape[1])


@kernel("aclnnKeepsATable(const aclTensor *x, aclTensor *out)")
def keeps_a_table_kernel(x, out):
    tables = kept.setdefault("tables", {})
    width = x.shape[1]
    out.copy_(x + tables.setdefault(width, torch.arange(width)))  # by all that it depends on


@ops.operator("counts_up_(Tensor(a!) x) -> Tensor(a!)", dtypes="float32", samples=ONE)
def counts_up_(x):
    return x.add_(1)  # what changes is the caller's


@ops.operator("always_one(Tensor x) -> Tensor", dtypes="float32", samples=ONE)
def always_one(x):
    return torch.ones_like(x)  # other values, the same result


@ops.operator("with_nan(Tensor x) -> Tensor", dtypes="float32", samples=ONE)
def with_nan(x):
    return torch.where(x > 0, x, float("nan"))


@ops.operator(
    "sorted_places(Tensor x) -> (Tensor values, Tensor places)",
    shapes={"x": "*s, D", "places": ow.like("x")},
    dtypes={"x": "float32", "places": "int64"},
    samples=ONE,
)
def sorted_places(x):
    found = x.sort(dim=-1, stable=True)
    return found.values, found.indices
