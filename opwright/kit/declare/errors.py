"""Mistakes in one line of a declaration, found when the line runs.

What concerns several fields or operators is found by `opwright.kit.validate`.
"""

from __future__ import annotations

from opwright.errors import OpwrightError

__all__ = [
    "CallError",
    "DeclarationError",
    "DtypeError",
    "DuplicateOperatorError",
    "FieldError",
    "FunctionSchemaError",
    "ReservedNameError",
    "RuleError",
    "SchemaError",
    "UnknownNameError",
]


class DeclarationError(OpwrightError):
    """The root of what can be wrong in a declaration."""


class SchemaError(DeclarationError):
    """A text that is not a schema in PyTorch's grammar."""

    id = "OPW-D001"
    title = "not an operator schema"
    usual_fix = (
        'write it as PyTorch does, for example "rescale(Tensor x, *, float factor=1.0) -> Tensor"'
    )


class FunctionSchemaError(DeclarationError):
    """A Python function whose annotations do not give a schema."""

    id = "OPW-D002"
    title = "no schema can be derived from the function's annotations"
    usual_fix = "annotate each parameter and the result, or give the schema as text"


class UnknownNameError(DeclarationError):
    """A rule names something that the operator does not have."""

    id = "OPW-D003"
    title = "unknown name in a rule"
    usual_fix = (
        "name an argument or output of the schema, or a dimension that a tensor argument binds"
    )


class RuleError(DeclarationError):
    """A shape rule that cannot be read."""

    id = "OPW-D004"
    title = "not a shape rule"
    usual_fix = 'write sizes between commas, for example "*batch, N, 2 * D", or like("x")'


class DtypeError(DeclarationError):
    """A dtype rule with an unknown dtype, or none at all."""

    id = "OPW-D005"
    title = "not a dtype rule"
    usual_fix = "name dtypes as torch does, or a tensor argument whose dtype it has"


class CallError(DeclarationError):
    """A text that does not say how to call an aclnn function."""

    id = "OPW-D006"
    title = "not a call of an aclnn function"
    usual_fix = (
        "name the function, or write its parameters, for example "
        '"aclnnRescale(x, float factor, out)"'
    )


class DuplicateOperatorError(DeclarationError):
    """Two operators of one name."""

    id = "OPW-D007"
    title = "the operator is declared twice"
    usual_fix = "rename one of them, or give it an overload name: rescale.scalar(...)"


class ReservedNameError(DeclarationError):
    """A name that Python, C++ or PyTorch needs for itself."""

    id = "OPW-D008"
    title = "reserved name"
    usual_fix = "choose another name"


class FieldError(DeclarationError):
    """A field of a declaration with a value that it cannot have."""

    id = "OPW-D009"
    title = "not a value of this field"
    usual_fix = "see help(opwright.OperatorSet.operator) for what each field takes"
