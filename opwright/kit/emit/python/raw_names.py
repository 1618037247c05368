"""The names in a module of graph-building functions, as TorchAir's generator gives them.

A name of a prototype that Python cannot have gets the suffix that the generator appends. What the
generator makes invalid Python of, two parameters of one name, gets a suffix of our own.
"""

from __future__ import annotations

import keyword
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.kit.emit.python.prototypes import ATTRIBUTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from opwright.aclnn.prototype import Attribute, Prototype

__all__ = ["IMPORTS", "Names", "aliases", "names_of", "node_function", "order_given"]

IS_KEYWORD = "_changed_as_is_python_key"
IS_INPUT = "_changed_as_duplicate_with_input"
IS_RESERVED = "_changed_as_is_reserved"
# Parameters of every function.
COMMON = ("dependencies", "node_name")
# Where the names that functions use come from.
IMPORTS = {
    "typing": ("List", "Optional"),
    "torchair._ge_concrete_graph.compat_ir": ("IrDef", "ge_op"),
    "torchair.ge": ("DataType", "Tensor", "attr"),
    "torchair.ge._ge_graph": ("TensorType", "auto_convert_to_tensor"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The parameters of a function.

    Parameters
    ----------
    inputs
        In the order of the prototype.
    attributes
        In the order of `order_given`.
    sizes
        By the name of a dynamic output, the parameter with the number of its tensors.
    """

    inputs: tuple[str, ...]
    attributes: tuple[str, ...]
    sizes: Mapping[str, str]


def node_function(prototype: Prototype) -> str:
    """Return the name of the function; with a dynamic output it begins with an underscore."""
    is_dynamic = any(port.presence == "dynamic" for port in prototype.outputs)
    return ("_" if is_dynamic else "") + python_name(prototype.op_type)


def order_given(prototype: Prototype) -> tuple[Attribute, ...]:
    """Return the attributes that a function can be given: those without a default first."""
    kept = [each for each in prototype.attributes if each.type_name in ATTRIBUTES]
    return tuple(sorted(kept, key=lambda each: not each.required))


def names_of(prototype: Prototype) -> Names:
    """Return the names of the parameters, each once."""
    sizes = {
        port.name: f"size_of_{python_name(port.name)}"
        for port in prototype.outputs
        if port.presence == "dynamic"
    }
    taken = {*COMMON, *sizes.values()}
    inputs = {port.name for port in prototype.inputs}

    def parameter(name: str, *, is_input: bool) -> str:
        made = name + IS_INPUT if name in inputs and not is_input else python_name(name)
        if made in taken:
            made = free(made + IS_RESERVED, taken)
        taken.add(made)
        return made

    return Names(
        inputs=tuple(parameter(port.name, is_input=True) for port in prototype.inputs),
        attributes=tuple(parameter(each.name, is_input=False) for each in order_given(prototype)),
        sizes=sizes,
    )


def python_name(name: str) -> str:
    """Return a name of C++ as one of Python.

    >>> python_name("lambda"), python_name("x")
    ('lambda_changed_as_is_python_key', 'x')
    """
    return name + IS_KEYWORD if keyword.iskeyword(name) else name


def free(name: str, taken: set[str]) -> str:
    """Return a name that is not taken."""
    while name in taken:
        name += "_"
    return name


def aliases(prototypes: Iterable[Prototype]) -> dict[str, str]:
    """Return for each imported name the one that functions use.

    It is another one only where an operator or a parameter has that name and would hide it.
    """
    taken = {name for each in prototypes for name in find_defined(each)}
    found: dict[str, str] = {}
    for name in (each for names in IMPORTS.values() for each in names):
        found[name] = free(name, taken)
        taken.add(found[name])
    return found


def find_defined(prototype: Prototype) -> Iterator[str]:
    """Yield the names that a function defines."""
    names = names_of(prototype)
    yield from (node_function(prototype), *names.inputs, *names.attributes, *names.sizes.values())
