"""autograd.cpp: one node per operator that has a backward, as PyTorch's own code has.

torch::autograd::Function would do the same with half the text, but its templates take five seconds
of compile time per unit.

unit          the whole text
kernels       what the dispatcher calls
node          what backward calls
formulas      gradients that are expressions, in C++
derivative    what is known of an operator and its backward
"""

from __future__ import annotations

from opwright.kit.emit.cpp.autograd.unit import autograd_unit

__all__ = ["autograd_unit"]


def __dir__() -> list[str]:
    return __all__
