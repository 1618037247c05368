"""Operators of another library whose Meta says something else than the kernel returns."""

from __future__ import annotations

import torch
from registering import IN_PLACE, described_library

import opwright as ow

BROKEN = {
    "hard_coded_shape": "meta/wrong-shape",
    "counts_in_32_bits": "meta/wrong-shape",
    "loses_large_sizes": "meta/wrong-shape",
    "input_shape_of_transposed": "meta/wrong-shape",
    "wrong_dtype": "meta/wrong-dtype",
    "dtype_of_float32_only": "meta/wrong-dtype",
    "keeps_strides": "meta/wrong-strides",
    "keeps_strides_of_sizes": "meta/wrong-strides",
    "loses_strides": "meta/wrong-strides",
    "beginning_for_end": "meta/wrong-offset",
    "on_the_host": "meta/wrong-device",
    "without_meta": "meta/missing",
    "reads_a_value": "meta/reads-data",
    "reads_an_address": "meta/reads-data",
    "writes_its_argument": "meta/writes-arguments",
    "one_result_too_few": "meta/wrong-number",
    "says_it_is_the_argument": "meta/wrong-aliasing",
    "refuses_without_weight": "meta/raises",
    "too_narrow_bounds": "meta/wrong-bounds",
    "allocates_on_the_host": "meta/allocates",
}

SAMPLES = (ow.sample(x=ow.tensor(2, 3)), ow.sample(x=ow.tensor(4, 3)))
_, ops, add = described_library("corpus_meta", SAMPLES)


TURNED = (ow.sample(x=ow.tensor(2, 3)), ow.sample(x=ow.tensor(4, 3, layout="transposed")))


def twice(x):
    return (x * 2).contiguous()


def empty_like(x):
    return torch.empty_like(x)


def contiguous(x):
    return x.new_empty(x.shape)


# Shapes.


def double_rows(x):
    return torch.cat([x, x])


add("hard_coded_shape(Tensor x) -> Tensor", double_rows, lambda x: x.new_empty((4, 3)))
add(
    "computed_shape(Tensor x) -> Tensor",
    double_rows,
    lambda x: x.new_empty((2 * x.shape[0], x.shape[1])),
    shapes={"x": "N, D", "out": "2 * N, D"},
)


def in_32_bits(number):
    return (number + 2**31) % 2**32 - 2**31


def elements(x):
    return x.contiguous().view(-1) * 2


add(
    "counts_in_32_bits(Tensor x) -> Tensor",
    elements,
    lambda x: x.new_empty((abs(in_32_bits(x.shape[0] * x.shape[1])),)),
    shapes={"x": "N, D", "out": "N * D"},
)
add(
    "loses_large_sizes(Tensor x) -> Tensor",
    elements,
    lambda x: x.new_empty((x.shape[0] * x.shape[1] % 2**31,)),  # the reference says the shape
)
add(
    "counts_in_64_bits(Tensor x) -> Tensor",
    elements,
    lambda x: x.new_empty((x.shape[0] * x.shape[1],)),
    shapes={"x": "N, D", "out": "N * D"},
)
add(
    "input_shape_of_transposed(Tensor x) -> Tensor",
    lambda x: x.t().contiguous(),
    empty_like,
    shapes={"x": "N, D", "out": "D, N"},
)
add(
    "constant_shape(Tensor x) -> Tensor",
    lambda x: x.reshape(-1)[:1].expand(3).contiguous(),
    lambda x: x.new_empty((3,)),
    shapes={"out": "3"},
)


# Dtypes.


def rounded(x):
    return x.round().to(torch.int32)


add(
    "wrong_dtype(Tensor x) -> Tensor",
    rounded,
    lambda x: torch.empty(x.shape, dtype=torch.int64, device=x.device),
    dtypes={"out": "int32"},
)
add(
    "fixed_dtype(Tensor x) -> Tensor",
    rounded,
    lambda x: torch.empty(x.shape, dtype=torch.int32, device=x.device),
    dtypes={"out": "int32"},
)
HALF_TOO = (ow.sample(x=ow.tensor(2, 3)), ow.sample(x=ow.tensor(2, 3, dtype="float16")))
add(
    "dtype_of_float32_only(Tensor x) -> Tensor",
    lambda x: (x * 2).contiguous(),
    lambda x: torch.empty(x.shape, dtype=torch.float32, device=x.device),
    *HALF_TOO,
    dtypes="float32 float16",
)
add(
    "wider_dtype(Tensor x) -> Tensor",
    lambda x: x.float().cumsum(-1).contiguous(),
    lambda x: x.new_empty(x.shape, dtype=torch.float32),
    *HALF_TOO,
    dtypes={"x": "float32 float16", "out": "float32"},
)

# Strides.

add("keeps_strides(Tensor x) -> Tensor", lambda x: twice(x).contiguous(), empty_like, *TURNED)
FLAT = (ow.sample(x=ow.tensor(6)),)  # views have more axes than the samples
add(
    "keeps_strides_of_sizes(Tensor x) -> Tensor",
    lambda x: (x * 2).contiguous(),
    empty_like,
    *FLAT,
    shapes={"x": "*sizes"},
)
add(
    "strides_of_sizes_kept_by_both(Tensor x) -> Tensor",
    lambda x: torch.empty_like(x).copy_(x * 2),
    empty_like,
    *FLAT,
    shapes={"x": "*sizes"},
)
add(
    "loses_strides(Tensor x) -> Tensor",
    lambda x: torch.empty_like(x).copy_(x * 2),
    lambda x: x.new_empty(x.shape),
    *TURNED,
)
add(
    "strides_kept_by_both(Tensor x) -> Tensor",
    lambda x: torch.empty_like(x).copy_(x * 2),
    empty_like,
    *TURNED,
)
add(
    "strides_lost_by_both(Tensor x) -> Tensor",
    lambda x: twice(x).contiguous(),
    lambda x: x.new_empty(x.shape),
    *TURNED,
)
# An axis of one may have any stride.
add(
    "stride_of_one(Tensor x) -> Tensor",
    lambda x: x.sum(0, keepdim=True).as_strided((1, x.shape[1]), (1, 1)),
    lambda x: x.new_empty((1, x.shape[1])),
    shapes={"x": "N, D", "out": "1, D"},
)

