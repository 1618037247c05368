"""Operators whose kernels compute something else than their references."""

from __future__ import annotations

import torch

import opwright as ow
from opwright.twin import kernel

BROKEN = {
    "off_by_little": "numerics/wrong-values",
    "wrong_in_bfloat16": "numerics/wrong-values",
    "refuses_half": "numerics/raises",
    "drops_nan": "numerics/wrong-special-values",
    "computes_in_half": "numerics/wrong-special-values",
    "other_on_cpu": "numerics/wrong-values",
    "refuses_many": "numerics/raises",
    "needs_the_optional": "numerics/raises",
    "satisfied_by_none": "numerics/no-sample",
    "saturates": "numerics/wrong-special-values",
    "drops_the_sign_of_zero": "numerics/wrong-special-values",
    "overflows_at_once": "numerics/wrong-special-values",
    "adds_in_float32": "numerics/wrong-special-values",
    "adds_in_int32": "numerics/wrong-special-values",
    "multiplies_in_int32": "numerics/wrong-special-values",
    "passes_int32": "numerics/wrong-special-values",
    "wrong_beyond_a_block": "numerics/wrong-values",
    "wrong_beyond_a_block_of_rows": "numerics/wrong-values",
    "wrong_for_rows_of_64": "numerics/wrong-values",
    "wrong_for_rows_of_63": "numerics/wrong-values",
    "wrong_from_the_end": "numerics/wrong-values",
    "wrong_for_the_third_axis": "numerics/wrong-values",
    "refuses_axes_from_the_end": "numerics/raises",
    "wrong_at_the_least_size": "numerics/wrong-values",
    "wrong_at_the_least_count": "numerics/wrong-values",
    "wrong_at_the_end_of_a_range": "numerics/wrong-values",
    "exchanges_equal_defaults": "numerics/wrong-values",
    "wrong_for_the_other_default": "numerics/wrong-values",
    "adds_rows_alone": "numerics/wrong-values",
    "writes_padding": "numerics/wrong-special-values",
    "draws_in_float64": "numerics/wrong-values",
}

ops = ow.OperatorSet("corpus_numerics")
SAMPLES = [ow.sample(x=ow.tensor(2, 3))]


@ops.operator("twice(Tensor x) -> Tensor", dtypes="float32 float16 bfloat16", samples=SAMPLES)
def twice(x):
    return x * 2


@ops.operator("off_by_little(Tensor x) -> Tensor", samples=SAMPLES)
def off_by_little(x):
    return x.exp()


@kernel("aclnnOffByLittle(const aclTensor *x, aclTensor *out)")
def off_by_little_kernel(x, out):
    out.copy_(x.exp() * 1.001)


@ops.operator("wrong_in_bfloat16(Tensor x) -> Tensor", dtypes="float32 bfloat16", samples=SAMPLES)
def wrong_in_bfloat16(x):
    return x + 1


@kernel("aclnnWrongInBfloat16(const aclTensor *x, aclTensor *out)")
def wrong_in_bfloat16_kernel(x, out):
    out.copy_(x + (2 if x.dtype is torch.bfloat16 else 1))


@ops.operator("refuses_half(Tensor x) -> Tensor", dtypes="float32 float16", samples=SAMPLES)
def refuses_half(x):
    return x - 1


@kernel("aclnnRefusesHalf(const aclTensor *x, aclTensor *out)")
def refuses_half_kernel(x, out):
    if x.dtype is torch.float16:
        raise TypeError("half is not implemented")
    out.copy_(x - 1)


@ops.operator("drops_nan(Tensor x) -> Tensor", samples=SAMPLES)
def drops_nan(x):
    return x.clamp(min=0)


@kernel("aclnnDropsNan(const aclTensor *x, aclTensor *out)")
def drops_nan_kernel(x, out):
    """Take the larger number, as fmax does."""
    out.copy_(torch.fmax(x, torch.zeros_like(x)))


@ops.operator(
    "computes_in_half(Tensor x) -> Tensor",
    samples=SAMPLES,
    tolerances={"float32": (0.01, 0.01)},
)
def computes_in_half(x):
    return x.square().square() * 8


