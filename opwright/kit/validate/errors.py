"""Mistakes across several fields or operators of a declaration.

Identifiers are never reused. What one line shows to be wrong is in `opwright.kit.declare.errors`;
what only running the reference shows is in `opwright.kit.live.errors`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from opwright.kit.declare.errors import DeclarationError

if TYPE_CHECKING:
    from opwright.kit.validate.diagnostic import Severity

__all__ = [
    "AmbiguousDtypeError",
    "AttributeTypeError",
    "AxisError",
    "BackwardParametersError",
    "DefaultError",
    "DeterminismError",
    "DtypeCycleError",
    "DtypeRuleError",
    "FormulaCallError",
    "FormulaError",
    "GradientCountError",
    "InPlaceNameError",
    "MissingArgumentError",
    "MutatedResultError",
    "NameClashError",
    "NoComputationError",
    "NoDtypeRuleError",
    "NoShapeRuleError",
    "NotDifferentiableError",
    "NotPassedError",
    "NullByValueError",
    "OutVariantBackwardError",
    "OutVariantError",
    "ParameterCountError",
    "ParameterOrderError",
    "ParameterTypeError",
    "PassedTypeError",
    "PatternError",
    "PresenceError",
    "PrototypeCountError",
    "PrototypeNameError",
    "PrototypeOrderError",
    "ReferenceDefaultError",
    "ReferenceParametersError",
    "ReplacementError",
    "ResultNameError",
    "ResultTypeError",
    "SampleShapeError",
    "SampleValueError",
    "ShapeFunctionError",
    "SharedAliasError",
    "ToleranceError",
    "UnknownTagError",
    "UnregistrableTypeError",
    "UnusedArgumentError",
    "ValidationError",
    "VersionError",
    "ViewError",
]


class ValidationError(DeclarationError):
    """The root of what validation finds."""

    severity: ClassVar[Severity] = "error"


# Arguments


class DefaultError(ValidationError):
    """The default of an argument is no value of its type, or one that PyTorch cannot read."""

    id = "OPW-D011"
    title = "not a default of the argument's type"
    usual_fix = "write a value of the type; where None is meant, make the type optional"


class UnregistrableTypeError(ValidationError):
    """A type that the grammar has, but that PyTorch's dispatcher refuses."""

    id = "OPW-D061"
    title = "PyTorch does not register operators with this type"
    usual_fix = "use another type, for example str or int"


# Names


class NameClashError(ValidationError):
    """A name that opwright derives from an operator's name is that of another operator."""

    id = "OPW-D012"
    title = "two operators would have one name"
    usual_fix = "rename one of them"


class ResultNameError(ValidationError):
    """A result that is a new value has the name of an argument: no rule could distinguish them."""

    id = "OPW-D013"
    title = "a result has the name of an argument"
    usual_fix = "name the result in the schema: -> (Tensor y)"


# Shapes


class PatternError(ValidationError):
    """The shape of an argument is not given as a pattern, or the argument is not one tensor."""

    id = "OPW-D014"
    title = "not the shape of a tensor argument"
    usual_fix = 'write the names of its axes: "*batch, N, D"'


class NoShapeRuleError(ValidationError):
    """The shape of an output is not known, so that it cannot be allocated."""

    id = "OPW-D015"
    title = "the shape of an output is not known"
    usual_fix = "give a shape rule"


class AxisError(ValidationError):
    """A rule uses an axis or an element that is not there, or a size below zero."""

    id = "OPW-D016"
    title = "a size that cannot be"
    usual_fix = "count axes from 0, or from the end with -1"


class ShapeFunctionError(ValidationError):
    """A shape function cannot be called with the operator's arguments by name."""

    id = "OPW-D017"
    title = "the shape function does not take the operator's arguments"
    usual_fix = "give it the operator's arguments by their names"


class ResultTypeError(ValidationError):
    """A result that is not a tensor: an aclnn function has no such output."""

    id = "OPW-D018"
    title = "not a result of an aclnn function"
    usual_fix = "return tensors, or make the operator of other operators: aclnn=False"


# Dtypes


class DtypeCycleError(ValidationError):
    """Dtype rules that refer to each other in a circle."""

    id = "OPW-D019"
    title = "dtype rules refer to each other"
    usual_fix = "give the dtypes of one of them by name"


class AmbiguousDtypeError(ValidationError):
    """The dtype rule of an output names several dtypes."""

    id = "OPW-D020"
    title = "an output has one dtype"
    usual_fix = "name one dtype, or the argument whose dtype it has"


class NoDtypeRuleError(ValidationError):
    """The dtype of an output is not known, so that it cannot be allocated."""

    id = "OPW-D021"
    title = "the dtype of an output is not known"
    usual_fix = "give a dtype rule"


