"""LSTM and GRU networks and their gradients: native/opapi/ops/rnn/lstm.cpp, gru.cpp."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TypeAlias

import pytest
import torch
from torch import nn

from tests.twin.aclnn_calls import call
from tests.twin.ops.compare import rejects
from tests.twin.ops.samples import normal

LSTM = torch.ops.npu._lstm_npu  # noqa: SLF001
Network: TypeAlias = nn.LSTM | nn.GRU
STEPS, BATCH, FEATURES, HIDDEN = 5, 3, 4, 6
TOLERANCES = {torch.float32: 2e-5, torch.float16: 3e-3}
SHAPES = [
    pytest.param(layers, bias, bidirectional, batch_first)
    for layers, bias, bidirectional, batch_first in product(
        (1, 2), (True, False), (True, False), (True, False)
    )
]


def network(
    kind: type[Network],
    *,
    layers: int = 1,
    bias: bool = True,
    bidirectional: bool = False,
    batch_first: bool = False,
) -> Network:
    torch.manual_seed(2)
    return kind(
        FEATURES,
        HIDDEN,
        num_layers=layers,
        bias=bias,
        bidirectional=bidirectional,
        batch_first=batch_first,
    )


numbers = partial(normal, dtype=torch.float32, seed=5)


def gru(*arguments: object, **options: object) -> tuple[torch.Tensor, ...]:
    """Not every release of torch_npu has it."""
    results: tuple[torch.Tensor, ...] = torch.ops.npu._gru_npu(*arguments, **options)  # noqa: SLF001
    return results


def near(actual: torch.Tensor, expected: torch.Tensor, dtype: torch.dtype = torch.float32) -> None:
    assert actual.dtype == dtype
    tolerance = TOLERANCES[dtype]
    torch.testing.assert_close(
        actual.detach().cpu().float(), expected.detach().float(), rtol=tolerance, atol=tolerance
    )


def reference(
    rnn: Network, x: torch.Tensor, states: tuple[torch.Tensor, ...]
) -> tuple[torch.Tensor, ...]:
    """The network on the CPU in float32: results, then gradients of input, states and weights."""
    wide = type(rnn)(
        rnn.input_size,
        rnn.hidden_size,
        num_layers=rnn.num_layers,
        bias=rnn.bias,
        bidirectional=rnn.bidirectional,
        batch_first=rnn.batch_first,
    )
    wide.load_state_dict({name: value.float() for name, value in rnn.state_dict().items()})
    inputs = [tensor.float().requires_grad_() for tensor in (x, *states)]
    hx = tuple(inputs[1:]) if len(states) > 1 else inputs[1]
    y, last = wide(inputs[0], hx)
    results = (y, *last) if isinstance(last, tuple) else (y, last)
    seeds = [numbers(*result.shape, seed=9) for result in results]
    return (*results, *torch.autograd.grad(results, [*inputs, *wide.parameters()], seeds))


def on_npu(
    rnn: Network, x: torch.Tensor, states: tuple[torch.Tensor, ...]
) -> tuple[torch.Tensor, ...]:
    """The same through torch_npu's own operator, which takes any number of layers."""
    inputs = [tensor.to("npu").requires_grad_() for tensor in (x, *states)]
    weights = [weight.detach().to("npu").requires_grad_() for weight in rnn.parameters()]
    options = (rnn.bias, rnn.num_layers, 0.0, True, rnn.bidirectional)
    if len(states) > 1:
        results = LSTM(inputs[0], inputs[1:], weights, *options, batch_first=rnn.batch_first)[:3]
    else:
        results = gru(inputs[0], inputs[1], weights, *options, batch_first=rnn.batch_first)[:2]
    seeds = [numbers(*result.shape, dtype=x.dtype, seed=9).to("npu") for result in results]
    return (*results, *torch.autograd.grad(results, [*inputs, *weights], seeds))


