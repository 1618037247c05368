"""Registrations of a Python file, and the functions that it registers."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from opwright.lint.definitions import (
    Converter,
    Definition,
    Function,
    Guard,
    Implementation,
    Kernel,
    Language,
    Open,
    Place,
)
from opwright.lint.python.forms import AnyDef
from opwright.lint.python.functions import read_function
from opwright.lint.python.names import plain_text
from opwright.lint.schema import SchemaProblem, read_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from opwright.lint.python.names import Scope

__all__ = ["Collected", "Node"]

Node = ast.stmt | ast.expr


class Collected:
    """Facts of one module."""

    def __init__(self, path: str, nodes: Sequence[ast.AST]) -> None:
        self.path = path
        self.definitions: list[Definition] = []
        self.implementations: list[Implementation] = []
        self.converters: list[Converter] = []
        self.opens: list[Open] = []
        self.nodes: dict[str, list[AnyDef]] = {}
        self.effectful: set[str] = set()
        self.read: dict[int, Function] = {}
        for node in nodes:
            if isinstance(node, AnyDef):
                self.nodes.setdefault(node.name, []).append(node)

    def place(self, node: Node) -> Place:
        """Return where a node begins."""
        return Place(self.path, node.lineno, node.col_offset + 1)

    def named(self, node: ast.expr | None) -> AnyDef | None:
        """Return the function that a name stands for: the last one defined before."""
        if not isinstance(node, ast.Name) or node.id not in self.nodes:
            return None
        before = [each for each in self.nodes[node.id] if each.lineno < node.lineno]
        return before[-1] if before else self.nodes[node.id][0]

    def function(self, node: AnyDef | ast.Lambda) -> Function:
        """Return a function of the file, read once."""
        if id(node) not in self.read:
            name = "" if isinstance(node, ast.Lambda) else node.name
            self.read[id(node)] = read_function(node, self.path, name)
        return self.read[id(node)]

    def helpers(self) -> Iterable[Function]:
        """Return the functions that registered ones call in this file, and those they call."""
        done = {each.name for each in self.read.values()}
        found = list(self.read.values())
        todo = [name for each in found for name in each.calls]
        while todo:
            name = todo.pop()
            if name in done or name not in self.nodes:
                continue
            done.add(name)
            function = self.function(self.nodes[name][-1])
            found.append(function)
            todo += function.calls
        return found

    @property
    def count(self) -> tuple[int, int]:
        """How many implementations and definitions there are."""
        return len(self.implementations), len(self.definitions)

    def move(self, since: tuple[int, int], place: Place) -> None:
        """Let what was added since stand in another place: where its registrar is called."""
        first, second = since
        self.implementations[first:] = [
            replace(each, place=place) for each in self.implementations[first:]
        ]
        self.definitions[second:] = [
            replace(each, place=place) for each in self.definitions[second:]
        ]

    def open(self, namespace: str | None, node: ast.expr) -> None:
        """Keep a registration that is not readable."""
        self.opens.append(Open(namespace=namespace, place=self.place(node), what=plain_text(node)))

    def define(
        self,
        namespace: str | None,
        written: str,
        node: Node,
        guards: tuple[Guard, ...],
        *,
        is_whole: bool = False,
    ) -> None:
        """Keep a definition by its schema.

        Parameters
        ----------
        is_whole
            Whether the library is one that only one place of a program may open.
        """
        plain = " ".join(written.split())
        schema, problem = None, None
        try:
            schema = read_schema(plain)
        except SchemaProblem as error:
            problem = str(error)
        head = plain.partition("(")[0].strip()
        own, sign, name = head.rpartition("::")
        name, _, overload = name.partition(".")
        if "(" not in plain:
            problem = "it does not begin with NAME("
        self.definitions.append(
            Definition(
                namespace=own if sign else namespace,
                name=name,
                overload=overload,
                text=plain,
                schema=schema,
                problem=problem,
                place=self.place(node),
                language=Language.PYTHON,
                guards=guards,
                block=Place(self.path, 1) if is_whole else None,
            )
        )

    def implement(
        self,
        operator: str | None,
        key: str | None,
        kernel: AnyDef | ast.expr | None,
        node: Node,
        guards: tuple[Guard, ...],
    ) -> None:
        """Keep an implementation."""
        if operator is None or "::" not in operator:
            self.opens.append(
                Open(namespace=None, place=self.place(node), what=ast.unparse(node)[:80])
            )
            return
        namespace, _, name = operator.partition("::")
        self.implementations.append(
            Implementation(
                namespace=namespace,
                name=name.removesuffix(".default"),
                key=key,
                kernel=self.kernel(kernel),
                place=self.place(node),
                language=Language.PYTHON,
                guards=guards,
            )
        )

    def kernel(self, node: AnyDef | ast.expr | None) -> Kernel:
        """Return what is registered."""
        if isinstance(node, AnyDef | ast.Lambda):
            name = None if isinstance(node, ast.Lambda) else node.name
            return Kernel(name=name, function=self.function(node))
        if (known := self.named(node)) is not None:
            return Kernel(name=known.name, function=self.function(known))
        name = None if node is None else plain_text(node)
        return Kernel(name=name, is_certain=False)

    def convert(
        self, operator: ast.expr | None, kernel: AnyDef | ast.expr, scope: Scope, node: Node
    ) -> None:
        """Keep a converter."""
        name = scope.operator(operator)
        if name is None or "::" not in name or not isinstance(kernel, AnyDef):
            return
        bare, _, overload = name.partition(".")
        self.converters.append(
            Converter(
                operator=bare,
                overload=overload,
                function=self.function(kernel),
                place=self.place(node),
            )
        )