@kernel("aclnnComputesInHalf(const aclTensor *x, aclTensor *out)")
def computes_in_half_kernel(x, out):
    """Overflow where the reference does not."""
    out.copy_(x.half().square().square() * 8)


@ops.operator("refuses_many(Tensor x) -> Tensor", shapes={"x": "N"}, dtypes="float32")
def refuses_many(x):
    if x.shape[0] > 1:
        message = "one element only"
        raise ValueError(message)
    return x + 1


@ops.operator(
    "needs_the_optional(Tensor x, Tensor? b=None) -> Tensor",
    shapes={"x": "N", "b": "N"},
    dtypes={"x": "float32", "b": "x"},
)
def needs_the_optional(x, b=None):
    return x + b


@ops.operator(
    "satisfied_by_none(Tensor x) -> Tensor",
    shapes={"x": "N"},
    dtypes="float32",
    requires=["N > 4", "N < 4"],
)
def satisfied_by_none(x):
    return x + 1


# Values, sizes and attributes that few samples have.


def wrong(schema, kernel_, *samples, **fields):
    """Declare an operator whose kernel is another function than its reference."""

    def declare(reference):
        made = ops.operator(schema, samples=samples or SAMPLES, **fields)(reference)
        name = schema.partition("(")[0]
        pascal = "".join(word.capitalize() for word in name.split("_"))
        words = [each.strip() for each in schema.partition("(")[2].partition(")")[0].split(",")]
        given = ", ".join(SIGNATURE[kind] + name for kind, name in map(named, words))
        kernel(f"aclnn{pascal}({given}, aclTensor *out)")(
            lambda *values: values[-1].copy_(kernel_(*values[:-1]))
        )
        return made

    return declare


SIGNATURE = {"Tensor": "const aclTensor *", "int": "int64_t ", "float": "double "}


def named(word):
    """Return type and name of an argument."""
    kind, name = word.split("=")[0].split(" ")
    return kind, name


@wrong("saturates(Tensor x) -> Tensor", lambda x: (x * 2).clamp(-1e4, 1e4), dtypes="float32")
def saturates(x):
    return x * 2


@wrong("drops_the_sign_of_zero(Tensor x) -> Tensor", lambda x: 1 / (x + 0.0), dtypes="float32")
def drops_the_sign_of_zero(x):
    return 1 / x


@wrong(
    "overflows_at_once(Tensor x) -> Tensor", lambda x: (x * 16) / 16 + 1, dtypes="float32 bfloat16"
)
def overflows_at_once(x):
    return x + 1


WHOLE = ow.sample(x=ow.tensor(5))


@wrong(
    "adds_in_float32(Tensor x) -> Tensor",
    lambda x: (x.float() + 1).to(x.dtype),
    WHOLE,
    dtypes="int64 int32",
)
def adds_in_float32(x):
    return x + 1


@wrong("adds_in_int32(Tensor x) -> Tensor", lambda x: (x.int() + 1).long(), WHOLE, dtypes="int64")
def adds_in_int32(x):
    return x + 1


def wrapped(number):
    """Return a number as 32 bits have it."""
    return (number + 2**31) % 2**32 - 2**31


@wrong(
    "multiplies_in_int32(Tensor x, int rows=2, int columns=3) -> Tensor",
    lambda x, rows, columns: x + wrapped(rows * columns),
    WHOLE,
    dtypes="int64",
)
def multiplies_in_int32(x, rows=2, columns=3):
    return x + rows * columns


@wrong(
    "passes_int32(Tensor x, int offset=0) -> Tensor",
    lambda x, offset: x + wrapped(offset),
    WHOLE,
    dtypes="int64",
)
def passes_int32(x, offset=0):
    return x + offset


def but_last(x, condition):
    """Double all elements but the last one, where a condition holds."""
    out = x * 2
    if condition:
        out.view(-1)[-1] = 0
    return out


@wrong(
    "wrong_beyond_a_block(Tensor x) -> Tensor",
    lambda x: but_last(x, x.numel() > 4096),
    ow.sample(x=ow.tensor(8)),
    shapes={"x": "N"},
    dtypes="float32",
)
def wrong_beyond_a_block(x):
    return x * 2


