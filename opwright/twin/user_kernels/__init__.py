"""User kernels: a reference function makes a custom operator run on the twin.

::

    from opwright import twin

    @twin.kernel("aclnnAddCustom(const aclTensor *x, const aclTensor *y, aclTensor *out)")
    def add_custom(x, y, out):
        torch.add(x, y, out=out)

From the operator's prototype follow the C signatures of its two phases; a small library that
exports them is emitted, compiled once and put where torch_npu looks. When the operator's task runs
on its stream, the function gets its arguments as torch tensors over device memory.

source      what `kernel` was given -> prototype or signature (opwright.aclnn)
emit        signatures -> C++ (pure)
library     C++ -> an operator package with libcust_opapi.so, cached
seeds       seed and offset of a call -> the generator of a reference function
registry    which function runs which operator; the decorator
process     the package of this process, where torch_npu finds the kernels that it declares
packages    where torch_npu looks for operator packages: those of an environment
files       kernel files: Python and C++, named on the command line; cpp_kernels: those in C++
declarations  sets of operators in a kernel file, whose references are kernels too
arguments   what the native side hands over -> torch tensors and Python values; dtypes: by number
bridge      the native side calls the function
command     `opwright kernels`
"""

from __future__ import annotations

from opwright.twin.user_kernels.files import build_packages
from opwright.twin.user_kernels.registry import kernel
from opwright.twin.user_kernels.seeds import generator

__all__ = ["build_packages", "generator", "kernel"]


def __dir__() -> list[str]:
    return __all__
