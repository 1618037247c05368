"""Operators in sources: definitions, implementations, functions, converters."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opwright.lint.schema import ForeignSchema

__all__ = [
    "AclnnFunction",
    "AclnnParameter",
    "Call",
    "Converter",
    "Definition",
    "Derivative",
    "DeviceCall",
    "DeviceFunction",
    "FileFacts",
    "Function",
    "Guard",
    "Implementation",
    "Kernel",
    "Language",
    "Open",
    "Parameter",
    "Passed",
    "Place",
    "Site",
    "Suppression",
    "Use",
    "UseKind",
    "are_exclusive",
]


class Language(Enum):
    """Where a fact was read."""

    CPP = "C++"
    PYTHON = "Python"
    YAML = "YAML"


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A file, and line and column in it, both from 1."""

    file: str
    line: int
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Guard:
    """A branch of a preprocessor conditional: where the #if begins, and which branch it is."""

    start: int
    branch: int


def are_exclusive(one: tuple[Guard, ...], other: tuple[Guard, ...]) -> bool:
    """Return whether two places of one file are never compiled together."""
    branches = {guard.start: guard.branch for guard in one}
    return any(branches.get(guard.start, guard.branch) != guard.branch for guard in other)


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """An operator's schema: m.def, Library.define, custom_op, an entry of op-plugin's YAML.

    Parameters
    ----------
    namespace
        Of the library, or None if the sources do not say.
    text
        The schema as it is written, without a namespace; for a custom_op without one, inferred.
    schema
        None if the text is no schema; `problem` says why.
    kernel
        The C++ function that m.def brings.
    block
        Where the library begins, for one of which a process can have only one: TORCH_LIBRARY, DEF.
    is_inferred
        Whether torch writes the schema from the types of the function.
    """

    namespace: str | None
    name: str
    overload: str
    text: str
    schema: ForeignSchema | None
    problem: str | None
    place: Place
    language: Language
    guards: tuple[Guard, ...] = ()
    kernel: Kernel | None = None
    block: Place | None = None
    is_inferred: bool = False

    @property
    def qualified(self) -> str:
        """Return name.overload."""
        return f"{self.name}.{self.overload}" if self.overload else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A registered function: by its name, or one that stands in the place itself."""

    name: str | None
    function: Function | None = None
    is_certain: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Implementation:
    """A function registered for an operator and a dispatch key; no key: for all of them."""

    namespace: str | None
    name: str
    key: str | None
    kernel: Kernel
    place: Place
    language: Language
    guards: tuple[Guard, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """A registration in a namespace that cannot be read, such as one in a loop over names."""

    namespace: str | None
    place: Place
    what: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function."""

    name: str
    type: str = ""
    default: str | None = None
    keyword_only: bool = False
    is_tensor: bool = False
    is_constant: bool = False
    is_reference: bool = False


class UseKind(Enum):
    """A function's use of a parameter in one place."""

    WRITE = "write"
    READ = "read"
    CALL = "call"
    RETURN = "return"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Call:
    """A call that a value is given to: the function, the argument's place or name."""

    function: str
    position: int | str
    count: int
    is_aclnn: bool = False
    is_launch: bool = False


@dataclass(frozen=True, slots=True)
class Use:
    """A use of a parameter."""

    parameter: str
    kind: UseKind
    place: Place
    text: str
    call: Call | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """A place with a word about it: a size that is frozen, a double for a float."""

    place: Place
    text: str
    about: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function: its parameters, and what its body does that rules ask for.

    Parameters
    ----------
    frozen
        Where concrete sizes are read or needed.
    constants
        Local variables that a literal initialises.
    calls
        Names of all functions that it calls.
    names
        All names that the body uses.
    passed
        Variables given to aclnn functions with their C++ types.
    """

    name: str
    parameters: tuple[Parameter, ...]
    place: Place
    language: Language
    is_definition: bool = True
    takes_any: bool = False
    returns: str = ""
    uses: tuple[Use, ...] = ()
    frozen: tuple[Site, ...] = ()
    constants: tuple[Site, ...] = ()
    calls: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    passed: tuple[Passed, ...] = ()
    only_raises: bool = False
    guards: tuple[Guard, ...] = ()

    @property
    def bare(self) -> str:
        """Return the name without namespaces."""
        return self.name.rpartition("::")[2]


@dataclass(frozen=True, slots=True)
class Passed:
    """An argument given to an aclnn function, with its C++ type where the function says it."""

    function: str
    position: int
    count: int
    text: str
    type: str
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Converter:
    """A TorchAir converter, registered for one operator."""

    operator: str
    overload: str
    function: Function
    place: Place

    @property
    def namespace(self) -> str:
        """Return the operator's namespace."""
        return self.operator.partition("::")[0]

    @property
    def name(self) -> str:
        """Return the operator's name."""
        return self.operator.partition("::")[2]


@dataclass(frozen=True, slots=True)
class AclnnParameter:
    """A parameter of phase 1: its name, its type, and whether the function writes it (or None)."""

    name: str
    type: str
    is_written: bool | None


@dataclass(frozen=True, slots=True)
class AclnnFunction:
    """An aclnn function that the sources declare.

    Parameters
    ----------
    inputs
        How many parameters are inputs of an OpDef, in the order in which its kernel takes them.
    """

    name: str
    parameters: tuple[AclnnParameter, ...]
    place: Place
    inputs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivative:
    """An entry of derivatives.yaml: the schema that it repeats, and what it has formulas for."""

    name: str
    schema: ForeignSchema
    inputs: tuple[str, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class DeviceCall:
    """A call in code for the device: the function, and the names that each argument uses."""

    function: str
    arguments: tuple[frozenset[str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFunction:
    """A function of an Ascend C kernel.

    Parameters
    ----------
    scope
        The class, or the function itself: variables of one name are one there.
    is_entry
        Whether the host starts it (`__global__`).
    bound
        GlobalTensors with the names that their memory is computed from.
    stored
        Where it writes, each about the GlobalTensor that it writes to.
    """

    name: str
    scope: str
    parameters: tuple[str, ...]
    is_entry: bool
    bound: tuple[tuple[str, frozenset[str]], ...]
    stored: tuple[Site, ...]
    calls: tuple[DeviceCall, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Suppression:
    """A comment that silences rules in a line."""

    rules: tuple[str, ...]
    reason: str
    place: Place
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """All that one file says.

    Parameters
    ----------
    effectful
        Operators, by qualified name, that a call asks torch to keep for an effect of theirs.
    """

    path: str
    definitions: tuple[Definition, ...] = ()
    implementations: tuple[Implementation, ...] = ()
    functions: tuple[Function, ...] = ()
    converters: tuple[Converter, ...] = ()
    aclnn: tuple[AclnnFunction, ...] = ()
    opens: tuple[Open, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    problems: tuple[Site, ...] = ()
    effectful: frozenset[str] = frozenset()
    device: tuple[DeviceFunction, ...] = ()
    derivatives: tuple[Derivative, ...] = ()
