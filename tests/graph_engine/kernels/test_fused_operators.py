"""torch_npu's fused operators in max-autotune mode: what the engine answers is eager's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
import torch_npu
import torchair  # noqa: F401 - isolated tests are forked from a process that has it

from tests.graph_engine.agreement import compiled, drawn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    # A function, and what it is called with.
    Cases = dict[str, tuple[Callable[..., object], Sequence[torch.Tensor]]]


def drawn_whole(*sizes: int) -> torch.Tensor:
    return drawn(*sizes, dtype=torch.float32)


def normalizations() -> Cases:
    x = drawn(2, 5, 16)
    return {
        "rms": (torch_npu.npu_rms_norm, [x, drawn(16)]),
        "rms float32": (
            lambda x, g: torch_npu.npu_rms_norm(x, g, epsilon=1e-2),
            [x.float(), drawn_whole(16)],
        ),
        "rms gradient": (
            lambda x, dy, g, r: torch.ops.npu.npu_rms_norm_backward(dy, x, g, r),
            [x.float(), drawn_whole(2, 5, 16), drawn_whole(16), drawn_whole(2, 5, 1)],
        ),
        "add": (torch_npu.npu_add_rms_norm, [x, drawn(2, 5, 16), drawn(16)]),
        "add and cast": (torch_npu.npu_add_rms_norm_cast, [x, drawn(2, 5, 16), drawn(16)]),
        "group and silu": (
            lambda x, w, b: torch_npu.npu_group_norm_silu(x, w, b, 2, 1e-3),
            [drawn_whole(2, 4, 3, 3), drawn_whole(4), drawn_whole(4)],
        ),
    }


def gates() -> Cases:
    x = drawn(2, 5, 16)
    return {
        "swiglu": (torch_npu.npu_swiglu, [x]),
        "swiglu, first axis": (lambda x: torch_npu.npu_swiglu(x, 0), [x]),
        "swiglu gradient": (
            lambda x, dy: torch.ops.npu.npu_swiglu_backward(dy, x, -1),
            [x, drawn(2, 5, 8)],
        ),
        "geglu": (torch_npu.npu_geglu, [x]),
        "gelu": (lambda x: torch_npu.npu_gelu(x, approximate="tanh"), [x.float()]),
        "fast gelu": (torch_npu.npu_fast_gelu, [x.float()]),
        "rotary": (
            torch_npu.npu_rotary_mul,
            [drawn(2, 3, 4, 64), drawn(2, 3, 1, 64), drawn(2, 3, 1, 64)],
        ),
        "query and key": (
            lambda q, k, c, s: torch_npu.npu_apply_rotary_pos_emb(q, k, c, s, "BSND"),
            [drawn(2, 3, 4, 128), drawn(2, 3, 2, 128), drawn(2, 3, 1, 128), drawn(2, 3, 1, 128)],
        ),
    }


def attention() -> Cases:
    later = torch.triu(torch.ones(2048, 2048, dtype=torch.bool), 1).to("npu")
    mask = (torch.rand(2, 1, 6, 10) > 0.7).to("npu")
    by_head = drawn(2, 4, 6, 16), drawn(2, 2, 10, 16), drawn(2, 2, 10, 16)
    joined = drawn(2, 6, 64), drawn(2, 10, 32), drawn(2, 10, 32)
    pages = torch.tensor([[3, 1], [4, -1]], dtype=torch.int32).to("npu")
    train = torch_npu.npu_fusion_attention
    infer = torch_npu.npu_fused_infer_attention_score
    few: dict[str, Any] = {"num_heads": 4, "num_key_value_heads": 2, "scale": 0.3}
    lengths: dict[str, Any] = {"actual_seq_lengths": [6, 4], "actual_seq_lengths_kv": [9, 7]}
    return {
        "training": (
            lambda q, k, v, m: train(q, k, v, 4, "BSH", atten_mask=m, scale=0.3)[:3],
            [*joined, mask],
        ),
        "training, causal": (
            lambda q, k, v, m: train(q, k, v, 4, "BNSD", atten_mask=m, scale=0.3, sparse_mode=3)[
                :3
            ],
            [*by_head, later],
        ),
        "lengths and mask": (
            lambda q, k, v, m: infer(
                q, k, v, atten_mask=m, softmax_lse_flag=True, input_layout="BSH", **few, **lengths
            ),
            [*joined, mask],
        ),
        "lengths, causal": (
            lambda q, k, v, m: infer(
                *(q, k, v),
                atten_mask=m,
                softmax_lse_flag=True,
                input_layout="BNSD",
                sparse_mode=3,
                **few,
                **lengths,
            ),
            [*by_head, later],
        ),
        "band": (
            lambda q, k, v, m: infer(
                *(q, k, v),
                atten_mask=m,
                input_layout="BSND",
                sparse_mode=4,
                pre_tokens=3,
                next_tokens=1,
                **few,
            )[0],
            [*(x.transpose(1, 2).contiguous() for x in by_head), later],
        ),
        "one step": (
            lambda q, k, v: infer(
                q, k, v, input_layout="BNSD_BSND", actual_seq_lengths_kv=[9, 7], **few
            )[0],
            [drawn(2, 4, 1, 16), *by_head[1:]],
        ),
        "pages": (
            lambda q, k, v, t: infer(
                *(q, k, v),
                input_layout="BSH",
                block_table=t,
                block_size=16,
                actual_seq_lengths_kv=[20, 7],
                **few,
            )[0],
            [drawn(2, 1, 64), drawn(5, 16, 32), drawn(5, 16, 32), pages],
        ),
    }


def error_of(function: Callable[..., object], given: Sequence[torch.Tensor]) -> str:
    """Return why a function does not answer what it answers eagerly; "" if it does."""
    try:
        wanted = function(*(tensor.clone() for tensor in given))
        got = compiled(function)(*(tensor.clone() for tensor in given))
        assert type(wanted) is type(got)
        ours, theirs = ([*each] if isinstance(each, tuple) else [each] for each in (got, wanted))
        for one, other in zip(ours, theirs, strict=True):
            exact = other.dtype == torch.float32
            limit = 1e-5 if exact else 2e-3  # half precision is rounded once in both
            torch.testing.assert_close(one, other, rtol=limit, atol=limit)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is reported
        return f"{type(error).__name__}: {error}"
    return ""


@pytest.mark.isolated
@pytest.mark.parametrize("make", [normalizations, gates, attention])
def test_fused_operators_answer_what_eager_does(make: Callable[[], Cases]) -> None:
    torch.manual_seed(7)
    errors = {name: error_of(*case) for name, case in make().items()}
    failed = [f"{name}, {error}" for name, error in errors.items() if error]
    assert not failed, "\n\n".join(failed)
