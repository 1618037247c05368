"""The kernel against PyTorch."""

import pytest
import torch

import asc_add

SHAPES = [(1,), (7,), (8, 2048), (3, 5, 7), (40 * 4096 + 1,), (0, 4)]


@pytest.mark.parametrize("blocks", [1, 2, 8, 40])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.int32])
def test_all_shapes(dtype, blocks):
    for shape in SHAPES:
        x, y = (torch.randint(-99, 99, shape).to(dtype) for _ in "xy")
        assert torch.equal(asc_add.add(x.npu(), y.npu(), blocks=blocks).cpu(), x + y)


def test_it_is_captured_and_replayed():
    x, y = torch.ones(1000).npu(), torch.ones(1000).npu()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        z = asc_add.add(x, y)
    x.fill_(5)
    graph.replay()
    assert torch.equal(z.cpu(), torch.full((1000,), 6.0))


def test_what_does_not_fit_is_refused():
    x = torch.ones(4).npu()
    with pytest.raises(RuntimeError, match="they must be alike"):
        asc_add.add(x, x[:3])
    with pytest.raises(RuntimeError, match="allowed: float16, float32, int32"):
        asc_add.add(x.bool(), x.bool())
