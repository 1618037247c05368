"""Kernels that use memory as if every tensor were contiguous and began where its storage does."""

from __future__ import annotations

import torch

import opwright as ow

BROKEN = {
    "raw_scale": "layouts/strides-ignored",
    "from_storage_start": "layouts/strides-ignored",
    "row_stride_only": "layouts/strides-ignored",
    "second_argument_raw": "layouts/strides-ignored",
    "uses_view": "layouts/raises-for-view",
    "fills_raw_": "layouts/wrote-beside-view",
    "ignores_expand": "layouts/strides-ignored",
}

ops = ow.OperatorSet("corpus_layouts", existing=True)
LIBRARY = torch.library.Library("corpus_layouts", "DEF")
ONE = ow.sample(x=ow.tensor(3, 4))


def operator(schema, kernel, *samples, meta=None, **fields):
    """Register a kernel that is not the reference."""

    def declare(function):
        LIBRARY.define(schema)
        name = schema.partition("(")[0]
        for key in ("CPU", "PrivateUse1"):
            LIBRARY.impl(name, kernel, key)
        LIBRARY.impl(name, meta or function, "Meta")
        return ops.operator(schema, samples=samples or (ONE,), **fields)(function)

    return declare


def raw(x, *, offset=None):
    """Read as many elements as the tensor has, one after the other."""
    start = x.storage_offset() if offset is None else offset
    room = x.untyped_storage().nbytes() // x.element_size() - start
    count = min(x.numel(), room)
    read = x.new_zeros(x.numel())
    read[:count] = torch.as_strided(x, (count,), (1,), start)
    return read.view(x.shape)


def doubled(x):
    """Say what Meta says: contiguous results."""
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


@operator("raw_scale(Tensor x) -> Tensor", lambda x: raw(x) * 2, meta=doubled)
def raw_scale(x):
    return x * 2


@operator(
    "from_storage_start(Tensor x) -> Tensor",
    lambda x: raw(x, offset=0) + 1 if x.is_contiguous() else x.contiguous() + 1,
    meta=doubled,
)
def from_storage_start(x):
    return x + 1


def with_row_stride(x):
    """Heed the stride of rows and take that of columns for 1."""
    if x.dim() != 2 or 0 in x.shape:
        return (x * 3).contiguous()
    room = x.untyped_storage().nbytes() // x.element_size() - x.storage_offset()
    last = (x.shape[0] - 1) * x.stride(0) + x.shape[1]
    if last > room:
        return raw(x) * 3
    return torch.as_strided(x, x.shape, (x.stride(0), 1), x.storage_offset()) * 3


@operator("row_stride_only(Tensor x) -> Tensor", with_row_stride, meta=doubled)
def row_stride_only(x):
    return x * 3


@operator(
    "second_argument_raw(Tensor x, Tensor y) -> Tensor",
    lambda x, y: (x + raw(y)).contiguous(),
    ow.sample(x=ow.tensor(3, 4), y=ow.tensor(3, 4)),
    shapes={"x": "M, N", "y": "M, N", "out": "M, N"},
    meta=lambda x, y: doubled(x + y),
)
def second_argument_raw(x, y):
    return x + y


@operator("uses_view(Tensor x) -> Tensor", lambda x: flattened(x) * 2, meta=doubled)
def uses_view(x):
    return x * 2


def flattened(x):
    """Fail as an allocation on the device does, with a number."""
    if not x.is_contiguous():
        raise RuntimeError("error code 161002")
    return x


def fill_raw(x):
    """Write as many elements as the tensor has, one after the other."""
    room = x.untyped_storage().nbytes() // x.element_size() - x.storage_offset()
    torch.as_strided(x, (min(x.numel(), room),), (1,), x.storage_offset()).fill_(0.5)
    x.fill_(0.5)


@operator("fills_raw_(Tensor(a!) x) -> ()", fill_raw)
def fills_raw_(x):
    x.fill_(0.5)


@operator(
    "ignores_expand(Tensor x) -> Tensor",
    lambda x: raw(x) - 1 if 0 in x.stride() and x.numel() > 1 else (x - 1).contiguous(),
    meta=doubled,
)
def ignores_expand(x):
    return x - 1


# Sound.


@operator("heeds_strides(Tensor x) -> Tensor", lambda x: (x * 2).contiguous(), meta=doubled)
def heeds_strides(x):
    return x * 2


@operator("copies_first(Tensor x) -> Tensor", lambda x: raw(x.contiguous()) * 2, meta=doubled)
def copies_first(x):
    return x * 2


def fill(x):
    """Write what it should, where it should."""
    x.fill_(0.5)


@operator("fills_(Tensor(a!) x) -> ()", fill)
def fills_(x):
    x.fill_(0.5)


def fill_through_copy(x):
    """Write into a contiguous copy, and that back."""
    whole = x.contiguous()
    whole.fill_(0.5)
    x.copy_(whole)


@operator("fills_through_copy_(Tensor(a!) x) -> ()", fill_through_copy)
def fills_through_copy_(x):
    x.fill_(0.5)


@operator(
    "sum_of_rows(Tensor x) -> Tensor",
    lambda x: x.sum(-1).contiguous(),
    shapes={"x": "M, N", "out": "M"},
)
def sum_of_rows(x):
    return x.sum(-1).contiguous()


@operator(
    "keeps_strides(Tensor x) -> Tensor",
    lambda x: torch.empty_like(x).copy_(x * 2),
    meta=torch.empty_like,
)
def keeps_strides(x):
    return x * 2
