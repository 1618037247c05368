"""Facts before Python registrations are read: imports, registrars, conditions."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from opwright.lint.python.names import TORCH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opwright.lint.python.names import LibraryVariable, Scope

__all__ = [
    "DIRECT",
    "FAKES",
    "AnyDef",
    "evaluate_truth",
    "find_imported_libraries",
    "find_in_scope",
    "imports_of",
    "is_registrar",
    "is_torch",
    "match_arguments",
    "parameter_names",
]

FAKES = frozenset({"register_fake", "impl_abstract", "register_meta"})
DIRECT = "direct_register_custom_op"
AnyDef = ast.FunctionDef | ast.AsyncFunctionDef


def find_imported_libraries(
    nodes: Sequence[ast.AST], shared: Mapping[tuple[str, str], LibraryVariable]
) -> dict[str, LibraryVariable]:
    """Return the libraries that a module imports from others."""
    found = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            module = (node.module or "").rpartition(".")[2]
            for each in node.names:
                if (module, each.name) in shared:
                    found[each.asname or each.name] = shared[module, each.name]
    return found


def imports_of(nodes: Sequence[ast.AST]) -> dict[str, str]:
    """Return what imported names stand for."""
    found = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for each in node.names:
                if each.asname:
                    found[each.asname] = each.name
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for each in node.names:
                found[each.asname or each.name] = f"{node.module}.{each.name}"
    return found


def find_in_scope(node: ast.expr, scope: Scope) -> AnyDef | ast.expr:
    """Return the function that a parameter stands for."""
    if isinstance(node, ast.Name) and node.id in scope.functions:
        return scope.functions[node.id]
    return node


def parameter_names(function: AnyDef) -> list[str]:
    """Return the names of a function's parameters."""
    given = function.args
    return [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def match_arguments(function: AnyDef, call: ast.Call) -> dict[str, ast.expr]:
    """Return what the parameters of a function get in a call: arguments, or defaults."""
    own = function.args
    names = [each.arg for each in (*own.posonlyargs, *own.args)]
    values: dict[str, ast.expr] = {}
    values.update(zip(reversed(names), reversed(own.defaults), strict=False))
    for word, default in zip(own.kwonlyargs, own.kw_defaults, strict=True):
        if default is not None:
            values[word.arg] = default
    values.update(zip(names, call.args, strict=False))
    values.update({each.arg: each.value for each in call.keywords if each.arg})
    return values


def is_registrar(function: AnyDef) -> bool:
    """Return whether a function registers under names that its caller gives."""
    names = set(parameter_names(function))
    if not names:
        return False
    members = {"impl", "define", "_register_fake", "Library", *FAKES, "register_kernel", DIRECT}
    for node in ast.walk(function):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        name = node.func.id if isinstance(node.func, ast.Name) else name
        if name in members:
            values = [*node.args, *(each.value for each in node.keywords)]
            used = {
                each.id
                for value in values
                for each in ast.walk(value)
                if isinstance(each, ast.Name)
            }
            if used & names:
                return True
    return False


def evaluate_truth(test: ast.expr, scope: Scope) -> bool | None:
    """Return whether a condition on texts holds, None if that is not known."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        left, right = scope.string(test.left), scope.string(test.comparators[0])
        if left is None or right is None:
            return None
        if isinstance(test.ops[0], ast.Eq):
            return left == right
        if isinstance(test.ops[0], ast.NotEq):
            return left != right
    if isinstance(test, ast.Name) and (value := scope.string(test)) is not None:
        return bool(value)
    return None


def is_torch(name: str) -> bool:
    """Return whether a dotted name is one of torch.library or of its predecessors."""
    scope, _, bare = name.rpartition(".")
    return bare in TORCH and (scope.startswith("torch") or scope == "library")