# The offset of a view.

add(
    "beginning_for_end(Tensor(a) x) -> Tensor(a)",
    lambda x: x.narrow(0, x.shape[0] - 2, 2),
    lambda x: x.narrow(0, 0, 2),
    ow.sample(x=ow.tensor(4, 3)),
    shapes={"x": "N, D", "out": "2, D"},
    requires=("N >= 2",),
)

# Devices.

add("on_the_host(Tensor x) -> Tensor", twice, lambda x: torch.empty(x.shape, dtype=x.dtype))
add(
    "counts_on_the_host(Tensor x) -> Tensor",
    lambda x: torch.tensor([x.shape[0]]),
    lambda x: torch.empty((1,), dtype=torch.int64, device="cpu"),
    shapes={"out": "1"},
    dtypes={"out": "int64"},
)

# Missing; what torch does not need.

add("without_meta(Tensor x) -> Tensor", twice, None)


def double_(x):
    x.mul_(2)


add("nothing_returned_without_meta(Tensor(a!) x) -> ()", double_, None)


# Meta does something besides.


def first_rows(x, count):
    return x[: int(count.max())].clone()


def rows_by_data(x, count):
    rows = torch.library.get_ctx().new_dynamic_size()
    return x.new_empty((rows, *x.shape[1:]))


def few_rows(x, count):
    rows = torch.library.get_ctx().new_dynamic_size(max=2)
    return x.new_empty((rows, *x.shape[1:]))


def reads_a_value(x, count):
    return x.new_empty((int(count.max().item()), *x.shape[1:]))


ROWS = (
    ow.sample(x=ow.tensor(5, 3), count=ow.tensor(2, dtype="int64", low=1, high=1)),
    ow.sample(x=ow.tensor(5, 3), count=ow.tensor(2, dtype="int64", low=4, high=4)),
)
BY_DATA = {
    "shapes": {"out": lambda x, count: [0, *x.shape[1:]]},
    "dtypes": {"count": "int64"},
}
for name, meta in {
    "reads_a_value": reads_a_value,
    "size_by_data": rows_by_data,
    "too_narrow_bounds": few_rows,
}.items():
    add(f"{name}(Tensor x, Tensor count) -> Tensor", first_rows, meta, *ROWS, **BY_DATA)


def reads_an_address(x):
    assert x.data_ptr() % 4 == 0
    return contiguous(x)


add("reads_an_address(Tensor x) -> Tensor", twice, reads_an_address)
add("writes_its_argument(Tensor x) -> Tensor", twice, lambda x: x.mul_(2).clone())
add("computes(Tensor x) -> Tensor", twice, lambda x: x.contiguous() * 2)


def two(x):
    return [(x + 1).contiguous(), (x + 2).contiguous()]


add(
    "one_result_too_few(Tensor x) -> Tensor[]",
    two,
    lambda x: [contiguous(x)],
)
add("two_results(Tensor x) -> Tensor[]", two, lambda x: [contiguous(x) for _ in range(2)])
add("says_it_is_the_argument(Tensor x) -> Tensor", twice, lambda x: x)


def scaled_(x):
    return x.mul_(2)


if IN_PLACE:
    add("in_place_(Tensor(a!) x) -> Tensor(a!)", scaled_, lambda x: x, tags=IN_PLACE)


def weighted(x, weight=None):
    return (x if weight is None else x * weight).clone(memory_format=torch.contiguous_format)


kit = ow.OperatorSet("corpus_meta_kit")


@kit.operator(
    "outer(Tensor x, Tensor y) -> Tensor",
    dtypes="float32",
    shapes={"x": "N", "y": "M", "out": "N, M"},
)
def outer(x, y):
    """Have results with more elements than 64 bits count, for arguments that are large alone."""
    return x[:, None] * y


def insists(x, weight=None):
    return torch.empty(torch.broadcast_shapes(x.shape, weight.shape), device=x.device)


WEIGHTED = (
    ow.sample(x=ow.tensor(2, 3), weight=ow.tensor(3)),
    ow.sample(x=ow.tensor(2, 3), weight=None),
)
for name, meta in {
    "refuses_without_weight": insists,
    "takes_no_weight": lambda x, weight=None: contiguous(x),
}.items():
    add(f"{name}(Tensor x, Tensor? weight=None) -> Tensor", weighted, meta, *WEIGHTED)


def allocates_on_the_host(x):
    mask = torch.zeros(x.shape)
    assert mask.shape == x.shape
    return contiguous(x)


def small_table(x):
    assert torch.tensor([1.0, 2.0]).shape == (2,)  # of numbers, not of the size of x
    return contiguous(x)


add("allocates_on_the_host(Tensor x) -> Tensor", twice, allocates_on_the_host)
add("makes_a_small_table(Tensor x) -> Tensor", twice, small_table)