@wrong(
    "wrong_beyond_a_block_of_rows(Tensor x) -> Tensor",
    lambda x: but_last(x, x.numel() > 4096),
    shapes={"x": "*batch, D"},
    dtypes="float32",
)
def wrong_beyond_a_block_of_rows(x):
    return x * 2


@wrong(
    "wrong_for_rows_of_64(Tensor x) -> Tensor",
    lambda x: but_last(x, x.shape[-1] == 64),
    shapes={"x": "*sizes"},
    dtypes="float32",
)
def wrong_for_rows_of_64(x):
    return x * 2


@wrong("wrong_for_rows_of_63(Tensor x) -> Tensor", lambda x: but_last(x, x.shape[-1] == 63))
def wrong_for_rows_of_63(x):
    return x * 2


CUBE = ow.sample(x=ow.tensor(2, 3, 4))


@wrong(
    "wrong_from_the_end(Tensor x, int dim=-1) -> Tensor",
    lambda x, dim: x.flip(max(dim, -1)),
    CUBE,
    dtypes="float32",
)
def wrong_from_the_end(x, dim=-1):
    return x.flip(dim)


@wrong(
    "wrong_for_the_third_axis(Tensor x, int axis=0) -> Tensor",
    lambda x, axis: x.flip(axis if axis < 2 else 0),
    CUBE,
    dtypes="float32",
)
def wrong_for_the_third_axis(x, axis=0):
    return x.flip(axis)


def from_the_start(x, dim):
    if dim < -1:
        message = "dim is negative"
        raise ValueError(message)
    return x.flip(dim)


@wrong(
    "refuses_axes_from_the_end(Tensor x, int dim=-1) -> Tensor",
    from_the_start,
    CUBE,
    dtypes="float32",
)
def refuses_axes_from_the_end(x, dim=-1):
    return x.flip(dim)


@wrong(
    "wrong_at_the_least_size(Tensor x) -> Tensor",
    lambda x: but_last(x, x.shape[0] == 20),
    ow.sample(x=ow.tensor(32)),
    shapes={"x": "N"},
    dtypes="float32",
    requires=["N >= 20"],
)
def wrong_at_the_least_size(x):
    return x * 2


@wrong(
    "wrong_at_the_least_count(Tensor x, int count=8) -> Tensor",
    lambda x, count: x * max(count, 5),
    dtypes="float32",
    requires=["count >= 4"],
)
def wrong_at_the_least_count(x, count=8):
    return x * count


@wrong(
    "wrong_at_the_end_of_a_range(Tensor x, float p=0.5) -> Tensor",
    lambda x, p: x * min(p, 2.5),
    dtypes="float32",
    requires=["p >= 0", "p <= 3"],
)
def wrong_at_the_end_of_a_range(x, p=0.5):
    return x * p


@wrong(
    "exchanges_equal_defaults(Tensor x, float alpha=1.0, float beta=1.0) -> Tensor",
    lambda x, alpha, beta: x * beta + alpha,
    dtypes="float32",
)
def exchanges_equal_defaults(x, alpha=1.0, beta=1.0):
    return x * alpha + beta


@wrong(
    "wrong_for_the_other_default(Tensor x, int k=1, int m=1) -> Tensor",
    lambda x, k, m: x * m + k * k,
    dtypes="float32",
)
def wrong_for_the_other_default(x, k=1, m=1):
    return x * m + k


library = ow.OperatorSet("corpus_numerics_lib", existing=True)
LIBRARY = torch.library.Library("corpus_numerics_lib", "DEF")
LIBRARY.define("other_on_cpu(Tensor x) -> Tensor")
LIBRARY.impl("other_on_cpu", lambda x: x * 3, "PrivateUse1")
LIBRARY.impl("other_on_cpu", lambda x: x * 3 + 0.25, "CPU")
LIBRARY.impl("other_on_cpu", torch.empty_like, "Meta")


@library.operator("other_on_cpu(Tensor x) -> Tensor", samples=SAMPLES)
def other_on_cpu(x):
    return x * 3


