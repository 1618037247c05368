"""The gated delta rule, token by token: native/opapi/ops/attention/gated_delta_rule.cpp."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.ops.compare import agree, rejects, run_on_npu
from tests.twin.ops.samples import normal

KEY_HEADS, HEADS, WIDTH, VALUE = 2, 4, 8, 6
LENGTHS = [3, 1, 4]
TOKENS = sum(LENGTHS)


def operands(dtype: torch.dtype = torch.bfloat16) -> dict[str, torch.Tensor]:
    return {
        "query": torch.nn.functional.normalize(normal(TOKENS, KEY_HEADS, WIDTH), dim=-1).to(dtype),
        "key": torch.nn.functional.normalize(normal(TOKENS, KEY_HEADS, WIDTH, seed=1), dim=-1).to(
            dtype
        ),
        "value": normal(TOKENS, HEADS, VALUE, dtype=dtype, seed=2),
        "beta": normal(TOKENS, HEADS, seed=3).float().sigmoid().to(dtype),
        "g": -normal(TOKENS, HEADS, dtype=torch.float32, seed=4).abs(),
    }


def sequence(
    state: torch.Tensor, tokens: range, gk: torch.Tensor | None, **given: torch.Tensor
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """The results of one sequence and the state after each token, in float64."""
    given = {name: tensor.double() for name, tensor in given.items()}
    state, out, states = state.double().clone(), [], []
    for t in tokens:
        rows = []
        for head in range(HEADS):
            q, k = (given[name][t, head * KEY_HEADS // HEADS] for name in ("query", "key"))
            decay = given["g"][t, head].exp() if "g" in given else torch.ones(())
            if gk is not None:
                decay = decay * gk[t, head].double().exp()
            decayed = state[head] * decay
            beta = given["beta"][t, head] if "beta" in given else 1
            state[head] = decayed + torch.outer((given["value"][t, head] - decayed @ k) * beta, k)
            rows.append(state[head] @ q * 0.5)
        out.append(torch.stack(rows))
        states.append(state.clone())
    return torch.stack(out), states


@pytest.mark.parametrize("given", [("beta", "g", "gk"), ("beta", "g"), ("g",), ()], ids=str)
@pytest.mark.parametrize("accepted", [None, [2, 1, 3]])
def test_recurrent(given: tuple[str, ...], accepted: list[int] | None) -> None:
    """The state after each token is stored in the place of the token."""
    tensors = operands()
    gk = -normal(TOKENS, HEADS, WIDTH, dtype=torch.float32, seed=6).abs() if "gk" in given else None
    for name in ("beta", "g"):
        if name not in given:
            del tensors[name]
    places = torch.randperm(TOKENS + 2, generator=torch.Generator().manual_seed(3))[:TOKENS]
    state = normal(TOKENS + 2, HEADS, VALUE, WIDTH, dtype=torch.bfloat16, seed=5)
    expected_state, expected, start = state.clone(), [], 0
    for i, length in enumerate(LENGTHS):
        first = start + (accepted[i] if accepted else 1) - 1
        tokens = range(start, start + length)
        out, states = sequence(expected_state[places[first]], tokens, gk, **tensors)
        expected.append(out)
        for token, left in zip(tokens, states, strict=True):
            expected_state[places[token]] = left.to(state.dtype)
        start += length
    options = {name: tensor.to("npu") for name, tensor in tensors.items() if name in ("beta", "g")}
    if gk is not None:
        options["gk"] = gk.to("npu")
    if accepted:
        options["num_accepted_tokens"] = torch.tensor(accepted, dtype=torch.int32).to("npu")
    inputs = [tensors[name].to("npu") for name in ("query", "key", "value")]
    options |= {
        "actual_seq_lengths": torch.tensor(LENGTHS, dtype=torch.int32).to("npu"),
        "ssm_state_indices": places.int().to("npu"),
    }
    out, new_state = torch_npu.npu_recurrent_gated_delta_rule_functional(
        *inputs, state.to("npu"), scale=0.5, **options
    )
    agree(out, torch.cat(expected).bfloat16())
    agree(new_state, expected_state)
    in_place = state.to("npu")
    agree(
        torch_npu.npu_recurrent_gated_delta_rule(*inputs, in_place, scale=0.5, **options), out.cpu()
    )
    agree(in_place, expected_state)


def test_chunked() -> None:
    tensors = operands()
    state = normal(len(LENGTHS), HEADS, VALUE, WIDTH, dtype=torch.bfloat16, seed=5)
    expected, final, start = [], [], 0
    for i, length in enumerate(LENGTHS):
        out, states = sequence(state[i], range(start, start + length), None, **tensors)
        expected.append(out)
        final.append(states[-1])
        start += length
    actual = run_on_npu(
        torch_npu.npu_chunk_gated_delta_rule,
        *(tensors[name] for name in ("query", "key", "value")),
        beta=tensors["beta"],
        g=tensors["g"],
        initial_state=state,
        actual_seq_lengths=torch.tensor(LENGTHS, dtype=torch.int32),
        scale=0.5,
    )
    agree(actual, (torch.cat(expected).bfloat16(), torch.stack(final).bfloat16()))


def test_gated_delta_rule_refuses_wrong_calls() -> None:
    tensors = operands()
    inputs = [tensors[name] for name in ("query", "key", "value")]
    state = normal(len(LENGTHS), HEADS, VALUE, WIDTH, dtype=torch.bfloat16)
    rejects(
        "actualSeqLengths",
        torch_npu.npu_chunk_gated_delta_rule,
        *inputs,
        beta=tensors["beta"],
        initial_state=state,
        actual_seq_lengths=torch.tensor([5, 9, 1], dtype=torch.int32),
        scale=1.0,
    )
    rejects(
        "ssmStateIndices",
        torch_npu.npu_recurrent_gated_delta_rule,
        *inputs,
        normal(TOKENS, HEADS, VALUE, WIDTH, dtype=torch.bfloat16),
        scale=1.0,
        actual_seq_lengths=torch.tensor(LENGTHS, dtype=torch.int32),
        ssm_state_indices=torch.full((TOKENS,), TOKENS, dtype=torch.int32),
    )
