"""Gradients of the lightning indexer and of sparse attention: those of the references."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch_npu

from opwright.reference.lightning_indexer import lightning_indexer
from opwright.reference.sparse_flash_attention import sparse_flash_attention
from tests.twin.ops.samples import normal

pytestmark = pytest.mark.filterwarnings("ignore:TypedStorage", "ignore:.*out-of-place gradient")
SHORT = torch.int32


def on(device: str, value: Any) -> Any:  # noqa: ANN401 - an argument of any operator
    return value.to(device) if isinstance(value, torch.Tensor) else value


def gradients(
    operator: Any,  # noqa: ANN401 - any
    device: str,
    given: list[torch.Tensor],
    result: int,
    options: dict[str, Any],
) -> list[torch.Tensor | None]:
    """Return the gradients of floating inputs and options for one that is drawn for a result."""
    leaves: list[torch.Tensor] = []

    def placed(value: Any) -> Any:  # noqa: ANN401 - as above
        moved = on(device, value)
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            moved = moved.detach().requires_grad_()
            leaves.append(moved)
        return moved

    arguments = [placed(each) for each in given]
    named = {key: placed(value) for key, value in options.items()}
    found = operator(*arguments, **named)[result]
    chosen = torch.isfinite(found.detach()) if result else torch.ones_like(found, dtype=torch.bool)
    grad = normal(*found.shape, seed=77, dtype=found.dtype).to(device)
    found.backward(grad * chosen)
    return [None if leaf.grad is None else leaf.grad.cpu() for leaf in leaves]


def compare(
    operator: Any,  # noqa: ANN401 - any
    reference: Any,  # noqa: ANN401 - any
    given: list[torch.Tensor],
    result: int,
    options: dict[str, Any],
) -> None:
    got = gradients(operator, "npu", given, result, options)
    want = gradients(reference, "cpu", given, result, options)
    for one, other in zip(got, want, strict=True):
        assert one is not None
        assert other is not None
        assert other.any()
        torch.testing.assert_close(one, other, rtol=2e-2, atol=2e-2)


def indexed(*, packed: bool) -> tuple[list[torch.Tensor], dict[str, Any]]:
    options: dict[str, Any] = {"sparse_count": 6, "return_value": True}
    if not packed:
        given = [normal(*s, seed=i) for i, s in enumerate([(2, 3, 8, 128), (2, 9, 1, 128)])]
        return [*given, normal(2, 3, 8, seed=3)], options
    given = [normal(*s, seed=i) for i, s in enumerate([(5, 8, 128), (16, 1, 128), (5, 8)])]
    return given, options | {
        "actual_seq_lengths_query": torch.tensor([2, 2, 5], dtype=SHORT),
        "actual_seq_lengths_key": torch.tensor([9, 11, 16], dtype=SHORT),
        "layout_query": "TND",
        "layout_key": "TND",
    }


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("mode", [0, 3])
def test_lightning_indexer(mode: int, packed: bool) -> None:  # noqa: FBT001
    given, options = indexed(packed=packed)
    options["sparse_mode"] = mode
    compare(torch_npu.npu_lightning_indexer, lightning_indexer, given, 1, options)


def attended(*, packed: bool, rope: bool = True) -> tuple[list[torch.Tensor], dict[str, Any]]:
    """A key that is named twice, one that is not seen, a row without keys, values of their own."""
    options: dict[str, Any] = {"attention_mode": 2, "return_softmax_lse": True}
    rows = [[0, 3, 3, -1], [5, 1, 0, 2], [-1, 2, 3, 1], [2, 8, 4, 0], [1, 0, -1, -1], [0, 1, 2, 3]]
    indices = torch.tensor(rows, dtype=SHORT)
    queries, keys = ((6, 4), (16, 1)) if packed else ((2, 3, 4), (2, 9, 1))
    if rope:
        options |= {
            "query_rope": normal(*queries, 64, seed=4),
            "key_rope": normal(*keys, 64, seed=5),
        }
    if packed:
        options |= {
            "actual_seq_lengths_query": torch.tensor([3, 3, 6], dtype=SHORT),
            "actual_seq_lengths_kv": torch.tensor([7, 9, 16], dtype=SHORT),
            "layout_query": "TND",
            "layout_kv": "TND",
        }
    operands = [normal(*queries, 512, seed=1), *(normal(*keys, 512, seed=i) for i in (2, 3))]
    return [*operands, indices.view(*queries[:-1], 1, 4)], options


def attention(operator: Any) -> Any:  # noqa: ANN401 - any
    return lambda *given, **options: operator(*given, 0.05, **options)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("mode", [0, 3])
@pytest.mark.parametrize("rope", [False, True])
@pytest.mark.parametrize("block", [1, 2])
def test_sparse_flash_attention(mode: int, packed: bool, rope: bool, block: int) -> None:  # noqa: FBT001
    given, options = attended(packed=packed, rope=rope)
    options |= {"sparse_mode": mode, "sparse_block_size": block}
    compare(
        attention(torch_npu.npu_sparse_flash_attention),
        attention(sparse_flash_attention),
        given,
        0,
        options,
    )


def test_a_key_that_is_the_value_has_both_gradients() -> None:
    (query, key, _, indices), options = attended(packed=False)

    def shared(operator: Any) -> Any:  # noqa: ANN401 - any
        return lambda query, key, indices, **rest: operator(query, key, key, indices, 0.05, **rest)

    compare(
        shared(torch_npu.npu_sparse_flash_attention),
        shared(sparse_flash_attention),
        [query, key, indices],
        0,
        options,
    )


def refusal(operator: Any, given: list[torch.Tensor], result: int, options: dict[str, Any]) -> str:  # noqa: ANN401 - any
    with pytest.raises(RuntimeError) as caught:
        gradients(operator, "npu", given, result, options)
    return str(caught.value)


def test_statistics_and_scores_are_needed() -> None:
    given, options = attended(packed=False)
    options["return_softmax_lse"] = False
    text = refusal(attention(torch_npu.npu_sparse_flash_attention), given, 0, options)
    assert "parameters 'softmax_max' and 'softmax_sum' are empty; for gradients, call" in text
    assert "npu_sparse_flash_attention with return_softmax_lse=True" in text
    given, options = indexed(packed=False)
    options["return_value"] = False
    text = refusal(torch_npu.npu_lightning_indexer, given, 1, options)
    assert "parameter 'dy' is empty; for gradients, call npu_lightning_indexer with" in text


def test_pages_have_no_gradients() -> None:
    """torch_npu does not pass the block table to the gradient."""
    given, options = attended(packed=False, rope=False)
    given[1:3] = [normal(4, 16, 1, 512, seed=i) for i in (1, 2)]
    options |= {
        "actual_seq_lengths_kv": torch.tensor([7, 9], dtype=SHORT),
        "layout_kv": "PA_BSND",
        "block_table": torch.tensor([[0], [1]], dtype=SHORT),
    }
    text = refusal(attention(torch_npu.npu_sparse_flash_attention), given, 0, options)
    assert "parameter 'key' has shape [4, 16, 1, 512]" in text
    assert "gradients are available for keys in the query's layout, not for pages" in text


def test_sinks_have_no_gradient() -> None:
    """So says torch_npu."""
    given, options = attended(packed=False)
    options["sinks"] = torch.zeros(4)
    text = refusal(attention(torch_npu.npu_sparse_flash_attention), given, 0, options)
    assert "sinks" in text


def test_a_quantised_cache_has_no_gradient() -> None:
    query, indices = normal(1, 2, 4, 576, seed=1), torch.zeros(1, 2, 1, 2, dtype=SHORT)
    cache = torch.zeros(1, 6, 1, 656, dtype=torch.int8)

    def attention(*given: torch.Tensor) -> list[torch.Tensor]:
        return [torch_npu.npu_kv_quant_sparse_flash_attention(*given, 0.1, 2, 2, attention_mode=2)]

    text = refusal(attention, [query, cache, cache, indices], 0, {})
    assert text == "derivative for npu::npu_kv_quant_sparse_flash_attention is not implemented"


def test_indices_have_no_gradient() -> None:
    given, options = indexed(packed=False)
    weights = given[2].to("npu").requires_grad_()
    found, _ = torch_npu.npu_lightning_indexer(
        *(x.to("npu") for x in given[:2]), weights, **options
    )
    assert not found.requires_grad
