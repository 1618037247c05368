"""Behaviour of both builds; test_built.py runs this where the library is loaded."""

from __future__ import annotations

import os
from typing import Any

import pytest
import torch
import torch_npu  # noqa: F401 - the device
from torch import Tensor
from torch.testing import assert_close

torch.ops.load_library(os.environ["OPWRIGHT_TEST_LIBRARY"])  # type: ignore[no-untyped-call]
demo = torch.ops.demo


def npu(*shape: int) -> Tensor:
    return torch.randn(*shape).to("npu")


def test_a_number_arrives_in_the_functions_own_type() -> None:
    x, y = npu(3, 4), npu(3, 4)
    assert_close(demo.scale_add(x, y, alpha=2.5).cpu(), x.cpu() + 2.5 * y.cpu())


def test_strides_and_offsets_arrive() -> None:
    x, y = npu(4, 3), npu(5, 4)
    assert_close(demo.scale_add(x.t(), y[2:]).cpu(), x.cpu().t() + y.cpu()[2:])


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (Tensor.half, "argument 'y' has dtype Half"),
        (lambda y: y[:2], "argument 'y' has axes [2, 4]; '*S' asks for [3, 4]"),
        (Tensor.cpu, "argument"),
    ],
)
def test_an_argument_that_breaks_a_rule_is_reported(spoil: Any, text: str) -> None:  # noqa: ANN401 - a function
    x, y = npu(3, 4), npu(3, 4)
    with pytest.raises((RuntimeError, TypeError, ValueError)) as raised:
        demo.scale_add(x, spoil(y))
    assert text in str(raised.value)


def test_an_out_argument_is_written_and_returned() -> None:
    x, y, out = npu(3, 4), npu(3, 4), npu(3, 4)
    returned = demo.scale_add(x, y, alpha=3.0, out=out)
    assert returned.data_ptr() == out.data_ptr()
    assert_close(out.cpu(), x.cpu() + 3 * y.cpu())


def test_outputs_have_the_shapes_of_tensors_of_a_list() -> None:
    parts = [npu(2, 3), npu(2, 3)]
    whole, first, last = demo.stack_parts(parts)
    assert_close(whole.cpu(), torch.stack([each.cpu() for each in parts]))
    assert_close(first.cpu(), parts[0].cpu())
    assert_close(last.cpu(), torch.ones(6))


def test_a_list_that_must_not_be_empty_is_named() -> None:
    with pytest.raises((IndexError, RuntimeError), match="argument 'parts' has 0 tensor"):
        demo.scale_first([], npu(2, 3))


@pytest.mark.parametrize("slots", [[1, 3], None])
def test_a_written_argument_is_written_and_returned(slots: list[int] | None) -> None:
    cache, value = torch.zeros(5, 4).to("npu"), npu(2 if slots else 5, 4)
    places = None if slots is None else torch.tensor(slots).to("npu")
    returned = demo.cache_write_(cache, value, places)
    assert returned.data_ptr() == cache.data_ptr()
    expected = torch.zeros(5, 4)
    expected[slots or slice(None)] = value.cpu()
    assert_close(cache.cpu(), expected)


def test_an_operator_without_results_writes() -> None:
    cache = torch.ones(5, 4).to("npu")
    assert demo.cache_clear(cache, torch.arange(8).to("npu")[1::2][:2]) is None
    assert_close(cache.cpu().sum(1), torch.tensor([4.0, 0, 4, 0, 4]))


@pytest.mark.parametrize("has_total", [True, False])
def test_what_is_written_may_be_a_list_or_missing(*, has_total: bool) -> None:
    total = torch.zeros(4, 3).to("npu").t() if has_total else None  # not contiguous
    parts, x = [npu(3, 4), npu(3, 4)], npu(3, 4)
    before = [each.cpu() for each in parts]
    *new, new_parts = demo.merge_functional(total, parts, x)
    assert len(new) == 1
    assert (new[0] is None) == (not has_total)
    for each, new_part, old in zip(parts, new_parts, before, strict=True):
        assert_close(each.cpu(), old)
        assert_close(new_part.cpu(), old + x.cpu())
    demo.merge(total, parts, x)
    for each, old in zip(parts, before, strict=True):
        assert_close(each.cpu(), old + x.cpu())
    if total is not None:
        assert_close(total.cpu(), x.cpu())


def test_a_functional_twin_leaves_its_argument() -> None:
    cache, value, slots = torch.zeros(5, 4).to("npu"), npu(2, 4), torch.tensor([0, 4]).to("npu")
    written = demo.cache_write_functional(cache, value, slots)
    assert_close(cache.cpu(), torch.zeros(5, 4))
    assert_close(written.cpu()[[0, 4]], value.cpu())


