"""Which names of a piece of code are looked up in its module."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["bound_names", "module_names"]

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def module_names(node: ast.AST, hidden: frozenset[str] = frozenset()) -> Iterator[ast.Name]:
    """Return the names that are read and belong to the module.

    Parameters
    ----------
    hidden
        Names that an enclosing function has.
    """
    match node:
        case ast.Name(name, ast.Load()):
            if name not in hidden:
                yield node
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            yield from outside_of(node, hidden)
            inner = hidden | local_names(node)
            body: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else [*node.body]
            for statement in body:
                yield from module_names(statement, inner)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            targets = frozenset(
                name for generator in node.generators for name in find_stored(generator.target)
            )
            for part in ast.iter_child_nodes(node):
                yield from module_names(part, hidden | targets)
        case _:
            for part in ast.iter_child_nodes(node):
                yield from module_names(part, hidden)


def outside_of(node: FunctionNode, hidden: frozenset[str]) -> Iterator[ast.Name]:
    """Return the names in what is evaluated outside a function: defaults, annotations, ..."""
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [each for each in (arguments.vararg, arguments.kwarg) if each]
    parts: list[ast.AST | None] = [*arguments.defaults, *arguments.kw_defaults]
    parts += [each.annotation for each in every]
    if not isinstance(node, ast.Lambda):
        parts += [*node.decorator_list, node.returns]
    for part in parts:
        if part is not None:
            yield from module_names(part, hidden)


def local_names(node: FunctionNode) -> frozenset[str]:
    """Return the names that a function has itself."""
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [each for each in (arguments.vararg, arguments.kwarg) if each]
    names = {each.arg for each in every}
    if isinstance(node, ast.Lambda):
        return frozenset(names)
    of_module: set[str] = set()
    for part in node.body:
        names |= bound_names(part)
        of_module |= {
            name for each in ast.walk(part) if isinstance(each, ast.Global) for name in each.names
        }
    return frozenset(names - of_module)


def bound_names(node: ast.AST) -> set[str]:
    """Return the names that a statement binds where it stands."""
    match node:
        case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
            return {name}
        case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return set()
        case ast.Import(aliases):
            return {alias.asname or alias.name.partition(".")[0] for alias in aliases}
        case ast.ImportFrom(_, aliases):
            return {alias.asname or alias.name for alias in aliases}
        case ast.Name(name, ast.Store()):
            return {name}
    names = {node.name} if isinstance(node, ast.ExceptHandler) and node.name else set()
    if isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
        names.add(node.name)
    for part in ast.iter_child_nodes(node):
        names |= bound_names(part)
    return names


def find_stored(target: ast.AST) -> set[str]:
    """Return the names in the target of an assignment."""
    return {
        each.id
        for each in ast.walk(target)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
