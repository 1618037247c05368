"""An operator's prototype -> the aclnn functions that CANN's generator makes of it.

The rules are those of opbuild (asc-devkit, tools/build/opbuild); `derive` lists them. One thing is
written differently: outputs are not const here, so that the text of a signature distinguishes
inputs from outputs. The C ABI is the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from opwright.aclnn.signature import AclnnSignature, CType, Parameter
from opwright.errors import OpwrightError

__all__ = [
    "ATTRIBUTE_KINDS",
    "ATTRIBUTE_TYPES",
    "Attribute",
    "Default",
    "Graph",
    "Interface",
    "Literals",
    "Port",
    "Presence",
    "Prototype",
    "PrototypeError",
    "TypeSymbol",
    "derive",
    "plain_interface",
]

Presence = Literal["required", "optional", "dynamic"]
Literals = bool | int | float | str | tuple[bool | int | float | str, ...]
# Of an attribute of a graph's operator also a list of lists.
Default = Literals | tuple[tuple[int, ...], ...]

# The attribute types of REG_OP and OpDef, by their common names.
ATTRIBUTE_TYPES = {
    "Int": CType.INT64,
    "Float": CType.DOUBLE,
    "Bool": CType.BOOL,
    "String": CType.TEXT,
    "ListInt": CType.INT_ARRAY,
    "ListFloat": CType.FLOAT_ARRAY,
    "ListBool": CType.BOOL_ARRAY,
}
# All attribute types of operator_reg.h; the others are for graphs, no aclnn function takes them.
ATTRIBUTE_KINDS = frozenset(ATTRIBUTE_TYPES) | {
    *("AscendString", "ListString", "ListAscendString", "ListListInt", "Type", "ListType"),
    *("Tensor", "ListTensor", "NamedAttrs", "ListNamedAttrs", "Bytes"),
}
KINDS = {ctype: kind for kind, ctype in ATTRIBUTE_TYPES.items()}
ARRAYS = frozenset({CType.TEXT, CType.INT_ARRAY, CType.FLOAT_ARRAY, CType.BOOL_ARRAY})


class PrototypeError(OpwrightError):
    """A prototype that cannot be read, or for which no aclnn function can be derived."""

    id = "OPW-K002"
    title = "not a prototype that aclnn functions can be derived from"
    usual_fix = "correct the prototype, or give the aclnn signature itself"


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """An input or output.

    Parameters
    ----------
    presence
        Required, optional, or a list of any length (dynamic).
    scalar
        Whether it is passed as aclScalar (aclScalarList if dynamic).
    values
        The array type of an input whose values the host needs (ValueDepend); None for others.
    version
        The first version of the function that has it.
    dtypes
        CANN's names of the dtypes that it may have: `DT_FLOAT`, or a set (`FloatingDataType`);
        empty if the prototype does not say.
    symbol
        The symbol that stands for the dtype; ports with one symbol have one dtype.
    """

    name: str
    presence: Presence = "required"
    scalar: bool = False
    values: CType | None = None
    version: int = 0
    dtypes: tuple[str, ...] = ()
    symbol: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """An attribute.

    Parameters
    ----------
    ctype
        None for a kind that no aclnn function takes.
    default
        None if there is none, or if it is not a literal.
    kind
        The type in operator_reg.h; by default that of the C type.
    """

    name: str
    ctype: CType | None
    required: bool
    default: Default | None = None
    version: int = 0
    kind: str = ""

    @property
    def type_name(self) -> str:
        """The type in operator_reg.h."""
        return self.kind or KINDS.get(self.ctype, "") if self.ctype else self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeSymbol:
    """A symbol for dtypes (DATATYPE).

    Parameters
    ----------
    dtypes
        What it may stand for; if it is promoted, the symbols that are promoted to it.
    is_list
        Whether it is the dtype of lists of tensors, whose elements may differ.
    """

    name: str
    dtypes: tuple[str, ...]
    is_list: bool = False
    promoted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """A subgraph that the operator runs."""

    name: str
    dynamic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Prototype:
    """An operator type with its ports and attributes in the order of the prototype.

    Parameters
    ----------
    combinations
        Whether the dtypes of ports are columns: only those at one index go together.
    """

    op_type: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    attributes: tuple[Attribute, ...] = ()
    symbols: tuple[TypeSymbol, ...] = ()
    graphs: tuple[Graph, ...] = ()
    combinations: bool = False

    def dtypes(self, port: Port) -> tuple[str, ...]:
        """Return the dtypes that a port may have, with its symbol resolved."""
        return port.dtypes or self.symbol_dtypes(port.symbol, ())

    def symbol_dtypes(self, name: str | None, seen: tuple[str, ...]) -> tuple[str, ...]:
        """Return what a symbol may stand for; nothing if it is not declared."""
        symbol = next((symbol for symbol in self.symbols if symbol.name == name), None)
        if symbol is None or symbol.name in seen:
            return ()
        if not symbol.promoted:
            return symbol.dtypes
        parts = [self.symbol_dtypes(part, (*seen, symbol.name)) for part in symbol.dtypes]
        return tuple(dict.fromkeys(dtype for part in parts for dtype in part))


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """How one reference function serves an operator.

    Parameters
    ----------
    functions
        The operator's aclnn functions: one, or several forms of it.
    parameters
        What the reference function takes: the parameters of the newest form.
    defaults
        By parameter name, what stands for null and for a parameter that a form does not have.
    prototype
        None if only the functions are known.
    """

    functions: tuple[AclnnSignature, ...]
    parameters: tuple[Parameter, ...]
    defaults: tuple[tuple[str, Literals], ...] = ()
    prototype: Prototype | None = None


def plain_interface(signature: AclnnSignature) -> Interface:
    """Return the interface of an operator with one function."""
    return Interface(functions=(signature,), parameters=signature.parameters)


def derive(prototype: Prototype) -> Interface:
    """Return the aclnn functions of an operator.

    The order is inputs, attributes, outputs; names become lower camel case. An input that is an
    output too gets the suffix Ref and replaces the output. What may be null gets the suffix
    Optional: optional ports, and optional attributes that are strings or arrays. A single output is
    called out, others get the suffix Out. Version n of the function has what stands at version n
    or below. If the host needs the values of an input, it is an array, and there is a form that
    takes tensors (suffix Tensor).

    Raises
    ------
    PrototypeError
        OPW-K002: an attribute of a kind that no aclnn function takes.

    Examples
    --------
    >>> x, y = Port(name="x"), Port(name="y", presence="optional")
    >>> p = Prototype(op_type="AddCustom", inputs=(x, y), outputs=(Port(name="z"),))
    >>> print(derive(p).functions[0])
    aclnnAddCustom(const aclTensor *x, const aclTensor *yOptional, aclTensor *out)
    """
    of_inputs = {port.version for port in prototype.inputs}
    of_attributes = {attribute.version for attribute in prototype.attributes}
    versions = sorted({0} | of_inputs | of_attributes)
    forms = [form(prototype, version) for version in versions]
    newest = forms[-1]
    if any(port.values for port in prototype.inputs):
        forms.append(form(prototype, versions[-1], tensors=True))
    defaults = tuple(
        (attribute_parameter(attribute).name, attribute.default)
        for attribute in prototype.attributes
        if attribute.default is not None
    )
    return Interface(
        functions=tuple(forms),
        parameters=newest.parameters,
        defaults=cast("tuple[tuple[str, Literals], ...]", defaults),
        prototype=prototype,
    )


def form(prototype: Prototype, version: int, *, tensors: bool = False) -> AclnnSignature:
    """Return one form of the function."""
    written = {port.name for port in prototype.outputs}
    read = {port.name for port in prototype.inputs}
    single = len(prototype.outputs) == 1
    name = f"aclnn{prototype.op_type}"
    name += f"V{version}" if version else ""
    name += "Tensor" if tensors else ""
    inputs = [
        input_parameter(port, is_ref=port.name in written, tensors=tensors)
        for port in prototype.inputs
        if port.version <= version
    ]
    attributes = [
        attribute_parameter(attribute)
        for attribute in prototype.attributes
        if attribute.version <= version
    ]
    outputs = [
        output_parameter(port, single=single) for port in prototype.outputs if port.name not in read
    ]
    return AclnnSignature(name=name, parameters=(*inputs, *attributes, *outputs))


def input_parameter(port: Port, *, is_ref: bool, tensors: bool) -> Parameter:
    """Return the parameter of an input."""
    name = lower_camel(port.name) + ("Ref" if is_ref else "")
    ctype = port.values if port.values and not tensors else carrier(port)
    return Parameter(name=name + suffix(port), ctype=ctype, const=not name.endswith("Ref"))


def output_parameter(port: Port, *, single: bool) -> Parameter:
    """Return the parameter of an output."""
    name = "out" if single else f"{lower_camel(port.name)}Out"
    return Parameter(name=name + suffix(port), ctype=carrier(port))


def attribute_parameter(attribute: Attribute) -> Parameter:
    """Return the parameter of an attribute."""
    ctype = attribute.ctype
    if ctype is None:
        raise PrototypeError(
            where=f"attribute {attribute.name}",
            got=f"type {attribute.kind!r}",
            allowed=sorted(ATTRIBUTE_TYPES),
            fix="aclnn functions have no such attribute; give the aclnn signature of your operator",
        )
    nullable = ctype in ARRAYS and not attribute.required
    return Parameter(
        name=lower_camel(attribute.name) + ("Optional" if nullable else ""),
        ctype=ctype,
        const=ctype in ARRAYS and ctype is not CType.TEXT,
    )


def carrier(port: Port) -> CType:
    """Return the type that carries a port."""
    if port.scalar:
        return CType.SCALAR_LIST if port.presence == "dynamic" else CType.SCALAR
    return CType.TENSOR_LIST if port.presence == "dynamic" else CType.TENSOR


def suffix(port: Port) -> str:
    """Return what the name of a port that may be null ends with."""
    return "Optional" if port.presence == "optional" else ""


def lower_camel(name: str) -> str:
    """Return an IR name as a C parameter's name.

    >>> lower_camel("block_table")
    'blockTable'
    """
    first, *rest = name.split("_")
    camel = first + "".join(part[:1].upper() + part[1:] for part in rest)
    return camel[:1].lower() + camel[1:]
