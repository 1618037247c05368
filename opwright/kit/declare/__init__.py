"""The declaration of operators: frozen data, and the few functions with which an author writes it.

Nothing here imports torch. What one line shows to be wrong is raised at that line; what concerns
several fields is found by `opwright.kit.validate`.

operator_set     how an author declares: `OperatorSet`; to_live: into this process
declared_operator   what its decorator leaves in place of the reference function
fields           what the author wrote -> data; reserved: names that cannot be used
operator         what was declared: `Operator`, `Declaration`
schema           what a schema says; schema_text: PyTorch's grammar -> it; defaults
function_schema  a typed function -> schema
rules            shapes and dtypes as an author writes them
call             the call of the aclnn function
values           what an operator produces, which values have gradients
backward, sample, place, errors
"""

from __future__ import annotations

from opwright.kit.declare.operator import Declaration, Deprecation, Operator
from opwright.kit.declare.operator_set import OperatorSet
from opwright.kit.declare.rules import broadcast, cpp, each, like, promote, reduced
from opwright.kit.declare.sample import error, sample, tensor

__all__ = [
    "Declaration",
    "Deprecation",
    "Operator",
    "OperatorSet",
    "broadcast",
    "cpp",
    "each",
    "error",
    "like",
    "promote",
    "reduced",
    "sample",
    "tensor",
]


def __dir__() -> list[str]:
    return __all__
