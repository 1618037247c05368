"""User kernels: a reference function makes a custom operator run on the twin.

::

    from opwright import twin

    @twin.kernel("aclnnAddCustom(const aclTensor *x, const aclTensor *y, aclTensor *out)")
    def add_custom(x, y, out):
        torch.add(x, y, out=out)

From the operator's prototype follow the C signatures of its two phases; a small library that
exports them is emitted, compiled once and put where torch_npu looks. When the operator's task runs
on its stream, the function gets its arguments as torch tensors over device memory.

signature   the C signature of an aclnn function, and its text (pure)
prototype   an operator's inputs, attributes and outputs -> its signatures (pure)
reg_op      REG_OP text -> prototype (pure)
op_def      an operator project's OpDef class -> prototype (pure)
source      what `kernel` was given -> prototype or signature
emit        signatures -> C++ (pure)
library     C++ -> an operator package with libcust_opapi.so, cached
registry    which function runs which operator; the decorator
process     the package of this process, where torch_npu finds the kernels that it declares
files       kernel files: Python and C++, named on the command line
arguments   what the native side hands over -> torch tensors and Python values
bridge      the native side calls the function
command     `opwright kernels`
"""

from __future__ import annotations

from opwright.twin.kernels.files import build_packages
from opwright.twin.kernels.registry import kernel

__all__ = ["build_packages", "kernel"]


def __dir__() -> list[str]:
    return __all__
