"""The converters against TorchScript: `bash run.sh test` builds the libraries and runs this."""

from pathlib import Path

import pytest
import torch

import torch_aie

BUILD = Path(__file__).parents[1] / "build"


@pytest.fixture(scope="module", autouse=True)
def libraries():
    """Load the libraries; they stay until the process ends."""
    for name in ("custom_converter", "gelu_converter"):
        (library,) = BUILD.glob(f"lib.*/{name}.*.so")
        torch.ops.load_library(str(library))


def engine(module, x):
    """Compile a scripted module for an input like this."""
    spec = torch_aie.Input(x.shape, dtype=x.dtype)
    scripted = torch.jit.script(module.eval())
    compiled = torch_aie.compile(scripted, inputs=[spec], min_block_size=1)
    assert "execute_engine" in str(compiled.graph)
    return compiled


class Sums(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return torch.cumsum(x, self.dim)


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int32])
def test_sums_along_every_dimension(dim, dtype):
    x = torch.randint(-9, 10, (3, 5, 4)).to(dtype)
    module = Sums(dim)
    assert torch.equal(engine(module, x)(x).to(torch.int64), module(x).to(torch.int64))


def test_a_dimension_that_is_not_there_ends_the_compilation():
    with pytest.raises(ValueError, match=r"aten::cumsum.*got dim 2, allowed are -2 to 1"):
        engine(Sums(2), torch.zeros(3, 3))


def test_gelu_is_that_of_the_later_converter():
    x = torch.linspace(-4, 4, 1000)
    got = engine(torch.nn.GELU(), x)(x)
    torch.testing.assert_close(got, x * torch.sigmoid(1.702 * x), atol=1e-5, rtol=0)
