"""Operators of another library whose Meta is right for the sizes of one sample alone."""

from __future__ import annotations

import torch
from registering import described_library
from torch.fx.experimental.symbolic_shapes import guard_or_false

import opwright as ow

BROKEN = {
    "takes_int": "symbolic/specialised",
    "loops_over_rows": "symbolic/specialised",
    "compares_with_one_model": "symbolic/specialised",
    "freezes_an_int_argument": "symbolic/specialised",
    "reads_the_hint": "symbolic/reads-hint",
    "square_by_accident": "symbolic/wrong-at-other-sizes",
    "insists_on_int_sizes": "symbolic/raises",
    "branches_on_rows": "symbolic/branches-on-unbacked",
    "asserts_few_rows": "symbolic/branches-on-unbacked",
}

SAMPLES = (ow.sample(x=ow.tensor(4, 6)), ow.sample(x=ow.tensor(5, 8)))
_, ops, add = described_library("corpus_symbolic", SAMPLES)


MATRIX = {"x": "N, D"}
ROW_SUM = {"x": "N, D", "out": "N"}


def row_sums(x):
    return x.sum(-1)


add(
    "takes_int(Tensor x) -> Tensor",
    row_sums,
    lambda x: x.new_empty((int(x.shape[0]),)),
    shapes=ROW_SUM,
)
add(
    "keeps_symbol(Tensor x) -> Tensor", row_sums, lambda x: x.new_empty(x.shape[:1]), shapes=ROW_SUM
)


def one_by_one(x):
    return torch.stack([x.new_empty(()) for _ in range(x.shape[0])])


add("loops_over_rows(Tensor x) -> Tensor", row_sums, one_by_one, shapes=ROW_SUM)


def as_in_one_model(x):
    return x.new_empty((4,)) if x.shape[0] == 4 else x.new_empty((x.shape[0],))


add("compares_with_one_model(Tensor x) -> Tensor", row_sums, as_in_one_model, shapes=ROW_SUM)


def of_known_width(x):
    torch._check(x.shape[1] == 6)
    return x.new_empty(x.shape[:1])


def first_six(x):
    if x.shape[1] != 6:
        message = "x has to have six columns"
        raise ValueError(message)
    return x.sum(-1)


# The kernel takes no other width, as the declaration says, or as it says itself.
SIX = (ow.sample(x=ow.tensor(4, 6)), ow.sample(x=ow.tensor(5, 6)))
add(
    "stated_width(Tensor x) -> Tensor",
    first_six,
    of_known_width,
    *SIX,
    shapes={"x": "N, 6", "out": "N"},
)
add(
    "only_one_width(Tensor x) -> Tensor",
    first_six,
    of_known_width,
    *SIX,
    shapes={"out": lambda x: [x.shape[0]]},
)


def few_or_many(x):
    return x[:3].clone(memory_format=torch.contiguous_format)


def says_few_or_many(x):
    if x.shape[0] > 3:
        return x.new_empty((3, x.shape[1]))
    return x.new_empty(x.shape)


def few_without_branch(x):
    return x.new_empty((torch.sym_min(x.shape[0], 3), x.shape[1]))


FEW = {"x": "N, D", "out": "min(N, 3), D"}
add("branches_on_rows(Tensor x) -> Tensor", few_or_many, says_few_or_many, shapes=FEW)
add("chooses_without_branch(Tensor x) -> Tensor", few_or_many, few_without_branch, shapes=FEW)


def empty_or_not(x):
    if guard_or_false(x.shape[0] == 0):
        return x.new_empty((0,))
    return x.new_empty(x.shape[:1])


add("asks_for_zero_softly(Tensor x) -> Tensor", row_sums, empty_or_not, shapes=ROW_SUM)

# Attributes.


def repeated(x, count):
    return x.repeat(count, 1)


REPEATED = {"x": "N, D", "out": "N * count, D"}
REPEATS = (ow.sample(x=ow.tensor(4, 6), count=3), ow.sample(x=ow.tensor(5, 7), count=2))
add(
    "freezes_an_int_argument(Tensor x, SymInt count) -> Tensor",
    repeated,
    lambda x, count: torch.cat([torch.empty_like(x) for _ in range(count)]),
    *REPEATS,
    shapes=REPEATED,
)
add(
    "symbolic_argument(Tensor x, SymInt count) -> Tensor",
    repeated,
    lambda x, count: x.new_empty((x.shape[0] * count, x.shape[1])),
    *REPEATS,
    shapes=REPEATED,
)
# An int that is no SymInt is a number in every graph.
add(
    "fixed_argument(Tensor x, int count) -> Tensor",
    repeated,
    lambda x, count: torch.cat([torch.empty_like(x) for _ in range(count)]),
    *REPEATS,
    shapes=REPEATED,
)

