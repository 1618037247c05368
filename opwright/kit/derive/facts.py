"""Consequences of a declaration: one record per operator, in the terms of the deliverables.

Emitters and the live tier read these records and nothing else. A derived record never depends on
the machine, on torch, or on the order in which things were derived.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from opwright.aclnn.prototype import Prototype
    from opwright.aclnn.signature import AclnnSignature, CType
    from opwright.kit.declare.call import DrawnPart
    from opwright.kit.declare.operator import Declaration, Operator
    from opwright.kit.declare.rules import Cpp, DtypeRule, ShapeFunction
    from opwright.kit.declare.schema import Argument, Schema, ValueType
    from opwright.kit.expressions.conditions import Check, Condition
    from opwright.kit.expressions.shape import Shape, Size

__all__ = [
    "AclnnCall",
    "Autograd",
    "BackwardArgument",
    "DtypeOfTensor",
    "FromArgument",
    "FromConstant",
    "FromGenerator",
    "FromOutput",
    "Gradient",
    "OperatorFacts",
    "Output",
    "Parameter",
    "PythonKernel",
    "Role",
    "SavedArgument",
    "SavedOutput",
    "SetFacts",
    "Source",
]

# Whether the author declared the operator, or it is the backward or functional twin of one.
Role: TypeAlias = Literal["declared", "backward", "functional twin"]

# Tags that say what an operator writes and returns.
OF_THE_SCHEMA = frozenset({"inplace", "inplace_view", "out"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """A value that the operator produces.

    Parameters
    ----------
    name
        Its name in rules.
    result
        Its place among the schema's results; None for a mutated argument that is not returned.
    argument
        The argument that it is (mutated, or a view of it); None for a new tensor.
    shape, dtype
        Rules for a new tensor, or for each of a list; None for others.
    count
        How many tensors a new list has; None for others.
    unspecified
        What holds where the kernel leaves its values open; nothing if it always writes them.
    """

    name: str
    type: ValueType
    result: int | None
    argument: str | None = None
    shape: Shape | ShapeFunction | Cpp | None = None
    dtype: DtypeRule | None = None
    count: Size | None = None
    unspecified: tuple[Condition, ...] = ()

    @property
    def is_new(self) -> bool:
        """Whether the kernel allocates it."""
        return self.argument is None


@dataclass(frozen=True, slots=True)
class FromArgument:
    """An argument of the operator; `otherwise` is passed where it is None."""

    name: str
    otherwise: bool | int | float | str | None = None


@dataclass(frozen=True, slots=True)
class FromOutput:
    """An output of the operator."""

    name: str


@dataclass(frozen=True, slots=True)
class FromConstant:
    """A constant; None is a null pointer."""

    value: bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class DtypeOfTensor:
    """The dtype of a tensor argument or output."""

    name: str


@dataclass(frozen=True, slots=True)
class FromGenerator:
    """The seed or the offset that a call draws from a generator argument, or the device's."""

    name: str
    part: DrawnPart


