"""Compiles a module before and after a library replaces a built-in converter.

python override.py LIBRARY
"""

import sys

import torch

import torch_aie

APPROXIMATION = 0.021  # how far x * sigmoid(1.702 x) is from gelu at most

x = torch.linspace(-4, 4, 1000)
module = torch.jit.script(torch.nn.GELU().eval())
exact = module(x)


def compiled():
    """Return the results of an engine that is built now."""
    engine = torch_aie.compile(module, inputs=[torch_aie.Input(x.shape)], min_block_size=1)
    return engine(x)


built_in = compiled()
torch.ops.load_library(sys.argv[1])
replaced = compiled()

far = (replaced - exact).abs().max().item()
print(f"built-in converter of gelu: {(built_in - exact).abs().max().item():.1e} from gelu at most")
print(f"converter of this example:  {far:.1e}")
torch.testing.assert_close(built_in, exact, atol=1e-5, rtol=0)
torch.testing.assert_close(replaced, x * torch.sigmoid(1.702 * x), atol=1e-5, rtol=0)
if not APPROXIMATION / 2 < far < APPROXIMATION:
    sys.exit("override.py: the later converter was not taken")