class DtypeRuleError(ValidationError):
    """A dtype rule for something that cannot have one of its kind."""

    id = "OPW-D022"
    title = "not a dtype rule of this value"
    usual_fix = "name the dtypes that it may have, or the tensor argument that it equals"


# The call of the aclnn function


class NotPassedError(ValidationError):
    """The aclnn function does not get what it should write, so that it is never written."""

    id = "OPW-D023"
    title = "what is written is not passed to the aclnn function"
    usual_fix = "pass it"


class UnusedArgumentError(ValidationError):
    """An argument has no influence: the aclnn function does not get it, and no rule names it."""

    id = "OPW-D024"
    title = "an argument is not used"
    severity = "warning"
    usual_fix = "pass it to the aclnn function, or remove it from the schema"


class UndrawnGeneratorError(ValidationError):
    """The aclnn function gets no seed or no offset of a generator: calls with equal seeds differ.

    A generator is passed as the seed and the offset that a call draws from it; without the offset,
    one call would draw what the call before drew.
    """

    id = "OPW-D063"
    title = "a generator that the aclnn function does not draw from"
    usual_fix = "pass generator.seed and generator.offset"


class PassedTypeError(ValidationError):
    """A value cannot be passed as the C type of the parameter."""

    id = "OPW-D025"
    title = "the value does not fit the C type"
    usual_fix = "use a C type that the value can be passed as"


class NullByValueError(ValidationError):
    """An argument that may be None is passed by value, where C has no null."""

    id = "OPW-D026"
    title = "None cannot be passed by value"
    usual_fix = "say what stands for None"


class ParameterCountError(ValidationError):
    """The aclnn function is one of CANN's and has another number of parameters."""

    id = "OPW-D027"
    title = "wrong number of parameters of an aclnn function"
    usual_fix = "write the call with the parameters of the C function"


class ParameterTypeError(ValidationError):
    """The aclnn function is one of CANN's and has another C type at this place.

    Nothing notices that at run time: the function computes with garbage.
    """

    id = "OPW-D028"
    title = "wrong type of a parameter of an aclnn function"
    usual_fix = "write the C type that the function has"


class ParameterOrderError(ValidationError):
    """The aclnn function is one of CANN's and has parameters of these names in another order."""

    id = "OPW-D029"
    title = "wrong order of the parameters of an aclnn function"
    usual_fix = "pass them in the order of the C function"


class SharedFunctionError(ValidationError):
    """Two operators of a set call one aclnn function, and pass parameters of different C types.

    A function has one signature: one of the calls would be garbage. Overloads without `aclnn=` call
    the function that is named after the operator, which is the same for all of them.
    """

    id = "OPW-D062"
    title = "two operators call one aclnn function with different parameters"
    usual_fix = "name a function of its own for each, with aclnn="


class NoComputationError(ValidationError):
    """An operator with neither an aclnn function nor a reference."""

    id = "OPW-D030"
    title = "nothing computes the operator"
    usual_fix = "give the aclnn function, or a reference function"


# The prototype


class PrototypeCountError(ValidationError):
    """The prototype and the schema have different numbers of inputs, attributes or outputs."""

    id = "OPW-D031"
    title = "prototype and schema differ in number"
    usual_fix = "declare one for each"


class PrototypeOrderError(ValidationError):
    """The prototype and the schema name the same things in different orders."""

    id = "OPW-D032"
    title = "prototype and schema differ in order"
    usual_fix = "bring them into one order"


class PresenceError(ValidationError):
    """The prototype needs what the schema leaves out, or has a list where the schema has none."""

    id = "OPW-D033"
    title = "prototype and schema differ in what may be absent"
    usual_fix = "bring the prototype in line with the schema"


class AttributeTypeError(ValidationError):
    """An attribute has another type than its argument."""

    id = "OPW-D034"
    title = "an attribute has another type than its argument"
    usual_fix = "give the attribute the type that corresponds to the argument"


class PrototypeNameError(ValidationError):
    """An attribute has another name than its argument."""

    id = "OPW-D035"
    title = "an attribute has another name than its argument"
    severity = "warning"
    usual_fix = "use one name, so that graph mode and eager mode are documented alike"


# Gradients


class GradientCountError(ValidationError):
    """The backward gives more or fewer gradients than there are differentiable inputs."""

    id = "OPW-D036"
    title = "wrong number of gradients"
    usual_fix = "give one gradient for each differentiable input, in their order"


class NotDifferentiableError(ValidationError):
    """A gradient of something that has none."""

    id = "OPW-D037"
    title = "it has no gradient"
    usual_fix = "name floating-point tensors only"