def test_several_outputs_have_their_shapes_and_dtypes() -> None:
    x, weight = npu(2, 3, 8).half(), npu(8).half()
    y, rstd = demo.row_norm(x, weight, eps=1e-5)
    assert (y.dtype, rstd.dtype, rstd.shape) == (torch.float16, torch.float32, (2, 3, 1))
    expected = torch.rsqrt(x.cpu().float().pow(2).mean(-1, keepdim=True) + 1e-5)
    assert_close(rstd.cpu(), expected)
    with pytest.raises((RuntimeError, ValueError), match="asks for 8"):
        demo.row_norm(x, weight[:4])


def test_lists_texts_and_none_arrive() -> None:
    query, key, mask = npu(2, 3, 8), npu(2, 5, 8), npu(3, 5)
    out = demo.attend(
        *(query,),
        key=key,
        mask=mask,
        window=[1, 2],
        slopes=[0.5, 0.25],
        layout="BNSD",
        extras=[mask, mask],
        scale=0.5,
    )
    expected = query.cpu() @ key.cpu().transpose(-1, -2) * 0.5 + 3 * mask.cpu() + 103.75
    assert_close(out.cpu(), expected)
    assert demo.attend(query, key=key, extras=[], dtype=torch.float16).dtype == torch.float16


def test_constants_flags_and_shape_expressions() -> None:
    x = npu(6, 4)
    out = demo.tile_pad(x, 3, [1, 2], [True, False, True], [x, None, x])
    assert out.shape == (6, 7, 3)
    assert_close(out.cpu(), torch.full((6, 7, 3), 3 + 30 + 200 + 2000 - 1.5 + 5 + 2))
    for multiple in (4, 0):
        with pytest.raises((RuntimeError, ValueError), match="does not hold"):
            demo.tile_pad(x, multiple, [1, 2], [], [])
    with pytest.raises((RuntimeError, ValueError), match="demo::tile_pad: argument 'multiple'"):
        demo.tile_pad(x[:0], 2**33, [1, 2], [], [])


@pytest.mark.parametrize(
    ("dim", "keep"), [(None, False), ([1], False), ([-1, 0], True), ([], True)]
)
def test_reductions_and_broadcasts(dim: list[int] | None, keep: bool) -> None:  # noqa: FBT001 - a case
    x, y = npu(2, 3, 4), npu(3, 1)
    total, both = demo.sum_to(x, y, dim, keep)
    expected = x.cpu().sum(dim or None, keep) if dim or keep else x.cpu().sum()
    assert total.shape == expected.shape
    assert_close(both.cpu(), x.cpu() + y.cpu())


def test_order_with_queued_operators() -> None:
    x = torch.ones(1 << 20).to("npu")
    wrong = 0
    for factor in range(50):
        produced = x + 1 + 1 + 1
        consumed = demo.scale_add(produced, x, alpha=float(factor)) * 2
        del produced
        wrong += not bool((consumed[:: 1 << 16] == 2 * (4 + factor)).all())
    assert wrong == 0


def test_a_dtype_that_is_an_argument_and_an_axis_from_the_end() -> None:
    x = npu(2, 3)
    out = demo.sum_as(x, -1, torch.float16)
    assert out.dtype == torch.float16
    assert_close(out.cpu(), x.cpu().sum(-1).half())
    with pytest.raises((RuntimeError, ValueError), match=r"axis < x[.]ndim' does not"):
        demo.sum_as(x, -3, torch.float16)
    with pytest.raises((RuntimeError, ValueError), match="allows -1, 0"):
        demo.sum_as(x, 1, torch.float16)


def test_a_tensor_without_axes_is_a_result_and_an_argument() -> None:
    x, weight = npu(2, 3), torch.tensor(2.0).to("npu")
    out = demo.dot(x, weight)
    assert out.shape == ()
    assert_close(out.cpu(), x.cpu().sum() * 2)
    with pytest.raises((RuntimeError, ValueError), match="argument 'weight' has 1 axes"):
        demo.dot(x, npu(1))


def test_a_list_of_results_is_like_a_list() -> None:
    parts = [npu(2, 3), npu(4).half()]
    scaled = demo.scale_parts(parts, 2.0)
    assert [each.dtype for each in scaled] == [torch.float32, torch.float16]
    for part, each in zip(parts, scaled, strict=True):
        assert_close(each.cpu(), part.cpu() * 2)


def test_lists_of_results_have_the_numbers_and_shapes_of_their_rules() -> None:
    x = npu(4, 3).half()
    total, pieces, same = demo.cut(x, [1, 0, 4], 2)
    assert (total.shape, total.dtype) == ((), torch.float32)
    assert [each.shape for each in pieces] == [(1, 3), (0, 3), (4, 3)]
    for each in (pieces[2], *same):
        assert_close(each.cpu(), x.cpu())
    assert [len(each) for each in demo.cut(x, [], 0)[1:]] == [0, 0]
