"""Shapes, views, joins and slices in graphs: kernels by themselves, and compiled for many sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
import torch_npu  # noqa: F401 - torchair is found by way of it
import torchair  # noqa: F401 - isolated tests are forked from a process that has it
from hypothesis import given
from hypothesis import strategies as st

from opwright.graph_engine.kernels import shapes, slicing  # noqa: F401 - fill the table
from tests.graph_engine.agreement import assert_agree, call

if TYPE_CHECKING:
    from collections.abc import Callable


def heads(x: torch.Tensor, count: int = 2) -> torch.Tensor:
    return x.view(x.shape[0], x.shape[1], count, x.shape[2] // count).transpose(1, 2)


def attention(x: torch.Tensor) -> torch.Tensor:
    q, k, v = heads(x), heads(x + 1), heads(x * 2)
    weights = torch.softmax(q @ k.transpose(-1, -2) / (x.shape[2] // 2) ** 0.5, -1)
    return (weights @ v).transpose(1, 2).reshape(x.shape)


def causal(x: torch.Tensor) -> torch.Tensor:
    allowed = torch.ones(x.shape[1], x.shape[1], device=x.device).tril()
    scores = (x @ x.transpose(-1, -2)).masked_fill(allowed == 0, -1e4)
    return torch.softmax(scores, -1) @ x


def rotated(x: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    angles = torch.arange(x.shape[1], device=x.device, dtype=x.dtype)[:, None] * 0.1
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()], -1)


FUNCTIONS: dict[str, Callable[..., object]] = {
    "view": lambda x: x.view(x.shape[0] * x.shape[1], -1) + 1,
    "views": lambda x: (x.flatten(1) * 2, x.unsqueeze(0).squeeze(0) * 2, x[:, :1].squeeze(1) + 1),
    "reshape": lambda x: x.reshape(x.shape[0], x.shape[1] // 2, 2, -1).transpose(1, 2) + 1,
    "transpose": lambda x: (x.transpose(0, 1).contiguous(), x.permute(2, 0, 1).reshape(8, -1)),
    "slices": lambda x: (x[:, 1 : x.shape[1] - 1] * 1, x[:, -2:] + 1, x[:, ::2] + 1),
    "halves": lambda x: (x[: x.shape[0] // 2] * 2, x[1:] + x[:-1]),
    "select": lambda x: (x[:, -1] + x[:, 0], x[x.shape[0] // 2] + 1),
    "expand": lambda x: x[:1].expand(x.shape[0], -1, -1) + x,
    "widen": lambda x: x[:, :1].expand(-1, x.shape[1] * 2, -1) * 2,
    "repeat": lambda x: x.repeat(1, 2, 1) + 1,
    "cat": lambda x: torch.cat([x, x[:, :2]], 1) * 2,
    "stack": lambda x: torch.stack([x, x + 1], -1),
    "split": lambda x: [part + 1 for part in x.split([2, x.shape[1] - 2], 1)],
    "split_in_rest": lambda x: [part + 1 for part in x.split(3, 2)],
    "chunk": lambda x: [part * 2 for part in x.chunk(2, 2)],
    "unbind": lambda x: [part * 2 for part in x.view(*x.shape[:2], 2, 4).unbind(2)],
    "arange": lambda x: x + torch.arange(x.shape[1], device=x.device, dtype=x.dtype)[:, None],
    "zeros": lambda x: torch.zeros(x.shape[0], x.shape[1] + 1, device=x.device) + x.sum(),
    "sizes": lambda x: (x * x.shape[1], x.shape[0] * 3 + 1, x / x.shape[1] ** 0.5),
    "flip": lambda x: x.flip(0, 2),
    "triangles": lambda x: (x.tril(1), x.triu(-1)),
    "as_strided": lambda x: (x + 1).as_strided((x.shape[0], 3), (x.shape[1] * 8, 1), 2) * 2,
    "branch": lambda x: x * 2 if x.shape[1] > 8 else x - 1,
    "attention": attention,
    "causal": causal,
    "rotated": rotated,
}


def operands() -> list[dict[str, torch.Tensor]]:
    torch.manual_seed(7)
    sizes = ((4, 6, 8), (2, 10, 8), (7, 6, 8), (4, 6, 8))
    return [{"x": torch.randn(each)} for each in sizes]


@pytest.mark.twin
@pytest.mark.slow
@pytest.mark.isolated
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_compiled_views_answer_what_eager_answers(*, dynamic: bool) -> None:
    assert_agree(FUNCTIONS, operands(), dynamic=dynamic)


@pytest.mark.twin
@pytest.mark.slow
@pytest.mark.isolated
def test_attention_over_a_cache_that_grows() -> None:
    def step(
        q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        keys, values = torch.cat([keys, k], 1), torch.cat([values, v], 1)
        return torch.softmax(q @ keys.transpose(-1, -2) / 8**0.5, -1) @ values, keys, values

    torch.manual_seed(7)
    runs = [
        {
            name: torch.randn(2, length, 8)
            for name, length in (("q", 1), ("k", 1), ("v", 1), ("keys", before), ("values", before))
        }
        for before in (3, 4, 5, 9, 3)
    ]
    assert_agree({"step": step}, runs, dynamic=True)


def counted(*sizes: int) -> torch.Tensor:
    return torch.arange(torch.Size(sizes).numel()).reshape(sizes)


def test_answers_of_shapes() -> None:
    x = counted(2, 3)
    assert call("Shape", x).tolist() == [2, 3]
    assert call("Shape", x).dtype == torch.int32
    assert call("Shape", x, dtype=9).dtype == torch.int64
    assert [shape.tolist() for shape in call("ShapeN", [x, x[0]])] == [[2, 3], [3]]
    assert call("Rank", x).item() == 2
    assert call("Size", x).item() == 6


@pytest.mark.parametrize(
    ("name", "inputs", "attributes", "wanted"),
    [
        ("Reshape", ([3, -1],), {}, (3, 8)),
        ("Reshape", ([0, -1],), {}, (2, 12)),
        ("Reshape", ([6],), {"axis": 0, "num_axes": 2}, (6, 4)),
        ("Reshape", ([2, 2],), {"axis": 2}, (2, 3, 2, 2)),
        ("FlattenV2", (), {}, (2, 12)),
        ("FlattenV2", (), {"axis": 0, "end_axis": 1}, (6, 4)),
        ("Flatten", (), {"axis": 2}, (6, 4)),
        ("Flatten", (), {"axis": 0}, (1, 24)),
        ("Unsqueeze", (), {"axes": [0, -1]}, (1, 2, 3, 4, 1)),
        ("UnsqueezeV3", ([1],), {}, (2, 1, 3, 4)),
        ("ExpandDims", (-1,), {}, (2, 3, 4, 1)),
        ("Transpose", ([2, 0, 1],), {}, (4, 2, 3)),
        ("TransposeD", (), {"perm": [1, 0, 2]}, (3, 2, 4)),
        ("Permute", (), {"order": [0, 2, 1]}, (2, 4, 3)),
        ("BroadcastTo", ([5, 2, 3, 4],), {}, (5, 2, 3, 4)),
        ("Expand", ([5, 1, 1, -1],), {}, (5, 2, 3, 4)),
        ("Expand", ([1],), {}, (2, 3, 4)),
        ("Tile", ([2, 1, 3],), {}, (4, 3, 12)),
        ("TileD", (), {"multiples": [1, 2, 1]}, (2, 6, 4)),
    ],
)
def test_shapes_that_kernels_give(
    name: str, inputs: tuple[object, ...], attributes: dict[str, object], wanted: tuple[int, ...]
) -> None:
    assert tuple(call(name, counted(2, 3, 4), *inputs, **attributes).shape) == wanted


def test_squeeze_removes_what_it_is_given_and_nothing_else() -> None:
    x = torch.ones(1, 3, 1)
    assert call("Squeeze", x).shape == (3,)
    assert call("Squeeze", x, axis=[-1]).shape == (1, 3)
    assert call("SqueezeV3", x).shape == (3,)
    assert call("SqueezeV3", x, [0]).shape == (3, 1)
    with pytest.raises(ValueError, match="axis 1 has size 3"):
        call("Squeeze", x, axis=[1])


def test_joins_and_cuts_are_inverse() -> None:
    x = counted(2, 7)
    parts = call("SplitV", x, [2, -1, 1], 1, num_split=3)
    assert [part.shape[1] for part in parts] == [2, 4, 1]
    assert torch.equal(call("ConcatV2", parts, 1, N=3), x)
    assert torch.equal(call("Concat", 1, parts, N=3), x)
    assert torch.equal(call("ConcatD", parts, concat_dim=1, N=3), x)
    assert torch.equal(call("Pack", call("Unpack", x, num=7, axis=1), axis=1, N=7), x)
    assert call("ConcatV2", [x[0, 1], x[0, 2]], 0, N=2).tolist() == [1, 2]
    halves = call("Split", 0, x, num_split=2)
    assert torch.equal(call("ConcatD", halves, concat_dim=0), x)
    assert [h.shape for h in call("SplitD", x, split_dim=0, num_split=2)] == [(1, 7), (1, 7)]
    assert len(call("SplitVD", x, size_splits=[3, 4], split_dim=1, num_split=2)) == 2


@pytest.mark.parametrize(
    ("name", "inputs", "attributes", "message"),
    [
        ("Split", (1, counted(2, 7)), {"num_split": 2}, "axis 1 of size 7"),
        ("SplitV", (counted(2, 7), [3, 4], 1), {"num_split": 3}, "2 sizes for 3 pieces"),
        ("Unpack", (counted(2, 7),), {"num": 3}, "axis 0 has size 2, and num is 3"),
    ],
)
def test_cuts_that_do_not_fit(
    name: str, inputs: tuple[object, ...], attributes: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        call(name, *inputs, **attributes)


@pytest.mark.parametrize(
    "view", [lambda x: x, lambda x: x.t(), lambda x: x[1:], lambda x: x[:, 1:]]
)
def test_strides_count_in_the_tensor_and_not_in_what_it_is_a_view_of(
    view: Callable[[torch.Tensor], torch.Tensor],
) -> None:
    x = view(counted(4, 5))
    assert torch.equal(
        call("AsStrided", x, [2, 2], [3, 1], 1),
        x.clone().contiguous().as_strided((2, 2), (3, 1), 1),
    )
    copied = call("ViewCopy", x, [2], [2], 1, torch.tensor([-1, -2, -3]), [2], [1], 1)
    wanted = x.flatten().clone()
    wanted[[1, 3]] = torch.tensor([-2, -3])
    assert torch.equal(copied, wanted.reshape(x.shape))


def test_roll_and_reverse() -> None:
    x = counted(3, 4)
    assert torch.equal(call("Roll", x, shifts=[1], dims=[1]), x.roll(1, 1))
    assert torch.equal(call("Roll", x, shifts=[5]), x.roll(5))
    assert torch.equal(call("RollV2", x, [1, -1], [0, 1]), x.roll((1, -1), (0, 1)))
    assert torch.equal(call("ReverseV2", x, [0, 1]), x.flip(0, 1))
    assert torch.equal(call("Tril", x, diagonal=-1), x.tril(-1))
    assert torch.equal(call("Triu", x, diagonal=1), x.triu(1))


bounds = st.integers(-9, 9) | st.just(2**31 - 1)
strides = st.integers(-3, 3).filter(bool)


@given(st.lists(st.tuples(bounds, bounds, strides), min_size=1, max_size=3), st.data())
def test_strided_slices_are_those_of_numpy(
    entries: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    x = counted(4, 1, 6)
    masks = st.integers(0, 2 ** len(entries) - 1)
    begin_mask, end_mask = data.draw(masks), data.draw(masks)
    index = tuple(
        slice(None if begin_mask >> at & 1 else first, None if end_mask >> at & 1 else last, step)
        for at, (first, last, step) in enumerate(entries)
    )
    begin, end, steps = (list(column) for column in zip(*entries, strict=True))
    open_ends = {"begin_mask": begin_mask, "end_mask": end_mask}
    wanted = x.numpy()[index]
    np.testing.assert_array_equal(call("StridedSlice", x, begin, end, steps, **open_ends), wanted)
    axes = list(range(len(entries)))
    turned = data.draw(st.permutations(axes))
    if not begin_mask and not end_mask:
        chosen = [[column[at] for at in turned] for column in (begin, end, steps)]
        np.testing.assert_array_equal(
            call("StridedSliceV2", x, chosen[0], chosen[1], list(turned), chosen[2]), wanted
        )


def test_slices_with_new_removed_and_open_axes() -> None:
    x = counted(2, 3, 4)
    zeros, ones = [0, 0, 1], [1, 1, 1]
    assert torch.equal(  # x[None, ..., 1]
        call(
            "StridedSlice",
            x,
            zeros,
            ones,
            ones,
            new_axis_mask=1,
            ellipsis_mask=2,
            shrink_axis_mask=4,
        ),
        x[None, ..., 1],
    )
    assert torch.equal(  # x[..., 1:2]
        call("StridedSliceV2", x, [0, 1], [0, 2], ellipsis_mask=1), x[..., 1:2]
    )
    assert torch.equal(call("Slice", x, [0, 1, 2], [1, -1, 2]), x[:1, 1:, 2:4])
    with pytest.raises(NotImplementedError, match="together with axes"):
        call("StridedSliceV2", x, [0], [1], [1], shrink_axis_mask=1)