class FormulaError(ValidationError):
    """A formula that is not an expression in Python's grammar."""

    id = "OPW-D038"
    title = "not a formula"
    usual_fix = 'write a call of an operator or arithmetic: "rescale_backward(grad, x)", "grad * y"'


class FormulaCallError(ValidationError):
    """A formula calls what is no operator of the set or of torch, or not with its arguments."""

    id = "OPW-D039"
    title = "the formula calls an operator wrongly"
    usual_fix = "call an operator of the set or of torch with its arguments"


class BackwardParametersError(ValidationError):
    """The backward function does not take the gradients and saved values that it is called with."""

    id = "OPW-D040"
    title = "the backward function takes other parameters"
    usual_fix = "take the gradient of each differentiable output, then each saved value"


class OutVariantBackwardError(ValidationError):
    """An out= operator with a backward: out= operators refuse inputs that need gradients."""

    id = "OPW-D041"
    title = "an out= operator has no backward"
    usual_fix = "declare the backward of the operator without out="


# The reference


class ReferenceParametersError(ValidationError):
    """The reference cannot be called with the schema's arguments."""

    id = "OPW-D042"
    title = "the reference does not accept the schema's arguments"
    usual_fix = "give it the parameters of the schema, in their order"


class ReferenceDefaultError(ValidationError):
    """A default of the reference differs from the schema's."""

    id = "OPW-D043"
    title = "reference and schema have different defaults"
    usual_fix = "write one default in both"


# Aliasing


class InPlaceNameError(ValidationError):
    """A name that ends with _ says that the operator writes its first argument; it does not."""

    id = "OPW-D044"
    title = "an in-place name without a mutated argument"
    usual_fix = "annotate what is written, or drop the _ at the end of the name"


class ViewError(ValidationError):
    """An alias set that is not written: a view. An aclnn function makes none.

    An operator that is made of others (aclnn=False) may return views.
    """

    id = "OPW-D045"
    title = "an alias that is not written"
    usual_fix = "write (a!) where the operator writes the argument, else leave the annotation out"


class OutVariantError(ValidationError):
    """An out= operator returns something else than what it writes."""

    id = "OPW-D046"
    title = "an out= operator returns what it writes"
    usual_fix = "return every out argument in order, or nothing"


class SharedAliasError(ValidationError):
    """Several results in one alias set."""

    id = "OPW-D047"
    title = "several results are one argument"
    usual_fix = "return the argument once"


class MutatedResultError(ValidationError):
    """A result is named like an argument that is written, but not annotated as being it."""

    id = "OPW-D048"
    title = "a mutated argument is returned without its annotation"
    usual_fix = "annotate the result as the argument is"


# Samples


class MissingArgumentError(ValidationError):
    """A sample lacks an argument that has no default."""

    id = "OPW-D049"
    title = "a sample lacks an argument"
    usual_fix = "give it a value"


class SampleValueError(ValidationError):
    """A value of a sample is not one of the argument's type, or of a dtype that it may not have."""

    id = "OPW-D050"
    title = "not a value of the argument"
    usual_fix = "give a value that the operator accepts; for one that it refuses use error(...)"


class SampleShapeError(ValidationError):
    """A tensor of a sample has another number of axes than its pattern."""

    id = "OPW-D051"
    title = "a sample contradicts the shape of the argument"
    usual_fix = "give it as many axes as the pattern"


class ToleranceError(ValidationError):
    """A tolerance that nothing is compared with, or that is not a distance."""

    id = "OPW-D052"
    title = "not a tolerance"
    usual_fix = "give (rtol, atol), both at least 0, for a dtype of the operator"


# Versions, tags, deprecation


class VersionError(ValidationError):
    """A text that is not a version, or not a range of versions."""

    id = "OPW-D053"
    title = "not a version"
    usual_fix = 'write a version such as "1.0.2"'


class UnknownTagError(ValidationError):
    """A tag that torch does not have."""

    id = "OPW-D054"
    title = "unknown tag"
    usual_fix = "use the name of a torch.Tag"


class DeterminismError(ValidationError):
    """A tag says that the operator is not deterministic, while the declaration says that it is."""

    id = "OPW-D055"
    title = "tags and deterministic contradict each other"
    usual_fix = "declare deterministic=False, or remove the tag"


class ReplacementError(ValidationError):
    """A deprecation names an operator that is not there, or the deprecated one itself."""

    id = "OPW-D056"
    title = "the replacement of a deprecated operator is not there"
    usual_fix = "name an operator of the set, or another one with its namespace: other::rescale"