SEEDED = (torch.Tag.nondeterministic_seeded,)
LIBRARY.define("draws_in_float64(Tensor x) -> Tensor", tags=SEEDED)
for key in ("PrivateUse1", "CPU", "Meta"):
    LIBRARY.impl("draws_in_float64", lambda x: x.double() * (torch.rand_like(x) < 0.8), key)


@library.operator(
    "draws_in_float64(Tensor x) -> Tensor",
    samples=SAMPLES,
    dtypes="float32",
    tags=("nondeterministic_seeded",),
)
def draws_in_float64(x):
    return x * (torch.rand_like(x) < 0.8)


def by_flat_place(x, y):
    size = torch.broadcast_shapes(x.shape, y.shape)
    place = torch.arange(size.numel()).view(size)
    return torch.relu(x + y.reshape(-1)[place % max(y.numel(), 1)])


@wrong(
    "adds_rows_alone(Tensor x, Tensor y) -> Tensor",
    by_flat_place,
    ow.sample(x=ow.tensor(3, 4), y=ow.tensor(4)),
    shapes={"out": ow.broadcast("x", "y")},
    dtypes="float32",
)
def adds_rows_alone(x, y):
    return torch.relu(x + y)


PLACED = {
    "shapes": {"x": "N", "places": "N"},
    "dtypes": {"x": "float32", "places": "int32"},
}
PLACES = ow.sample(x=ow.tensor(3), places=ow.tensor(values=[1, 0, 2], dtype="int32"))


@wrong("writes_padding(Tensor x, Tensor places) -> Tensor", torch.mul, PLACES, **PLACED)
def writes_padding(x, places):
    return x * places.clamp(min=0)


# Sound.


@wrong(
    "takes_from_the_start(Tensor x, Tensor places) -> Tensor",
    lambda x, places: x[places.long() % len(x)] * (places >= 0),
    PLACES,
    **PLACED,
)
def takes_from_the_start(x, places):
    """Count from the end as Python does, which nobody promises of a kernel."""
    return x[places.long()]


@wrong(
    "skips_padding(Tensor x, Tensor places) -> Tensor",
    lambda x, places: x * places * (places > 0),
    PLACES,
    **PLACED,
)
def skips_padding(x, places):
    return x * places.clamp(min=0)


@ops.operator("turned(Tensor x, int position=1) -> Tensor", dtypes="float32", samples=SAMPLES)
def turned(x, position=1):
    """Have no exact result for large positions: x * position is rounded to whole turns."""
    return (x * position).cos()


@kernel("aclnnTurned(const aclTensor *x, int64_t position, aclTensor *out)")
def turned_kernel(x, position, out):
    half = position // 2
    out.copy_((x * half + x * (position - half)).cos())


@ops.operator(
    "sums_in_float32(Tensor x) -> Tensor",
    dtypes="float16 bfloat16",
    shapes={"x": "*batch, D", "out": "*batch"},
    samples=[ow.sample(x=ow.tensor(4, 64))],
)
def sums_in_float32(x):
    total = torch.zeros_like(x[..., 0])
    for index in range(x.shape[-1]):
        total = total + x[..., index]  # each sum is rounded
    return total


@kernel("aclnnSumsInFloat32(const aclTensor *x, aclTensor *out)")
def sums_in_float32_kernel(x, out):
    """Be more exact than the reference is."""
    out.copy_(x.float().sum(-1))


@ops.operator(
    "square_root(Tensor x) -> Tensor", samples=[ow.sample(x=ow.tensor(2, 3, low=0.5, high=4))]
)
def square_root(x):
    """Take positive numbers only: the samples say so."""
    return x.sqrt()


@kernel("aclnnSquareRoot(const aclTensor *x, aclTensor *out)")
def square_root_kernel(x, out):
    if not (x > 0).all():
        raise ValueError
    out.copy_(x.sqrt())


@ops.operator(
    "rough(Tensor x) -> Tensor",
    dtypes="float32",
    samples=SAMPLES,
    tolerances={"float32": (0.05, 0.05)},
)
def rough(x):
    return x.exp()


