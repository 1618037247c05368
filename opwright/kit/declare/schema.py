"""An operator's schema as flat frozen data; its text is PyTorch's grammar.

`opwright.kit.declare.schema_text` reads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["Alias", "Argument", "Base", "Result", "Schema", "ValueType"]


class Base(Enum):
    """A type, apart from being optional or a list; the value is its name in a schema."""

    TENSOR = "Tensor"
    INT = "int"
    SYMINT = "SymInt"
    FLOAT = "float"
    SYMFLOAT = "SymFloat"
    BOOL = "bool"
    SYMBOOL = "SymBool"
    STR = "str"
    SCALAR = "Scalar"
    SCALAR_TYPE = "ScalarType"
    DEVICE = "Device"
    LAYOUT = "Layout"
    MEMORY_FORMAT = "MemoryFormat"
    GENERATOR = "Generator"
    DIMNAME = "Dimname"
    COMPLEX = "complex"
    STORAGE = "Storage"
    STREAM = "Stream"
    QSCHEME = "QScheme"
    DEVICE_INDEX = "DeviceIndex"
    CONST_QUANTIZER = "ConstQuantizerPtr"

    @property
    def is_integer(self) -> bool:
        """Whether it is an int, known or symbolic."""
        return self in {Base.INT, Base.SYMINT}

    @property
    def is_allocation(self) -> bool:
        """Whether it says where and how to allocate; no aclnn function takes it."""
        return self in {
            *(Base.DEVICE, Base.LAYOUT, Base.MEMORY_FORMAT),
            *(Base.STREAM, Base.STORAGE),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueType:
    """The type of an argument or result.

    Parameters
    ----------
    base
        What it is, or what its elements are.
    is_list
        Whether it is a list.
    length
        Number of elements where the schema says it (`int[2]`, which also takes a single int).
    optional
        Whether None is allowed for the whole.
    optional_elements
        Whether None is allowed for an element (`Tensor?[]`).
    """

    base: Base
    is_list: bool = False
    length: int | None = None
    optional: bool = False
    optional_elements: bool = False

    @property
    def is_tensor(self) -> bool:
        """Whether it is one tensor, which may be optional."""
        return self.base is Base.TENSOR and not self.is_list

    @property
    def has_tensors(self) -> bool:
        """Whether it is a tensor or a list of tensors."""
        return self.base is Base.TENSOR

    def __str__(self) -> str:
        text = self.base.value + ("?" if self.optional_elements else "")
        if self.is_list:
            text += f"[{'' if self.length is None else self.length}]"
        return text + ("?" if self.optional else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """An alias annotation, for example `(a!)`: the name of its set, and whether it is written."""

    name: str
    is_write: bool = False

    def __str__(self) -> str:
        return f"({self.name}{'!' if self.is_write else ''})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """An argument of a schema.

    Parameters
    ----------
    default
        The default as the schema writes it; None if there is none.
    """

    name: str
    type: ValueType
    default: str | None = None
    alias: Alias | None = None
    keyword_only: bool = False

    @property
    def is_written(self) -> bool:
        """Whether the operator mutates it."""
        return self.alias is not None and self.alias.is_write

    @property
    def is_out(self) -> bool:
        """Whether it is what the caller gives to be written, as `out=` is."""
        return self.is_written and self.keyword_only

    def __str__(self) -> str:
        default = "" if self.default is None else f"={self.default}"
        return f"{annotated(self.type, self.alias)} {self.name}{default}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A return of a schema; the name is None where the schema has none."""

    type: ValueType
    name: str | None = None
    alias: Alias | None = None

    def __str__(self) -> str:
        text = annotated(self.type, self.alias)
        return text if self.name is None else f"{text} {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """An operator's schema, without its namespace. `str` gives the text that was parsed."""

    name: str
    overload: str = ""
    arguments: tuple[Argument, ...]
    results: tuple[Result, ...]

    @property
    def full_name(self) -> str:
        """The name with its overload, as the dispatcher writes it."""
        return f"{self.name}.{self.overload}" if self.overload else self.name

    @property
    def generators(self) -> tuple[Argument, ...]:
        """The arguments that random numbers are drawn from."""
        return tuple(a for a in self.arguments if a.type.base is Base.GENERATOR)

    def argument(self, name: str) -> Argument | None:
        """Return the argument of this name, if there is one."""
        return next((a for a in self.arguments if a.name == name), None)

    def type_of(self, name: str) -> ValueType:
        """Return the type of an argument; asking for one that is not there is a fault here."""
        found = self.argument(name)
        assert found is not None, name
        return found.type

    @property
    def mutated(self) -> tuple[Argument, ...]:
        """The arguments that the operator writes, in order."""
        return tuple(argument for argument in self.arguments if argument.is_written)

    @property
    def is_out_variant(self) -> bool:
        """Whether what it writes are keyword-only results of the caller (`*, Tensor(a!) out`)."""
        return bool(self.mutated) and all(argument.keyword_only for argument in self.mutated)

    def aliased_argument(self, result: Result) -> Argument | None:
        """Return the argument that a result is, or is a view of."""
        if result.alias is None:
            return None
        names = {result.alias.name}
        return next((a for a in self.arguments if a.alias and a.alias.name in names), None)

    def output_names(self) -> tuple[str, ...]:
        """Return one name per result: its own, its argument's, else out, or out0, out1, ..."""
        single = len(self.results) == 1
        names = []
        for index, result in enumerate(self.results):
            argument = self.aliased_argument(result)
            given = result.name or (argument.name if argument else None)
            names.append(given or ("out" if single else f"out{index}"))
        return tuple(names)

    def __str__(self) -> str:
        parts: list[str] = []
        for argument in self.arguments:
            if argument.keyword_only and "*" not in parts:
                parts.append("*")
            parts.append(str(argument))
        results = ", ".join(map(str, self.results))
        bare = len(self.results) == 1 and self.results[0].name is None
        return f"{self.full_name}({', '.join(parts)}) -> {results if bare else f'({results})'}"


def annotated(value_type: ValueType, alias: Alias | None) -> str:
    """Write a type with its alias annotation, which stands behind the base type."""
    text, base = str(value_type), value_type.base.value
    return text if alias is None else f"{base}{alias}{text.removeprefix(base)}"
