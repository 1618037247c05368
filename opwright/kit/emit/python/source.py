"""The declaration's file -> `_reference.py`: its functions without what declares operators.

Kept are the functions that kernels need and what they use, directly or not, of the module: helpers,
constants, imports; each as the author wrote it. The name of a declared operator in a function means
the operator, not its reference, and becomes a call through torch.ops.
"""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.kit.declare.backward import BackwardFunction
from opwright.kit.emit.edits import EditedText
from opwright.kit.emit.python.errors import (
    ForeignFunctionError,
    OpwrightUseError,
    SourceMissingError,
)
from opwright.kit.emit.python.scopes import bound_names, module_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from opwright.kit.declare.operator import Declaration, Operator
    from opwright.kit.derive.facts import SetFacts

__all__ = ["Extracted", "extract"]

Definition = ast.FunctionDef | ast.Lambda
OPS = "_ops"  # how the module calls torch.ops.<namespace>


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """The functions taken from the file.

    Parameters
    ----------
    imports
        Import statements; those for type checkers only come indented under their condition.
    body
        The other statements, without blank lines around.
    uses_operators
        Whether a function calls operators of the set.
    names
        How each function is called in the emitted module, by its identity.
    """

    imports: tuple[str, ...] = ()
    typing_imports: tuple[str, ...] = ()
    body: tuple[str, ...] = ()
    uses_operators: bool = False
    names: Mapping[int, str]

    def name(self, function: Callable[..., object]) -> str:
        """Return how a function is called in the emitted module."""
        return self.names[id(function)]


def list_shipped_functions(
    facts: SetFacts,
) -> Iterator[tuple[Operator, str, Callable[..., object]]]:
    """Return the functions that kernels need: operator, what it is of it, function."""
    for each in facts.operators:
        if each.role != "declared":
            continue
        operator = each.operator
        if operator.reference is not None:
            yield operator, "reference", operator.reference
        if isinstance(operator.backward, BackwardFunction):
            yield operator, "backward", operator.backward.function
        if operator.converter is not None:
            yield operator, "converter", operator.converter
        if not isinstance(operator.vmap, str):
            yield operator, "vmap", operator.vmap


def extract(facts: SetFacts) -> Extracted:
    """Take the functions from the declaration's file.

    Raises
    ------
    OpwrightUseError, ForeignFunctionError, SourceMissingError
        OPW-E001 to OPW-E003.
    """
    functions = tuple(list_shipped_functions(facts))
    if not functions:
        return Extracted(names={})
    if not facts.declaration.source.text:
        raise SourceMissingError(
            where=str(facts.declaration.place), got=f"{len(functions)} functions to ship"
        )
    return Extraction(facts.declaration).run(functions)