@kernel("aclnnRough(const aclTensor *x, aclTensor *out)")
def rough_kernel(x, out):
    out.copy_(x.exp() * 1.01)


@ops.operator(
    "keeps_nan(Tensor x, Tensor y) -> Tensor", samples=[ow.sample(x=ow.tensor(2), y=ow.tensor(2))]
)
def keeps_nan(x, y):
    return torch.where(y > 0, x / y.abs().clamp(min=1), y)


@ops.operator(
    "histogram(Tensor x) -> Tensor",
    shapes={"x": "N", "out": "10"},
    dtypes={"x": "int64", "out": "int64"},
    samples=[ow.sample(x=ow.tensor(5, low=0, high=9))],
)
def histogram(x):
    return torch.bincount(x, minlength=10)


@ops.operator(
    "made_of_sizes(Tensor x, int rows=2, int columns=2) -> Tensor",
    shapes={"x": "*s", "out": "rows, columns"},
    dtypes={"x": "float32", "out": "x"},
    samples=SAMPLES,
    requires=["rows >= 0", "columns >= 0"],
)
def made_of_sizes(x, rows=2, columns=2):
    """Allocate what large ints say: none are tried."""
    return x.sum() * torch.ones(rows, columns)


@ops.operator("as_often(Tensor x, int times=2) -> Tensor", dtypes="float32", samples=SAMPLES)
def as_often(x, times=2):
    """Loop as often as an int says."""
    out = x.clone()
    for _ in range(times):
        out = out * 1
    return out


@ops.operator(
    "looked_up_anywhere(Tensor x, Tensor index) -> Tensor",
    shapes={"x": "N", "index": "M", "out": "M"},
    dtypes={"x": "float32", "index": "int64", "out": "x"},
    samples=[ow.sample(x=ow.tensor(10), index=ow.tensor(3))],
)
def looked_up_anywhere(x, index):
    """Refuse an index that is too large."""
    return x[index]


@ops.operator(
    "shifted(Tensor x, int by=1, int dim=-1) -> Tensor", dtypes="float32 float16", samples=[CUBE]
)
def shifted(x, by=1, dim=-1):
    return x.roll(by, dim)


@ops.operator("noisy(Tensor x) -> Tensor", samples=SAMPLES, deterministic=False)
def noisy(x):
    """Draw numbers: no two calls are equal, unless they have to be."""
    exact = torch.are_deterministic_algorithms_enabled()
    return x + (0 if exact else torch.rand(x.shape, dtype=torch.float32).to(x.dtype))


@ops.operator(
    "one_element(Tensor x) -> Tensor", shapes={"x": "N"}, dtypes="float32", requires=["N == 1"]
)
def one_element(x):
    """Refuse what the rules refuse before."""
    if x.shape[0] != 1:
        raise ValueError
    return x * 2


@ops.operator(
    "looked_up(Tensor x, Tensor index) -> Tensor",
    shapes={"x": "N", "index": "M", "out": "M"},
    dtypes={"x": "float32", "index": "int64", "out": "x"},
)
def looked_up(x, index):
    """Refuse an index that is too large: no rule can say that."""
    return x[index]


@ops.operator(
    "pages_of(Tensor x, int[] pages) -> Tensor",
    shapes={"x": "P, D", "out": "len(pages), D"},
    dtypes="float32",
    requires=("P > 0",),
    samples=[ow.sample(x=ow.tensor(4, 3), pages=[3, 0, 3])],
)
def pages_of(x, pages):
    """Refuse a page that is not there: no rule can say that of each element."""
    if any(page not in range(x.shape[0]) for page in pages):
        raise ValueError("no such page")
    return x[pages]


@ops.operator("largest(Tensor x) -> Tensor", shapes={"x": "N", "out": ""}, dtypes="float32")
def largest(x):
    """Have no result for no elements."""
    return x.max()


@ops.operator("factor(Tensor x) -> Tensor", shapes={"x": "N, N"}, dtypes="float32")
def factor(x):
    """Refuse what is not positive definite: no rule can say that."""
    return torch.linalg.cholesky(x)
