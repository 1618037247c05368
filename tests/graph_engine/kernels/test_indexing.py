"""Indices, orders and margins in graphs: kernels by themselves, and compiled for many sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
import torch_npu
import torchair  # noqa: F401 - isolated tests are forked from a process that has it
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from opwright.graph_engine.kernels import indexing, padding, sorting  # noqa: F401 - fill the table
from tests.graph_engine.agreement import assert_agree, call, compiled

if TYPE_CHECKING:
    from collections.abc import Callable

FUNCTIONS: dict[str, Callable[..., object]] = {
    "gather": lambda x: x.gather(
        1, torch.arange(x.shape[1], device=x.device).flip(0)[None, :, None].expand(*x.shape[:2], 8)
    ),
    "index_select": lambda x: x.index_select(1, torch.arange(x.shape[1] - 1, device=x.device)),
    "index": lambda x: x[:, torch.arange(x.shape[1] - 1, device=x.device)] * 2,
    "index_apart": lambda x: x[
        torch.arange(2, device=x.device), :, torch.arange(2, device=x.device)
    ],
    "embedding": lambda x: functional.embedding(torch.arange(2, device=x.device), x[0]) * 2,
    "scatter": lambda x: x.scatter(1, (x[:, :1] * 0).long(), x[:, :1] + 1),
    "scatter_value": lambda x: x.scatter(1, (x[:, :1] * 0).long() + 1, 2.0),
    "scatter_add": lambda x: x.scatter_add(1, (x[:, :2] * 0).long(), x[:, :2] + 1),
    "index_add": lambda x: x.index_add(
        1, torch.tensor([1, 1, 3], device=x.device), x[:, :3], alpha=2
    ),
    "slice_scatter": lambda x: torch.slice_scatter(x, x[:, :1] * 2, 1, 1, 2),
    "select_scatter": lambda x: torch.select_scatter(x, x[:, 1] * 2, 1, 2),
    "as_strided_scatter": lambda x: torch.as_strided_scatter(x, x[0, :2, :3], (2, 3), (8, 2), 3),
    "where": lambda x: torch.where(
        torch.arange(x.shape[1], device=x.device)[:, None] < x.shape[1] // 2, x, x.new_zeros(())
    ),
    "sort": lambda x: (*x.sort(1), *x.sort(-1, descending=True)),
    "topk": lambda x: (*x.topk(3), *x.topk(2, 1, largest=False)),
    "searchsorted": lambda x: torch.searchsorted(x.sort(-1)[0], x),
    "pad": lambda x: (functional.pad(x, (1, 2)), functional.pad(x, (1, 0, 2, 3), value=1.5)),
    "cut": lambda x: functional.pad(x, (-1, 2, 0, -1)),
    "reflect": lambda x: functional.pad(x, (1, 2, 3, 1), mode="reflect"),
    "replicate": lambda x: functional.pad(x, (1, 2), mode="replicate"),
}


def operands() -> list[dict[str, torch.Tensor]]:
    torch.manual_seed(7)
    sizes = ((4, 6, 8), (2, 10, 8), (7, 6, 8), (4, 6, 8))
    return [{"x": torch.randn(each)} for each in sizes]


@pytest.mark.twin
@pytest.mark.slow
@pytest.mark.isolated
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_compiled_indices_answer_what_eager_answers(*, dynamic: bool) -> None:
    assert_agree(FUNCTIONS, operands(), dynamic=dynamic)


@pytest.mark.twin
@pytest.mark.slow
@pytest.mark.isolated
def test_a_table_and_its_indices_both_change_their_sizes() -> None:
    torch.manual_seed(7)
    runs = [
        {"table": torch.randn(rows, 4), "at": torch.randint(0, rows, sizes)}
        for rows, sizes in ((10, (2, 3)), (6, (4, 5)), (10, (2, 7)))
    ]
    rows = {"rows": lambda table, at: functional.embedding(at, table) + at.shape[1]}
    assert_agree(rows, runs, dynamic=True)


@pytest.mark.twin
@pytest.mark.slow
@pytest.mark.isolated
@pytest.mark.parametrize("dynamic", [False, True])
def test_caches_that_a_step_writes_stay_written(*, dynamic: bool) -> None:
    def step(
        cache: torch.Tensor,
        table: torch.Tensor,
        places: torch.Tensor,
        new: torch.Tensor,
        rows: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        torch_npu.scatter_update_(cache, places, new, -2)
        torch_npu.npu_scatter_nd_update_(table, rows, new[:, 0, 0])
        return cache * 1, table * 1

    torch.manual_seed(7)
    graph = compiled(step, dynamic=dynamic)
    ours, theirs = (
        (torch.zeros(2, 3, 5, 4).to("npu"), torch.zeros(6, 4).to("npu")) for _ in range(2)
    )
    with torch.no_grad():
        for at in range(4):
            new = torch.randn(2, 3, 1, 4).to("npu")
            places = torch.tensor([at, 3 - at]).to("npu")
            rows = torch.tensor([[at], [at + 2]]).to("npu")
            got, wanted = graph(*ours, places, new, rows), step(*theirs, places, new, rows)
            torch.testing.assert_close(got, wanted)
            torch.testing.assert_close(ours, theirs)
    assert ours[0].count_nonzero().item() >= 2 * 3 * 4 * 4 - 2


def counted(*sizes: int) -> torch.Tensor:
    return torch.arange(torch.Size(sizes).numel()).reshape(sizes)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_gather_along_an_axis(axis: int) -> None:
    x, at = counted(3, 4, 5), torch.tensor([[0, 2], [1, 1]])
    wanted = np.take(x.numpy(), at.numpy(), axis)
    np.testing.assert_array_equal(call("GatherV2", x, at, axis), wanted)
    scalar = torch.tensor(-1, dtype=torch.int32)
    taken = call("GatherV2", x, scalar, axis, negative_index_support=True)
    np.testing.assert_array_equal(taken, np.take(x.numpy(), -1, axis))


@pytest.mark.parametrize(("batches", "axis"), [(1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (-1, 2)])
def test_gather_of_batches(batches: int, axis: int) -> None:
    x, at = counted(2, 3, 4, 5), torch.tensor([[2, 0, 1], [2, 2, 0]])
    count = batches + at.dim() if batches < 0 else batches
    lead = x.shape[:count]
    flat = x.flatten(0, count - 1), at.flatten(0, count - 1)
    each = [
        np.take(rows.numpy(), picks.numpy(), axis - count)
        for rows, picks in zip(*flat, strict=True)
    ]
    wanted = np.stack(each)
    wanted = wanted.reshape(*lead, *wanted.shape[1:])
    np.testing.assert_array_equal(call("GatherV2", x, at, axis, batch_dims=batches), wanted)


def test_gather_takes_rows() -> None:
    x = counted(3, 4)
    assert torch.equal(call("Gather", x, torch.tensor([2, 0])), x[[2, 0]])
    assert torch.equal(call("Gather", x[0], torch.tensor(2)), x[0, 2])
    batched = call("Gather", x, torch.tensor([[1], [0], [3]]), batch_dims=1)
    assert batched.tolist() == [[1], [4], [11]]


def test_elements_and_places() -> None:
    x, at = counted(3, 4), torch.tensor([[1, 0], [2, 3]], dtype=torch.int32)
    assert torch.equal(call("GatherElements", x, at[:, :1], dim=0), x.gather(0, at[:, :1].long()))
    assert call("GatherNd", x, at).tolist() == [4, 11]
    assert torch.equal(call("GatherNd", x, at[:, :1]), x[[1, 2]])
    written = call("TensorScatterUpdate", x, at, torch.tensor([-1, -2]))
    assert (written[1, 0], written[2, 3], written.sum() - x.sum()) == (-1, -2, -3 - 4 - 11)
    twice = torch.tensor([[1], [1]])
    assert call("ScatterNd", twice, torch.tensor([5, 6]), [3]).tolist() == [0, 11, 0]
    rows = torch.tensor([2, 0])
    assert call("ScatterUpdate", x.clone(), rows, -x[:2])[2].tolist() == [0, -1, -2, -3]
    assert call("ScatterAdd", x.clone(), twice[:, 0], x[:2])[1].tolist() == [8, 11, 14, 17]


def test_indices_of_tensors_and_their_mask() -> None:
    x, at = counted(3, 4, 5), torch.tensor([2, 0])
    assert torch.equal(call("IndexByTensor", x, [at, at], indices_mask=[1, 0, 1]), x[at, :, at])
    assert torch.equal(call("Index", x, [0, 1], [], [at]), x[:, at])
    one = torch.tensor(1)
    put = call("IndexPutV2", x.clone(), one, [1, 1], [], [at, at], accumulate=True)
    assert torch.equal(put - x, torch.zeros_like(x).index_put((at, at), one))
    with pytest.raises(ValueError, match="2 indices for the mask"):
        call("IndexByTensor", x, [at, at], indices_mask=[1, 0, 0])


def test_scatter_elements_reduces() -> None:
    x, at = torch.full((3,), 2.0), torch.tensor([1, 1])
    updates = torch.tensor([3.0, 4.0])
    wanted = {"none": 4, "add": 9, "mul": 24, "max": 4, "min": 2}
    for reduction, value in wanted.items():
        answer = call("ScatterElements", x, at, updates, reduction=reduction)
        assert answer.tolist() == [2, value, 2], reduction
        counted_back = call("ScatterElements", x, at - 3, updates, reduction=reduction)
        assert torch.equal(counted_back, answer)
    with pytest.raises(NotImplementedError, match="'median' is not available"):
        call("ScatterElements", x, at, updates, reduction="median")


def test_scatter_writes_each_batch_from_its_index_on() -> None:
    cache, new = torch.zeros(2, 3, 5, 4), torch.randn(2, 3, 2, 4)
    wanted = cache.clone()
    wanted[0, :, 3:5], wanted[1, :, 1:3] = new[0], new[1]
    at = torch.tensor([3, 1])
    changed = cache.clone()
    assert call("Scatter", changed, at, new, reduce="update", axis=-2) is changed
    assert torch.equal(changed, wanted)
    named = torch.tensor([[1, 1], [0, 3]])
    turned = call("Scatter", cache.clone(), named, new.flip(0), reduce="update", axis=2)
    assert torch.equal(turned, wanted)
    with pytest.raises(ValueError, match="do not fill the axes"):
        call("Scatter", cache, at, new[..., :3], reduce="update", axis=-2)
    with pytest.raises(ValueError, match="the axis is that of the batches"):
        call("Scatter", cache, at, new, reduce="update", axis=0)


def test_scatter_list_writes_where_the_mask_is_set() -> None:
    caches, new = [torch.zeros(2, 5, 3), torch.zeros(2, 5, 3)], torch.randn(2, 2, 1, 3)
    first, second = call(
        "ScatterList", caches, torch.tensor([4, 2]), new, torch.tensor([0, 1]), axis=-2
    )
    assert not first.any()
    assert (first is caches[0], second is caches[1]) == (True, True)
    assert torch.equal(second[:, 2:3], new[1])
    assert second.count_nonzero() == new[1].count_nonzero()


def test_index_add_and_tables() -> None:
    x, at = torch.zeros(3, 2), torch.tensor([1, 1], dtype=torch.int32)
    added = call("InplaceIndexAdd", x, at, torch.ones(2, 2), torch.tensor(0.5), axis=0)
    assert added.tolist() == [[0, 0], [1, 1], [0, 0]]
    grad = call("EmbeddingDenseGrad", torch.ones(2, 4), at.long(), num_weights=3)
    assert grad.sum(1).tolist() == [0, 8, 0]
    table, rows = torch.randn(6, 3), torch.tensor([[1, 2], [4, 4]])
    for mode in ("sum", "mean", "max"):
        bags = call("EmbeddingBag", table, rows, mode=mode)[0]
        torch.testing.assert_close(bags, functional.embedding_bag(rows, table, mode=mode))
        cut = call("EmbeddingBag", table, rows.flatten(), torch.tensor([0, 3]), mode=mode)[0]
        torch.testing.assert_close(
            cut, functional.embedding_bag(rows.flatten(), table, torch.tensor([0, 3]), mode=mode)
        )


@pytest.mark.parametrize(("axis", "shape"), [(-1, (2, 3, 4)), (0, (4, 2, 3)), (1, (2, 4, 3))])
def test_one_hot(axis: int, shape: tuple[int, ...]) -> None:
    x = torch.tensor([[0, 1, 3], [2, 0, -1]])
    hot = call("OneHot", x, 4, torch.tensor([5.0]), torch.tensor([-1.0]), axis=axis)
    assert hot.shape == shape
    wanted = torch.full((2, 3, 4), -1.0)
    wanted[x[..., None] == torch.arange(4)] = 5
    assert torch.equal(hot.movedim(axis, -1), wanted)


def test_a_shape_that_depends_on_values_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="known only when the graph runs"):
        call("NonZero", torch.ones(3))


def test_orders() -> None:
    x = torch.tensor([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]])
    values, places = call("Sort", x, axis=0, descending=True)
    assert (values[0].tolist(), places.dtype) == ([3, 5, 4], torch.int32)
    values, places = call("TopKV2", x, 2, dim=1, largest=False)
    assert (values.tolist(), places.tolist()) == ([[1, 2], [0, 4]], [[1, 2], [0, 2]])
    ordered, wanted = x.sort(1)[0], torch.tensor([[1.0, 2.5], [0.0, 9.0]])
    assert call("SearchSorted", ordered, wanted, right=True).tolist() == [[1, 2], [1, 3]]
    unordered = call("SearchSorted", x, wanted, x.argsort(1).int(), dtype=3)
    assert (unordered.tolist(), unordered.dtype) == ([[0, 2], [0, 3]], torch.int32)


MODES = {"constant": "constant", "reflect": "reflect", "edge": "edge", "symmetric": "symmetric"}
margins = st.tuples(st.integers(0, 2), st.integers(0, 2))


@pytest.mark.parametrize(("mode", "of_numpy"), MODES.items())
@given(sizes=st.tuples(margins, margins), together=st.booleans())
def test_margins_are_those_of_numpy(
    mode: str, of_numpy: str, *, sizes: tuple[tuple[int, int], ...], together: bool
) -> None:
    x = counted(3, 4)
    columns = sizes if together else tuple(zip(*sizes, strict=True))
    flat = [value for column in columns for value in column]
    padded = call("PadV3", x, flat, mode=mode, paddings_contiguous=together)
    np.testing.assert_array_equal(padded, np.pad(x.numpy(), sizes, of_numpy))  # type: ignore[call-overload]


@pytest.mark.parametrize("mode", ["reflect", "edge"])
def test_gradients_of_margins_are_those_of_autograd(mode: str) -> None:
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    paddings = [1, 2, 0, 3]
    padded = call("PadV3", x, paddings, mode=mode)
    grad = torch.randn_like(padded)
    padded.backward(grad)
    torch.testing.assert_close(call("PadV3Grad", grad, paddings, mode=mode), x.grad)


def test_values_and_cuts_at_the_margin() -> None:
    x = counted(2, 3)
    value = torch.tensor([7])
    assert torch.equal(
        call("PadV3", x, [-1, 1, 1, -1], value), functional.pad(x, (1, -1, -1, 1), value=7)
    )
    assert torch.equal(call("PadV2", x, [0, 1, 0, 0], value)[2], torch.full((3,), 7))
    assert torch.equal(call("Pad", x, [0, 1, 0, 0])[2], torch.zeros(3, dtype=x.dtype))
    mirrored = call("MirrorPad", x, [0, 0, 1, 1], mode="SYMMETRIC")
    assert mirrored[0].tolist() == [0, 0, 1, 2, 2]
    with pytest.raises(ValueError, match="too wide"):
        call("MirrorPad", x, [0, 0, 3, 0], mode="REFLECT")
    with pytest.raises(ValueError, match="3 paddings for 2 axes"):
        call("Pad", x, [0, 1, 0])
    with pytest.raises(NotImplementedError, match="'wrap' is not available"):
        call("PadV3", x, [0, 1, 0, 0], mode="wrap")
