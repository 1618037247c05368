"""Errors of loading operators, and of running their Python parts."""

from __future__ import annotations

from opwright.errors import OpwrightError
from opwright.kit.declare.errors import DeclarationError

__all__ = [
    "AliasedResultError",
    "BackwardResultError",
    "CppRuleError",
    "ForwardGradientError",
    "LiveError",
    "NamespaceTakenError",
    "NotDifferentiableError",
    "NotWrittenError",
    "OtherResultError",
    "OutGradientError",
    "ReferenceAliasError",
    "ReferenceArgumentError",
    "ReferenceDtypeError",
    "ReferenceResultError",
    "ReferenceShapeError",
    "ReferenceWriteError",
    "RegistrationError",
    "ReplacedError",
    "SavedOutputError",
    "UnknownOperatorError",
    "UnloadedError",
    "VmapMutationError",
    "VmapResultError",
    "WrittenArgumentError",
]


class LiveError(OpwrightError):
    """The root of what can go wrong in the live tier."""


class NamespaceTakenError(LiveError):
    """Two files declare operators in one namespace."""

    id = "OPW-L001"
    title = "the namespace is loaded from another file"
    usual_fix = "give one of the two sets another namespace, or unload the first one"


class RegistrationError(LiveError):
    """PyTorch refuses a schema or a kernel, as where another library has the operator already."""

    id = "OPW-L002"
    title = "PyTorch does not take the operator"
    usual_fix = "rename the operator, or unload what has the name"


class CppRuleError(LiveError):
    """A rule in C++, which nothing here can run."""

    id = "OPW-L003"
    title = "a rule in C++ works in the built tier only"
    usual_fix = "write the rule as a text or a Python function, or build the operator"


class UnloadedError(LiveError):
    """An operator of a set that was unloaded."""

    id = "OPW-L004"
    title = "the operator set is not loaded"
    usual_fix = "load it again"


class UnknownOperatorError(LiveError):
    """A name that the set does not have."""

    id = "OPW-L005"
    title = "the set has no such operator"
    usual_fix = "use one of its names"


class ReferenceResultError(LiveError):
    """A reference that does not return what the schema says."""

    id = "OPW-L010"
    title = "the reference function does not return the schema's results"
    usual_fix = "return one tensor for each result; what is written need not be returned"


class ReferenceShapeError(LiveError):
    """A reference whose result has another shape than the rule says."""

    id = "OPW-L011"
    title = "the reference function returns another shape than the rule gives"
    usual_fix = "correct the rule or the reference"


class ReferenceDtypeError(LiveError):
    """A reference whose result has another dtype than the rule says."""

    id = "OPW-L012"
    title = "the reference function returns another dtype than the rule gives"
    usual_fix = "convert the result with .to(dtype), or correct the rule"


class ReferenceAliasError(LiveError):
    """A reference that returns an argument, or a view of one, as a new result."""

    id = "OPW-L013"
    title = "a result of the reference function shares memory with another tensor"
    usual_fix = "return a copy, for example x.clone(), or annotate the alias in the schema"


class ReferenceWriteError(LiveError):
    """A reference that writes an argument which the schema does not annotate."""

    id = "OPW-L032"
    title = "the reference function writes an argument that the schema does not annotate"
    usual_fix = "annotate it, Tensor(a!), or compute a new tensor"


class ReferenceArgumentError(LiveError):
    """A reference that needs what the aclnn function does not get."""

    id = "OPW-L014"
    title = "the aclnn function does not get an argument that the reference needs"
    usual_fix = "pass it to the function, give it a default, or make it optional"


class BackwardResultError(LiveError):
    """A backward function that returns another number of gradients."""

    id = "OPW-L020"
    title = "the backward does not return one gradient for each differentiable input"
    usual_fix = "return one tensor or None for each, in this order"


class NotDifferentiableError(LiveError):
    """A gradient is asked of an operator that has no backward."""

    id = "OPW-L021"
    title = "the operator has no backward"
    usual_fix = 'declare one: backward="reference", a formula, or the decorator .backward'


class OutGradientError(LiveError):
    """An operator that writes the caller's outputs got a tensor that requires grad."""

    id = "OPW-L022"
    title = "an operator with out= arguments has no gradient"
    usual_fix = "call it under torch.no_grad(), or use the variant that returns its results"


class ForwardGradientError(LiveError):
    """Forward-mode automatic differentiation of an operator."""

    id = "OPW-L023"
    title = "the operator has no forward-mode gradient"
    usual_fix = (
        "use reverse mode: torch.autograd.grad, torch.func.vjp, torch.func.jacrev; "
        "for a Hessian torch.func.jacrev(torch.func.jacrev(f))"
    )


class ReplacedError(LiveError):
    """A gradient is asked of a call whose operator was loaded again, or unloaded, since."""

    id = "OPW-L024"
    title = "the operator that the graph recorded is not loaded any more"
    usual_fix = "compute the result again, then its gradient"


class SavedOutputError(LiveError):
    """A gradient that depends on a saved output without a gradient is differentiated again."""

    id = "OPW-L025"
    title = "a gradient that depends on a saved output cannot be differentiated again"
    usual_fix = (
        "make it a differentiable output, or compute it again from the arguments in the backward; "
        "if it is a constant, detach() it there"
    )


class VmapMutationError(LiveError):
    """A batch is to be written into a tensor that has no batch."""

    id = "OPW-L030"
    title = "vmap cannot write a batch into a tensor without one"
    usual_fix = "map over the written argument as well, or expand it before"


class VmapResultError(LiveError):
    """A batching rule that does not return what it must."""

    id = "OPW-L031"
    title = "the vmap function does not return results and their batch axes"
    usual_fix = "return (outputs, out_dims) of one structure; None for a result without a batch"


class AliasedResultError(DeclarationError):
    """The reference returns an argument, or a view of one, where the schema has a new result."""

    id = "OPW-D057"
    title = "a new result shares memory"
    usual_fix = "return a copy, for example x.clone(), or annotate the alias in the schema"


class WrittenArgumentError(DeclarationError):
    """The reference writes an argument that the schema does not say is written."""

    id = "OPW-D058"
    title = "the reference writes an argument that is not annotated"
    usual_fix = "work on a copy, or annotate the argument: Tensor(a!)"


class NotWrittenError(DeclarationError):
    """The reference leaves an argument as it is that the schema says is written."""

    id = "OPW-D059"
    title = "the reference does not write an annotated argument"
    usual_fix = "write it in place, for example x.copy_(...), or remove the annotation"


class OtherResultError(DeclarationError):
    """The reference returns another tensor where the schema has an argument."""

    id = "OPW-D060"
    title = "a result is not the argument that it is annotated as"
    usual_fix = "return the argument itself, or nothing: what is written need not be returned"