Source: TypeAlias = FromArgument | FromOutput | FromConstant | DtypeOfTensor | FromGenerator


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of the aclnn function: its name and type in C, and what is passed."""

    name: str
    ctype: CType
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class AclnnCall:
    """The call of the aclnn function: what phase 1 takes besides workspaceSize and executor.

    Parameters
    ----------
    signature
        Its C signature, where outputs are not const and refs end with Ref.
    """

    function: str
    parameters: tuple[Parameter, ...]
    signature: AclnnSignature


@dataclass(frozen=True, slots=True)
class Gradient:
    """The gradient of an output."""

    output: str


@dataclass(frozen=True, slots=True)
class SavedArgument:
    """The value that an argument had at the call."""

    name: str


@dataclass(frozen=True, slots=True)
class SavedOutput:
    """An output."""

    name: str


BackwardArgument: TypeAlias = Gradient | SavedArgument | SavedOutput


@dataclass(frozen=True, slots=True, kw_only=True)
class Autograd:
    """How autograd runs: the backward is an operator of the set.

    Parameters
    ----------
    operator
        Full name of the backward operator.
    arguments
        What is passed for each of its arguments, in order.
    inputs
        The differentiable inputs in the order of the results of the backward operator.
    outputs
        The differentiable outputs; the others are marked as not differentiable.
    """

    operator: str
    arguments: tuple[BackwardArgument, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def only_saved(self) -> tuple[str, ...]:
        """The outputs that are saved and not differentiable: the backward has no gradient of them.

        So a gradient that depends on them cannot be differentiated again.
        """
        saved = [each.name for each in self.arguments if isinstance(each, SavedOutput)]
        return tuple(name for name in dict.fromkeys(saved) if name not in self.outputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonKernel:
    """An operator made of other operators, in Python; it runs on any device.

    Parameters
    ----------
    kind
        reference: the operator's own function. backward: the author's backward function. vjp: the
        reference of `of` is differentiated. formula: expressions over gradients and saved values.
    function
        For reference, backward and vjp.
    formulas
        For formula: one Python expression per result.
    of
        Name of the operator whose backward this is.
    """

    kind: Literal["reference", "backward", "vjp", "formula"]
    function: Callable[..., object] | None = None
    formulas: tuple[str, ...] = ()
    of: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorFacts:
    """All that follows from one operator.

    Parameters
    ----------
    operator
        What the author declared: this operator, or the one that a derived operator belongs to.
    outputs
        New tensors and views in the order of the results, then mutated arguments that are not
        returned.
    checks
        What has to hold for the arguments' shapes.
    dtypes
        Allowed dtypes of tensor arguments, by name: a set or that of another argument.
    call
        None if a Python kernel runs the operator.
    clones
        Of a functional twin: the arguments that are cloned and then written.
    functional_twin
        Full name of the functional twin of a mutating operator; None for others.
    autograd
        None if the operator has no backward.
    """

    role: Role
    operator: Operator
    schema: Schema
    outputs: tuple[Output, ...]
    checks: tuple[Check, ...]
    dtypes: Mapping[str, DtypeRule]
    call: AclnnCall | None
    python: PythonKernel | None
    prototype: Prototype | None
    clones: tuple[str, ...] = ()
    functional_twin: str | None = None
    autograd: Autograd | None = None

    @property
    def name(self) -> str:
        """The name with its overload."""
        return self.schema.full_name

    @property
    def tags(self) -> tuple[str, ...]:
        """The names of its tags; what is derived has no tag that says how the schema mutates."""
        names = dict.fromkeys(("pt2_compliant_tag", *self.operator.tags))
        if self.schema.generators:
            names["nondeterministic_seeded"] = None
        if not self.operator.deterministic and not any(
            name.startswith("nondeterministic") for name in names
        ):
            names["nondeterministic_bitwise"] = None
        return tuple(name for name in names if self.role == "declared" or name not in OF_THE_SCHEMA)

    @property
    def returned(self) -> tuple[Output, ...]:
        """The outputs that the schema returns, in order."""
        return tuple(output for output in self.outputs if output.result is not None)

    @property
    def drawn(self) -> tuple[str, ...]:
        """The generators from which a call draws numbers for its aclnn function."""
        sources = [each.source for each in self.call.parameters] if self.call else []
        return tuple(dict.fromkeys(s.name for s in sources if isinstance(s, FromGenerator)))

    def argument(self, name: str) -> Argument:
        """Return the argument of this name; asking for one that is not there is a fault here."""
        found = self.schema.argument(name)
        assert found is not None, name
        return found

    def output(self, name: str) -> Output | None:
        """Return the output of this name, if there is one."""
        return next((output for output in self.outputs if output.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetFacts:
    """All that follows from a declaration: declared operators first, each with its derived ones."""

    declaration: Declaration
    operators: tuple[OperatorFacts, ...]

    def operator(self, name: str) -> OperatorFacts | None:
        """Return the facts of the operator of this full name, if there is one."""
        return next((facts for facts in self.operators if facts.name == name), None)
