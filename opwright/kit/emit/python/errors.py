"""Reasons why a declaration's Python cannot be shipped."""

from __future__ import annotations

from opwright.errors import OpwrightError

__all__ = [
    "ConverterNodeError",
    "ConverterParametersError",
    "ForeignFunctionError",
    "OpwrightUseError",
    "SourceMissingError",
]


class OpwrightUseError(OpwrightError):
    """A function that is shipped and uses opwright, which is not there at run time."""

    id = "OPW-E001"
    title = "a shipped function uses opwright"
    usual_fix = "use torch and plain Python in references, backward and vmap functions"


class ForeignFunctionError(OpwrightError):
    """A function that is not written at the top level of the declaration file."""

    id = "OPW-E002"
    title = "a function that cannot be shipped"
    usual_fix = "define it at the top level of the declaration file"


class SourceMissingError(OpwrightError):
    """A declaration with functions, but without a file."""

    id = "OPW-E003"
    title = "the declaration has no source file"
    usual_fix = "write the declaration to a file; its functions are copied from there"


class ConverterParametersError(OpwrightError):
    """TorchAir calls a converter with the arguments of the operator, as the schema has them."""

    id = "OPW-E004"
    title = "the converter takes other parameters than the operator"
    usual_fix = "give it the parameters of the schema, and meta_outputs=None if it needs them"


class ConverterNodeError(OpwrightError):
    """A converter names inputs, outputs or attributes that the prototype does not declare so."""

    id = "OPW-E005"
    title = "the converter does not fit the prototype"
    usual_fix = "use the names and types of the prototype (REG_OP), or correct the prototype"
