"""Rules for whole declarations: what concerns several fields or operators. Torch-free.

validation   `validate` returns all diagnostics, `check` raises one group
diagnostic   what both return and raise
errors       one class per mistake, OPW-D011 upwards
subject      the operator that rules look at
defaults, aliasing, names, shapes, dtypes, call, c_types, prototype, reference, backward, samples,
metadata
             the rules by theme, each a function from a subject to errors
"""

from __future__ import annotations

from opwright.kit.validate.diagnostic import Diagnostic, InvalidDeclarationError, Severity
from opwright.kit.validate.validation import check, validate

__all__ = ["Diagnostic", "InvalidDeclarationError", "Severity", "check", "validate"]


def __dir__() -> list[str]:
    return __all__
