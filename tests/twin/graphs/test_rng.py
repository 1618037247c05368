"""Random numbers in captured graphs: each replay draws anew, and a seed repeats them."""

from __future__ import annotations

import pytest
import torch
import torch_npu

from tests.twin.graphs.captures import capture, refusal

npu = torch_npu.npu


def test_replays_draw_what_eager_draws() -> None:
    npu.manual_seed(7)
    expected = [torch.rand(100, device="npu") for _ in range(6)]
    graph, y = capture(lambda: (torch.rand(100, device="npu"), torch.rand(100, device="npu")))
    npu.manual_seed(7)
    for round_ in range(3):
        graph.replay()
        assert torch.equal(y[0], expected[2 * round_])
        assert torch.equal(y[1], expected[2 * round_ + 1])


def test_eager_and_captured_draws_share_one_sequence() -> None:
    npu.manual_seed(3)
    expected = [torch.randn(50, device="npu") for _ in range(4)]
    graph, y = capture(lambda: torch.randn(50, device="npu"))
    npu.manual_seed(3)
    for round_ in range(0, 4, 2):
        graph.replay()
        assert torch.equal(y, expected[round_])
        assert torch.equal(torch.randn(50, device="npu"), expected[round_ + 1])


def test_a_generator_of_the_users() -> None:
    generator = torch.Generator(device="npu")
    generator.manual_seed(11)
    expected = [torch.rand(20, device="npu", generator=generator) for _ in range(3)]
    graph = npu.NPUGraph()
    with npu.graph(graph):
        y = torch.rand(20, device="npu", generator=generator)
    generator.manual_seed(11)
    for numbers in expected:
        graph.replay()
        assert torch.equal(y, numbers)


def test_dropout_masks_differ_between_replays() -> None:
    x = torch.ones(1000).to("npu")
    graph, y = capture(lambda: torch.nn.functional.dropout(x, 0.5))
    masks = []
    for _ in range(3):
        graph.replay()
        assert set(y.tolist()) == {0.0, 2.0}
        masks.append(tuple(y.tolist()))
    assert len(set(masks)) == 3


def test_a_failed_capture_does_not_stop_the_generator() -> None:
    npu.manual_seed(5)
    expected = torch.rand(10, device="npu")
    assert "aclnnNonzero" in refusal(lambda: torch.rand(10, device="npu").nonzero())
    npu.manual_seed(5)
    assert torch.equal(torch.rand(10, device="npu"), expected)
    graph, y = capture(lambda: torch.rand(10, device="npu"))
    npu.manual_seed(5)
    graph.replay()
    assert torch.equal(y, expected)


def test_seeds_are_set_outside() -> None:
    def step() -> None:
        torch.rand(3, device="npu")
        npu.manual_seed(99)

    npu.manual_seed(1)
    with pytest.raises(RuntimeError, match="set_current_seed can be called during stream capture"):
        capture(step)