class Extraction:
    """The file's statements, and what is to be kept and changed of them."""

    def __init__(self, declaration: Declaration) -> None:
        self.declaration = declaration
        self.file = declaration.place.file
        self.text = EditedText(declaration.source.text)
        tree = ast.parse(declaration.source.text)
        self.typing_only: set[int] = set()
        self.statements = list(self.flatten(tree.body))
        self.bound: dict[str, list[ast.stmt]] = {}
        for statement in self.statements:
            for name in bound_names(statement):
                self.bound.setdefault(name, []).append(statement)
        self.declaring = self.declaring_names()
        self.operators: dict[str, str] = {}  # name in the file -> full name
        self.kept: dict[int, ast.stmt] = {}
        self.uses_operators = False

    def flatten(self, body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
        """Return the statements of the module, with those of `if TYPE_CHECKING`.

        A module of `import a, b` may be needed without the others: it gets a statement of its own.
        """
        for statement in body:
            match statement:
                case ast.If(
                    ast.Name("TYPE_CHECKING") | ast.Attribute(_, "TYPE_CHECKING"), inner, []
                ):
                    separate = list(self.flatten(inner))
                    self.typing_only |= {id(each) for each in separate}
                    yield from separate
                case ast.Import(modules):
                    for module in modules:
                        yield ast.copy_location(ast.Import([module]), statement)
                case _:
                    yield statement

    def declaring_names(self) -> set[str]:
        """Return the module's names that only mean something with opwright."""
        names = {
            name
            for statement in self.statements
            if is_opwright_import(statement)
            for name in bound_names(statement)
        }
        while True:
            more = {
                name
                for statement in self.statements
                if isinstance(statement, ast.Assign | ast.AnnAssign)
                and any(each.id in names for each in module_names(statement))
                for name in bound_names(statement)
            }
            if more <= names:
                return names
            names |= more

    def run(self, functions: tuple[tuple[Operator, str, Callable[..., object]], ...]) -> Extracted:
        """Keep what is needed."""
        found = [
            (operator, kind, function, self.definition(operator, kind, function))
            for operator, kind, function in functions
        ]
        for operator, kind, _, node in found:
            if kind == "reference" and isinstance(node, ast.FunctionDef):
                self.operators[node.name] = operator.name
        names = self.rename(found)
        for _, _, _, node in found:
            self.keep(node, node)
        self.keep_changes()
        return self.result(names)

    def definition(
        self, operator: Operator, kind: str, function: Callable[..., object]
    ) -> Definition:
        """Return where a function is defined."""
        code = getattr(function, "__code__", None)
        where = f"{operator.place}, operator {self.declaration.namespace}::{operator.name}, {kind}"
        if code is None or code.co_filename != self.file:
            module, name = (
                getattr(function, "__module__", None),
                getattr(function, "__qualname__", None),
            )
            raise ForeignFunctionError(
                where=where, got=f"a function of another file: {module}.{name}"
            )
        for statement in self.statements:
            for node in ast.walk(statement):
                if not isinstance(node, Definition) or first_line(node) != code.co_firstlineno:
                    continue
                if isinstance(node, ast.Lambda) == (code.co_name == "<lambda>"):
                    if node is not statement and not isinstance(node, ast.Lambda):
                        break
                    return node
        raise ForeignFunctionError(
            where=where, got=f"a function inside another one: {function.__qualname__}"
        )

    def rename(
        self, found: list[tuple[Operator, str, Callable[..., object], Definition]]
    ) -> dict[int, str]:
        """Give each function a name of its own: several may be called `_`."""
        nodes = [node for _, _, _, node in found]
        taken = {
            name
            for name, statements in self.bound.items()
            if not any(statement in nodes for statement in statements)
        }
        names: dict[int, str] = {}
        for operator, kind, function, node in found:
            own = node.name if isinstance(node, ast.FunctionDef) else ""
            is_plain = own.strip("_") and own not in taken
            name = own if is_plain else f"{operator.name.strip('_').replace('.', '_')}_{kind}"
            while name in taken:
                name += "_"
            taken.add(name)
            names[id(function)] = name
            if isinstance(node, ast.FunctionDef) and name != own:
                column = len(b"def ") + node.col_offset
                stop = (node.lineno, column + len(own.encode()))
                self.text.replace((node.lineno, column), stop, name)
        self.lambdas = {
            id(node): names[id(function)]
            for _, _, function, node in found
            if isinstance(node, ast.Lambda)
        }
        return names

    def keep_changes(self) -> None:
        """Keep statements that change what is kept, such as `TABLE["key"] = value`."""
        for statement in self.statements:
            if not isinstance(statement, ast.Expr | ast.Assign | ast.AugAssign):
                continue
            names = {name.id for name in module_names(statement)}
            constants = {
                name
                for name in names & self.bound.keys()
                if any(
                    isinstance(each, ast.Assign | ast.AnnAssign) and id(each) in self.kept
                    for each in self.bound[name]
                )
            }
            if constants and not names & (self.declaring | self.operators.keys()):
                self.keep(statement)

    def keep(self, statement: ast.stmt | ast.Lambda, definition: ast.AST | None = None) -> None:
        """Keep a statement, and what it uses."""
        if id(statement) in self.kept:
            return
        self.kept[id(statement)] = statement  # type: ignore[assignment]  # lambdas are written apart
        if isinstance(statement, ast.FunctionDef):
            self.drop_decorators(statement, is_declared=definition is not None)
        if isinstance(statement, ast.Import | ast.ImportFrom):
            return
        for inner in ast.walk(statement):
            if isinstance(inner, ast.Import | ast.ImportFrom) and is_opwright_import(inner):
                raise self.misuse(inner, ast.unparse(inner))
        dropped = {id(each) for d in self.dropped(statement) for each in ast.walk(d)}
        parents = {
            id(child): parent
            for parent in ast.walk(statement)
            for child in ast.iter_child_nodes(parent)
        }
        for name in module_names(statement):
            if id(name) not in dropped:
                self.use(name, parents.get(id(name)))

    def dropped(self, statement: ast.AST) -> list[ast.expr]:
        """Return the decorators of a function that declare something."""
        if not isinstance(statement, ast.FunctionDef):
            return []
        roots = self.declaring | self.operators.keys()
        return [
            decorator for decorator in statement.decorator_list if root_name(decorator) in roots
        ]

    def drop_decorators(self, statement: ast.FunctionDef, *, is_declared: bool) -> None:
        """Remove the decorators that declare something."""
        for decorator in self.dropped(statement):
            if not is_declared:
                raise self.misuse(decorator, ast.unparse(decorator))
            assert decorator.end_lineno is not None
            following = decorator.end_lineno + 1
            self.text.replace((decorator.lineno, 0), (following, 0), "")

    def use(self, name: ast.Name, parent: ast.AST | None) -> None:
        """Keep what a name stands for, or replace it by the operator that it means."""
        if name.id in self.operators:
            assert name.end_col_offset is not None
            if isinstance(parent, ast.Attribute) and parent.attr == "reference":
                assert parent.end_lineno is not None
                assert parent.end_col_offset is not None
                stop = (parent.end_lineno, parent.end_col_offset)
                self.text.replace((name.lineno, name.col_offset), stop, name.id)
                return
            self.uses_operators = True
            packet, _, overload = self.operators[name.id].partition(".")
            self.text.replace(
                (name.lineno, name.col_offset),
                (name.lineno, name.end_col_offset),
                f"{OPS}.{packet}.{overload or 'default'}",
            )
        elif name.id in self.declaring:
            raise self.misuse(
                name, ast.unparse(parent) if isinstance(parent, ast.Attribute) else name.id
            )
        elif name.id in self.bound:
            for statement in self.bound[name.id]:
                self.keep(statement)
        elif not hasattr(builtins, name.id) and name.id not in {"__name__", "__file__"}:
            raise ForeignFunctionError(
                where=f"{self.file}:{name.lineno}",
                got=f"the name {name.id!r}, which the file does not define",
                fix="define or import it at the top level of the file",
            )

    def misuse(self, node: ast.AST, text: str) -> OpwrightUseError:
        """Return the error for a use of opwright."""
        line = getattr(node, "lineno", 0)
        return OpwrightUseError(where=f"{self.file}:{line}", got=text)

    def result(self, names: dict[int, str]) -> Extracted:
        """Write what is kept."""
        imports: list[str] = []
        typing_imports: list[str] = []
        body: list[str] = []
        used = self.used_names()
        for statement in self.statements:
            is_import = isinstance(statement, ast.Import | ast.ImportFrom)
            if id(statement) not in self.kept or is_opwright_import(statement):
                continue
            if is_import:
                text = ast.unparse(filter_import(statement, used))
                (typing_imports if id(statement) in self.typing_only else imports).append(text)
            else:
                body.append(self.written(statement))
        body += [
            f"{self.lambdas[key]} = {self.written(node)}"
            for key, node in self.kept.items()
            if isinstance(node, ast.Lambda)
        ]
        return Extracted(
            imports=tuple(dict.fromkeys(imports)),
            typing_imports=tuple(dict.fromkeys(typing_imports)),
            body=tuple(body),
            uses_operators=self.uses_operators,
            names=names,
        )

    def used_names(self) -> set[str]:
        """Return the module's names that kept statements use."""
        return {
            name.id
            for statement in self.kept.values()
            if not isinstance(statement, ast.Import | ast.ImportFrom)
            for name in module_names(statement)
        }

    def written(self, node: ast.stmt | ast.Lambda) -> str:
        """Return a statement as the author wrote it, with its comment above and with the edits."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        lines = self.text.lines
        start = (node.lineno, node.col_offset)
        if not isinstance(node, ast.Lambda):
            decorators = getattr(node, "decorator_list", [])
            line = min([node.lineno, *(each.lineno for each in decorators)])
            while line > 1 and lines[line - 2].lstrip().startswith(b"#"):
                line -= 1
            start = (line, 0 if id(node) not in self.typing_only else node.col_offset)
        stop = (node.end_lineno, node.end_col_offset)
        if not isinstance(node, ast.Lambda):
            rest = lines[stop[0] - 1][stop[1] :]
            if rest.lstrip().startswith(b"#"):
                stop = (stop[0], len(lines[stop[0] - 1].rstrip()))
        return self.text.part(start, stop).rstrip()


def first_line(node: Definition) -> int:
    """Return the line that a function's code names: that of its first decorator."""
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def is_opwright_import(node: ast.AST) -> bool:
    """Return whether a statement imports opwright or something of it."""
    match node:
        case ast.Import(aliases):
            return any(alias.name.partition(".")[0] == "opwright" for alias in aliases)
        case ast.ImportFrom(str(module), _, 0):
            return module.partition(".")[0] == "opwright"
    return False


def root_name(node: ast.expr) -> str | None:
    """Return the first name of `name.attribute(...)`."""
    while True:
        match node:
            case ast.Name(name):
                return name
            case ast.Attribute(inner) | ast.Call(inner):
                node = inner
            case _:
                return None


def filter_import(node: ast.stmt, used: set[str]) -> ast.stmt:
    """Return an import with only the names that are used."""
    match node:
        case ast.Import(aliases):
            kept = [a for a in aliases if (a.asname or a.name.partition(".")[0]) in used]
            return ast.Import(kept)
        case ast.ImportFrom(module, aliases, level):
            kept = [a for a in aliases if (a.asname or a.name) in used]
            return ast.ImportFrom(module, kept, level)
    return node
