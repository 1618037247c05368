"""The C++ sources of the built tier: facts and options -> {path: text}. Pure and deterministic.

layout, names, types      how C++ is written
sizes, checks             rules of shapes and dtypes as expressions and statements
parameters, aclnn_call    what an aclnn function gets, and the header that calls it
operators, units          schemas, Meta kernels, NPU kernels
autograd                  derivatives
functionalization         mutating operators under functionalization
classic, stable           all units with torch's C++ API; on libtorch's stable ABI alone
helpers                   small functions that the units share
errors
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.kit.emit.cpp.classic import emit_classic
from opwright.kit.emit.cpp.stable import StableLimit, emit_stable, stable_limits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.kit.derive.facts import SetFacts
    from opwright.kit.emit.options import EmitOptions

__all__ = ["StableLimit", "emit_cpp", "stable_limits"]


def emit_cpp(facts: SetFacts, options: EmitOptions) -> Mapping[str, str]:
    """Return the C++ files by their path in the project.

    Raises
    ------
    CppTypeError, CppRuleError
        OPW-E101, OPW-E102: an operator that the built tier cannot express.
    """
    return emit_stable(facts) if options.stable_abi else emit_classic(facts)


def __dir__() -> list[str]:
    return __all__