@pytest.mark.parametrize(("layers", "bias", "bidirectional", "batch_first"), SHAPES)
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_all_results_and_gradients(
    kind: type[Network],
    layers: int,
    bias: bool,  # noqa: FBT001
    bidirectional: bool,  # noqa: FBT001
    batch_first: bool,  # noqa: FBT001
) -> None:
    count = layers * (2 if bidirectional else 1)
    for dtype in TOLERANCES:
        rnn = network(
            kind, layers=layers, bias=bias, bidirectional=bidirectional, batch_first=batch_first
        ).to(dtype)
        shape = (BATCH, STEPS, FEATURES) if batch_first else (STEPS, BATCH, FEATURES)
        states = [numbers(count, BATCH, HIDDEN, dtype=dtype, seed=7 + i) for i in range(2)]
        hx = tuple(states if kind is nn.LSTM else states[:1])
        x = numbers(*shape, dtype=dtype)
        expected, actual = reference(rnn, x, hx), on_npu(rnn, x, hx)
        for one, other in zip(actual, expected, strict=True):
            near(one, other, dtype)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_modules_train(kind: type[Network]) -> None:
    """The public module, whose initial state is left out, gives CPU's losses."""
    losses: list[list[float]] = []
    for device in ("cpu", "npu"):
        rnn = network(kind).to(device)
        optimizer = torch.optim.SGD(rnn.parameters(), lr=0.5)
        x = numbers(STEPS, BATCH, FEATURES).to(device)
        losses.append([])
        for _ in range(3):
            y, _ = rnn(x)
            loss = y.square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses[-1].append(loss.item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_without_training(kind: type[Network]) -> None:
    rnn = network(kind, bidirectional=True, batch_first=True).eval()
    x = numbers(1, 1, FEATURES)
    with torch.no_grad():
        expected, actual = rnn(x)[0], npu_output(rnn, x)
    near(actual, expected)


def npu_output(rnn: Network, x: torch.Tensor) -> torch.Tensor:
    state = torch.zeros(2, x.size(0), HIDDEN).to("npu")
    weights = [weight.to("npu") for weight in rnn.parameters()]
    options = (True, 1, 0.0, False, True)
    placed, batch_first = x.to("npu"), {"batch_first": True}
    y: torch.Tensor
    if isinstance(rnn, nn.LSTM):
        y = LSTM(placed, [state, state], weights, *options, **batch_first)[0]
    else:
        y = gru(placed, state, weights, *options, **batch_first)[0]
    return y


@pytest.mark.parametrize("bidirectional", [False, True])
def test_packed_sequences(bidirectional: bool) -> None:  # noqa: FBT001
    """torch_npu's packed data keeps the padding; results behind the end of a sequence are 0."""
    lengths = torch.tensor([5, 3, 2])
    rnn = network(nn.LSTM, layers=2, bidirectional=bidirectional)
    x = numbers(STEPS, BATCH, FEATURES).requires_grad_()
    packed = nn.utils.rnn.pack_padded_sequence(x, lengths)
    y, (h, c) = rnn(packed)
    padded, _ = nn.utils.rnn.pad_packed_sequence(y)
    results = (padded, h, c)
    seeds = [numbers(*result.shape, seed=9) for result in results]
    gradients = torch.autograd.grad(results, [x, *rnn.parameters()], seeds)

    count = 4 if bidirectional else 2
    flat = x.detach().flatten(0, 1).to("npu").requires_grad_()
    state = torch.zeros(count, BATCH, HIDDEN).to("npu")
    weights = [weight.detach().to("npu").requires_grad_() for weight in rnn.parameters()]
    sizes = packed.batch_sizes.to("npu")
    options = (True, 2, 0.0, True, bidirectional)
    actual = LSTM(flat, [state, state], weights, *options, batch_sizes=sizes)[:3]
    for one, other in zip(actual, results, strict=True):
        near(one, other)
    grads = torch.autograd.grad(actual, [flat, *weights], [seed.to("npu") for seed in seeds])
    near(grads[0].view(STEPS, BATCH, FEATURES), gradients[0])
    for one, other in zip(grads[1:], gradients[1:], strict=True):
        near(one, other)


def test_one_result_alone_has_gradients() -> None:
    rnn = network(nn.LSTM)
    x = numbers(STEPS, BATCH, FEATURES)
    for which in range(2):
        grads: list[torch.Tensor] = []
        for device in ("cpu", "npu"):
            placed = x.clone().to(device).requires_grad_()
            y, (h, _) = rnn.to(device)(placed)
            grads += torch.autograd.grad((y, h)[which].sum(), placed)
        near(grads[1], grads[0])


def test_states_that_do_not_fit_are_refused() -> None:
    rnn = network(nn.GRU)
    weights, x = list(rnn.parameters()), numbers(STEPS, BATCH, FEATURES)
    options = (True, 1, 0.0, True, False)
    rejects("hx has the shape", gru, x, numbers(2, 3, 6), weights, *options)
    two_layers = (True, 2, *options[2:])
    rejects("params has 4", gru, x, numbers(2, 3, 6), weights, *two_layers)
    sizes = torch.tensor([3, 3, 3, 2, 1])
    flat = x.flatten(0, 1)
    rejects(
        "no packed sequences",
        gru,
        flat,
        numbers(1, 3, 6),
        weights,
        *options,
        batch_sizes=sizes,
    )


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_a_short_list_of_weight_gradients_is_refused(kind: type[Network]) -> None:
    """A C program can pass more than torch_npu's lists."""
    weights = [weight.detach().to("npu") for weight in network(kind).parameters()]
    x, y = (numbers(STEPS, BATCH, size).to("npu") for size in (FEATURES, HIDDEN))
    state = numbers(1, BATCH, HIDDEN).to("npu")
    no, grads = False, weights[:3]
    gru = [
        *(x, weights, state, y, state, *([y],) * 5),
        *(None, True, 1, no, no, x, state, grads),
    ]
    lstm = [
        *(x, [state, state], weights, y, state, state, *([y],) * 7),
        *(None, True, 1, 0.0, True, no, no, None, x, state, state, grads),
    ]
    function, arguments = ("GRUBackward", gru) if kind is nn.GRU else ("LstmBackward", lstm)
    words = "dparamsOut has 3 tensors; needed: 4"
    rejects(words, call, f"aclnn{function}", *arguments)


@pytest.mark.filterwarnings(
    "ignore:LSTM fallback to acl_op",
    "ignore:Cannot create tensor with NZ",
    "ignore:.*is deprecated and will be removed",
)
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_modules_of_any_kind(
    kind: type[Network],
    bias: bool,  # noqa: FBT001
    bidirectional: bool,  # noqa: FBT001
    layers: int,
) -> None:
    """torch_npu computes what its own operators do not take with legacy operators."""
    rnn = network(kind, layers=layers, bias=bias, bidirectional=bidirectional)
    count = layers * (2 if bidirectional else 1)
    for dtype, tolerance in ((torch.float32, 1e-5), (torch.bfloat16, 6e-2)):
        x = numbers(STEPS, BATCH, FEATURES).to(dtype).float()
        weights = {name: value.to(dtype).float() for name, value in rnn.state_dict().items()}
        rnn.load_state_dict(weights)
        results = []
        for device, kept in (("cpu", torch.float32), ("npu", dtype)):
            copied = network(kind, layers=layers, bias=bias, bidirectional=bidirectional)
            copied.load_state_dict(weights)
            copied = copied.to(device, kept)
            placed = x.clone().to(device, kept).requires_grad_()
            first = numbers(count, BATCH, HIDDEN).to(device, kept)
            y, last = copied(placed, (first, first) if kind is nn.LSTM else first)
            total = y.float().sin().sum() + (last[0] if kind is nn.LSTM else last).float().sum()
            grads = torch.autograd.grad(total, [placed, *copied.parameters()])
            results.append([y.detach().cpu().float(), *(grad.cpu().float() for grad in grads)])
        for one, other in zip(results[1], results[0], strict=True):
            torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.filterwarnings("ignore:.*is deprecated and will be removed")
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("kind", [nn.LSTMCell, nn.GRUCell])
def test_cells(kind: type[nn.LSTMCell | nn.GRUCell], bias: bool) -> None:  # noqa: FBT001
    torch.manual_seed(2)
    cell = kind(FEATURES, HIDDEN, bias=bias)
    for dtype in TOLERANCES:
        results = []
        for device, kept in (("cpu", torch.float32), ("npu", dtype)):
            copied = kind(FEATURES, HIDDEN, bias=bias).to(device, kept)
            copied.load_state_dict(cell.to(dtype).float().state_dict())
            x, *states = (
                numbers(BATCH, size, seed=seed).to(dtype).to(device, kept).requires_grad_()
                for size, seed in ((FEATURES, 1), (HIDDEN, 2), (HIDDEN, 3))
            )
            states = states[: 2 if kind is nn.LSTMCell else 1]
            answer = copied(x, tuple(states) if len(states) > 1 else states[0])
            made = answer if isinstance(answer, tuple) else (answer,)
            total = torch.stack([one.float().sin().sum() for one in made]).sum()
            grads = torch.autograd.grad(total, [x, *states, *copied.parameters()])
            results.append([*made, *grads])
        for one, other in zip(results[1], results[0], strict=True):
            near(one, other, dtype)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_networks_in_evaluation_have_no_gradient(kind: type[Network]) -> None:
    """torch_npu 2.13.0 keeps no gates then; it fails before it calls CANN: docs/differences.md."""
    rnn = network(kind).to("npu").eval()
    x = numbers(STEPS, BATCH, FEATURES).to("npu")
    y, _ = rnn(x)
    with pytest.raises(RuntimeError, match="Expected a proper Tensor but got None"):
        y.sum().backward()
    rnn.train()
    rnn(x)[0].sum().backward()
    assert all(parameter.grad is not None for parameter in rnn.parameters())
