"""TorchAir's converters: the operator that each converts, and the GE types that it may make.

Read from the sources, without importing them. A converter makes the types that it names
(`ge.Cast(…)`, `custom_op("Cast", …)`), and those of the functions that it calls; a branch that is
not taken counts as well.
"""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.coverage.needed import package_folder

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

__all__ = ["Converter", "converters", "read_converters"]

FOLDER = "dynamo/torchair"
# The functions of the generated modules are the types themselves.
GENERATED = ("auto_generated_ge_raw_ops.py", "ge_apis.py")
REGISTER = "register_fx_node_ge_converter"
BY_TEXT = ("custom_op", "ge_op")
OPERATORS = "torch.ops."

Functions = dict[str, list[ast.FunctionDef]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Converter:
    """A converter.

    Parameters
    ----------
    operator
        Namespace, name and overload, as in `aten.add.Tensor`.
    types
        GE types that it may make; none if it only refuses.
    """

    operator: str
    types: tuple[str, ...]


def converters(types: Collection[str]) -> tuple[Converter, ...]:
    """Return the converters of the installed TorchAir.

    Parameters
    ----------
    types
        The GE types that exist.

    Raises
    ------
    PackageMissingError
        OPW-T030.
    """
    folder = package_folder("torch_npu") / FOLDER
    files = [file for file in sorted(folder.rglob("*.py")) if file.name not in GENERATED]
    return read_converters(map(read, files), types)


def read(file: Path) -> ast.Module:
    """Parse a file; what Python warns of in TorchAir's sources is not ours to mend."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(file.read_text(encoding="utf-8"))


def read_converters(files: Iterable[ast.Module], types: Collection[str]) -> tuple[Converter, ...]:
    """Return the converters that sources register, by operator.

    >>> source = '''
    ... @register_fx_node_ge_converter(torch.ops.aten.relu.default)
    ... def convert(x):
    ...     return clip(x)
    ... def clip(x):
    ...     return ge.Relu(x)
    ... '''
    >>> read_converters([ast.parse(source)], {"Relu"})
    (Converter(operator='aten.relu.default', types=('Relu',)),)
    """
    parsed = list(files)
    modules = [functions_of(file) for file in parsed]
    everywhere: Functions = {}
    for module in modules:
        for name, found in module.items():
            everywhere.setdefault(name, []).extend(found)
    made: dict[str, set[str]] = {}
    for file, module in zip(parsed, modules, strict=True):
        for operator, function in registrations(file, module):
            reached = reach(function, module, everywhere)
            made.setdefault(operator, set()).update(types_in(reached, types))
    return tuple(Converter(operator=name, types=tuple(sorted(made[name]))) for name in sorted(made))


def functions_of(file: ast.Module) -> Functions:
    """Return the functions of a file by name."""
    found: Functions = {}
    for node in ast.walk(file):
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, []).append(node)
    return found


def registrations(file: ast.Module, functions: Functions) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield operators and the functions that a file registers for them.

    A registration is a decorator, or a call: `register(operator)(function)`.
    """
    for found in functions.values():
        for function in found:
            for decorator in function.decorator_list:
                for operator in operators_in(decorator):
                    yield operator, function
    for node in ast.walk(file):
        if isinstance(node, ast.Call) and len(node.args) == 1:
            target = node.args[0]
            for operator in operators_in(node.func):
                name = target.id if isinstance(target, ast.Name) else ""
                yield from ((operator, function) for function in functions.get(name, []))


def operators_in(registration: ast.expr) -> Iterator[str]:
    """Yield the operator of `register_fx_node_ge_converter(torch.ops.…)`."""
    if (
        isinstance(registration, ast.Call)
        and isinstance(registration.func, ast.Name)
        and registration.func.id == REGISTER
    ):
        text = ast.unparse(registration.args[0])
        if text.startswith(OPERATORS):
            yield text.removeprefix(OPERATORS)


def reach(
    start: ast.FunctionDef, module: Mapping[str, list[ast.FunctionDef]], everywhere: Functions
) -> list[ast.FunctionDef]:
    """Return a function and those that it calls; a name of its own file comes first."""
    reached, left = [start], [start]
    while left:
        for name in find_called_names(left.pop()):
            for function in module.get(name) or everywhere.get(name, []):
                if function not in reached:
                    reached.append(function)
                    left.append(function)
    return reached


def find_called_names(function: ast.FunctionDef) -> Iterator[str]:
    """Yield the names of the plain functions that a function calls."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


def types_in(functions: Iterable[ast.FunctionDef], types: Collection[str]) -> Iterator[str]:
    """Yield the GE types that functions make."""
    for function in functions:
        for node in ast.walk(function):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            name = called.removeprefix("ge.")
            # Of some types TorchAir's function has no prototype in its text.
            if name in types or (name != called and name[:1].isupper()):
                yield name
            if name in BY_TEXT and isinstance(text := type_text(node), str):
                yield text


def type_text(call: ast.Call) -> object:
    """Return the literal type of `custom_op("Cast", …)` or `ge_op(op_type="Cast", …)`."""
    given = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "op_type")]
    return given[0].value if given and isinstance(given[0], ast.Constant) else None