# Right for the sample, wrong for others, without a guard.

add(
    "reads_the_hint(Tensor x) -> Tensor",
    row_sums,
    lambda x: x.new_empty(
        (x.shape[0].node.hint if isinstance(x.shape[0], torch.SymInt) else x.shape[0],)
    ),
    shapes=ROW_SUM,
)
SQUARE = (ow.sample(x=ow.tensor(4, 4)), ow.sample(x=ow.tensor(5, 8)))
add(
    "square_by_accident(Tensor x) -> Tensor",
    lambda x: x.sum(0),
    lambda x: x.new_empty(x.shape[:1]),
    *SQUARE,
    shapes={"x": "N, D", "out": "D"},
)
add(
    "square_or_not(Tensor x) -> Tensor",
    lambda x: x.sum(0),
    lambda x: x.new_empty(x.shape[1:]),
    *SQUARE,
    shapes={"x": "N, D", "out": "D"},
)


def insists_on_int(x):
    if not all(type(size) is int for size in x.shape):
        message = "sizes have to be of type int"
        raise TypeError(message)
    return torch.empty_like(x)


add("insists_on_int_sizes(Tensor x) -> Tensor", torch.neg, insists_on_int)

# Several tensors.


def sums(x, y):
    return x.sum(-1) + y


def asserts_few(x, y):
    assert x.shape[0] < 1000
    return torch.empty_like(y)


def checks_rows(x, y):
    torch._check(x.shape[0] == y.shape[0])
    return torch.empty_like(y)


PAIRS = (
    ow.sample(x=ow.tensor(4, 6), y=ow.tensor(4)),
    ow.sample(x=ow.tensor(5, 8), y=ow.tensor(5)),
)
PAIR = {"x": "N, D", "y": "N", "out": "N"}
add("asserts_few_rows(Tensor x, Tensor y) -> Tensor", sums, asserts_few, *PAIRS, shapes=PAIR)
add("checks_equal_rows(Tensor x, Tensor y) -> Tensor", sums, checks_rows, *PAIRS, shapes=PAIR)
# The number of results is a size: no graph can leave it open.
add(
    "one_result_per_row(Tensor x) -> Tensor[]",
    lambda x: [row.clone() for row in x],
    lambda x: [x.new_empty(x.shape[1:]) for _ in range(x.shape[0])],
)


def chosen(x, mask):
    return x[mask].contiguous()


def rows_by_mask(x, mask):
    rows = torch.library.get_ctx().new_dynamic_size()
    return x.new_empty((rows, x.shape[1]))


add(
    "rows_by_data(Tensor x, Tensor mask) -> Tensor",
    chosen,
    rows_by_mask,
    ow.sample(x=ow.tensor(4, 6), mask=ow.tensor(4, dtype="bool")),
    ow.sample(x=ow.tensor(7, 5), mask=ow.tensor(7, dtype="bool")),
    shapes={"out": lambda x, mask: [0, x.shape[1]]},
    dtypes={"mask": "bool"},
)


kit = ow.OperatorSet("corpus_symbolic_kit")


@kit.operator(
    "equal_parts(Tensor x, SymInt n) -> Tensor[]",
    shapes={"x": "N, D", "out": ow.each("n", "N // n, D")},
    dtypes="float32",
    requires=["n > 0", "N % n == 0"],
    samples=[ow.sample(x=ow.tensor(6, 2), n=3)],
)
def equal_parts(x, n):
    return [part.clone() for part in x.chunk(n)]


@kit.operator(
    "heads(Tensor x, int[] counts) -> Tensor[]",
    shapes={"x": "N, D", "out": ow.each("len(counts)", "counts[i], D")},
    dtypes="float32",
    samples=[ow.sample(x=ow.tensor(4, 2), counts=[1, 3])],
)
def heads(x, counts):
    return [x.sum(0).expand(count, -1).clone() for count in counts]
