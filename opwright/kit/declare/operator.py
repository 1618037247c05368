"""An operator as it was declared, and a set of operators: frozen data, in the author's terms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from opwright.aclnn.prototype import Prototype
    from opwright.kit.declare.backward import Backward
    from opwright.kit.declare.call import Call
    from opwright.kit.declare.place import Place
    from opwright.kit.declare.relations import Relation
    from opwright.kit.declare.rules import DtypeRule, ShapeRule
    from opwright.kit.declare.sample import ErrorSample, Sample, Tolerance
    from opwright.kit.declare.schema import Schema

__all__ = [
    "Autocast",
    "Declaration",
    "Deprecation",
    "Layout",
    "Operator",
    "Source",
    "Upstream",
    "Vmap",
]

# The aclnn function's demand on a tensor's memory; the adapter copies where it is not met.
Layout: TypeAlias = Literal["any", "contiguous"]
# autocast's treatment of floating-point tensors: a dtype, the widest of them, or nothing.
Autocast: TypeAlias = Literal["bfloat16", "float16", "float32", "promote", "autocast dtype"]
# How a batch is run: one call per element, or one call with the batch as first axis.
Vmap: TypeAlias = Literal["loop", "batch first"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deprecation:
    """Since when an operator is deprecated, and what replaces it."""

    since: str
    use: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """Text of a declaration in another format that has no field here, kept for writing it back.

    Parameters
    ----------
    section
        The section of op-plugin's YAML: official, custom, symint, ...
    entries
        Keys and values as the file has them, values as YAML text.
    """

    section: str
    entries: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """One operator. `opwright.OperatorSet.operator` documents the fields as an author gives them.

    Parameters
    ----------
    schema
        Its schema.
    place
        Where it was declared.
    reference
        The function that says what it computes; None if nothing does.
    call
        The call of its aclnn function; None if that is derived from the schema, False if there is
        none (the operator is then made of other operators: its reference runs on any device).
    prototype
        Its prototype, or the operator type of one that is derived from the schema; None if all of
        it is derived, False if the operator has none.
    converter
        The function that adds its node to a graph of GE; None if that is derived.
    requires
        What has to hold for sizes and attributes, as texts.
    unspecified
        By output: when the kernel leaves its values open, as a text.
    relations
        What must hold between calls.
    shapes
        Shape rules by name of an argument (a pattern) or output.
    dtypes
        Dtype rules by name of an argument or output.
    """

    schema: Schema
    place: Place
    reference: Callable[..., object] | None = None
    doc: str = ""
    call: Call | Literal[False] | None = None
    prototype: Prototype | str | Literal[False] | None = None
    requires: tuple[str, ...] = ()
    unspecified: Mapping[str, str] = field(default_factory=dict)
    relations: tuple[Relation, ...] = ()
    shapes: Mapping[str, ShapeRule] = field(default_factory=dict)
    dtypes: Mapping[str, DtypeRule] = field(default_factory=dict)
    layouts: Mapping[str, Layout] = field(default_factory=dict)
    backward: Backward | None = None
    converter: Callable[..., object] | None = None
    vmap: Vmap | Callable[..., object] = "loop"
    autocast: Autocast | None = None
    samples: tuple[Sample, ...] = ()
    errors: tuple[ErrorSample, ...] = ()
    tolerances: Mapping[str, Tolerance] = field(default_factory=dict)
    deterministic: bool = True
    cost_budget: float | None = None
    functional: str | None = None
    tags: tuple[str, ...] = ()
    torch: str | None = None
    torch_npu: str | None = None
    deprecated: Deprecation | None = None
    upstream: Upstream | None = None

    @property
    def name(self) -> str:
        """The name with its overload."""
        return self.schema.full_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The file with the declaration.

    Parameters
    ----------
    name
        Its name without folders, for the headers of generated files.
    text
        Its content; empty where the set was not declared in a file.
    """

    name: str
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """A set of operators.

    Parameters
    ----------
    namespace
        Where they are in `torch.ops`.
    version
        Version of the package that ships them.
    torch, torch_npu
        Version specifiers of what they work with; None for the pair of the build.
    existing
        Whether the operators are another library's: what that lacks in graphs is declared.
    """

    namespace: str
    version: str
    place: Place
    source: Source
    doc: str = ""
    torch: str | None = None
    torch_npu: str | None = None
    existing: bool = False
    operators: tuple[Operator, ...] = ()

    def operator(self, name: str) -> Operator | None:
        """Return the operator of this full name, if there is one."""
        return next((o for o in self.operators if o.name == name), None)
