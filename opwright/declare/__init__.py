"""The declaration of operators: frozen data, and the few functions with which an author writes it.

Nothing here imports torch. What one line shows to be wrong is raised at that line; what concerns
several fields is found by `opwright.validate`.

operator_set     how an author declares: `OperatorSet`, its decorator
operator         what was declared: `Operator`, `Declaration`
schema           PyTorch's schema grammar; function_schema: from a typed function
rules            shapes and dtypes as an author writes them
dims, shape      texts with named dimensions -> shapes as data
call             the call of the aclnn function
backward, sample, place, errors
"""

from __future__ import annotations

from opwright.declare.operator import Declaration, Deprecation, Operator
from opwright.declare.operator_set import OperatorSet
from opwright.declare.rules import broadcast, cpp, like, promote, reduced
from opwright.declare.sample import error, sample, tensor

__all__ = [
    "Declaration",
    "Deprecation",
    "Operator",
    "OperatorSet",
    "broadcast",
    "cpp",
    "error",
    "like",
    "promote",
    "reduced",
    "sample",
    "tensor",
]


def __dir__() -> list[str]:
    return __all__
