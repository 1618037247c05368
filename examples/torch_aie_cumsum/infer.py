"""Compiles a module with the converter of a library, and compares it with TorchScript.

python infer.py LIBRARY MODEL    MODEL is written: the TorchScript module, for the C++ program
"""

import sys

import torch

import torch_aie


class Sums(torch.nn.Module):
    """Sums of the rows above."""

    def forward(self, x):
        """Return sums along the first dimension."""
        return torch.cumsum(x, 0)


library, path = sys.argv[1:]
torch.ops.load_library(library)

x = torch.randint(1, 10, (5, 5)).float()
module = torch.jit.trace(Sums().eval(), x)
module.save(path)

torch_aie.set_device(0)
compiled = torch_aie.compile(
    module,
    inputs=[torch_aie.Input((5, 5))],
    precision_policy=torch_aie.PrecisionPolicy.FP16,
    truncate_long_and_double=True,
    require_full_compilation=False,
    allow_tensor_replace_int=False,
    min_block_size=1,
    default_buffer_size_vec=[500],
    torch_executed_ops=[],
    torch_executed_modules=[],
    soc_version="Ascend310P3",
    optimization_level=0,
)

# Sums of a few small integers are exact at FP16.
difference = (compiled(x) - module(x)).abs().max().item()
print(f"Python: largest difference from TorchScript {difference}")
if difference != 0 or "execute_engine" not in str(compiled.graph):
    sys.exit("infer.py: the compiled module does not agree with TorchScript")
torch_aie.finalize()
