"""A Python file -> its facts: registrations by torch.library, and TorchAir converters."""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING

from opwright.lint.definitions import (
    FileFacts,
    Guard,
    Place,
    Site,
)
from opwright.lint.python.collected import Collected
from opwright.lint.python.forms import (
    DIRECT,
    FAKES,
    AnyDef,
    evaluate_truth,
    find_imported_libraries,
    find_in_scope,
    imports_of,
    is_registrar,
    is_torch,
    match_arguments,
    parameter_names,
)
from opwright.lint.python.names import LibraryVariable, Scope, plain_text
from opwright.lint.python.registrations import (
    custom_op,
    define_call,
    direct,
    library_call,
    match_opened_library,
    register,
)
from opwright.lint.suppressions import read_suppressions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["LibraryVariable", "is_relevant", "module_libraries", "read_python"]

MARKS = (
    *(b"torch.library", b"Library(", b"register_fx_node_ge_converter", b"register_fake"),
    *(b"impl_abstract", b"custom_op", b"triton_op", b"side_effect", b"effectful"),
)
DEEPEST = 4  # functions that register, called by each other


def is_relevant(data: bytes) -> bool:
    """Return whether a file can register operators."""
    return any(mark in data for mark in MARKS)


def module_libraries(path: str, data: bytes) -> dict[tuple[str, str], LibraryVariable]:
    """Return the libraries that a module's names stand for, by module and name.

    Other files import them. A file that is no Python has none; read_python says so.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    nodes = tuple(ast.walk(tree))
    scope = Scope(imports_of(nodes))
    reader = Reader(path, tree, nodes)
    for each in tree.body:
        if isinstance(each, ast.Assign):
            for target in each.targets:
                reader.bind(target, each.value, scope)
    parts = path.rpartition(".")[0].removesuffix("/__init__").rpartition("/")
    return {(parts[2], name): library for name, library in scope.libraries.items()}


def read_python(
    path: str, data: bytes, shared: Mapping[tuple[str, str], LibraryVariable] | None = None
) -> FileFacts:
    """Read a file; one that is no Python says only that.

    Parameters
    ----------
    shared
        Libraries that other modules have.
    """
    suppressions = read_suppressions(path, data, (b"#",))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in the sources of others
            tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = (error.lineno or 1) if isinstance(error, SyntaxError) else 1
        problem = Site(Place(path, line), f"no Python: {error.args[0] if error.args else error}")
        return FileFacts(path=path, problems=(problem,), suppressions=suppressions)
    nodes = tuple(ast.walk(tree))
    reader = Reader(path, tree, nodes)
    scope = Scope(imports_of(nodes))
    if shared:
        scope.libraries.update(find_imported_libraries(nodes, shared))
    reader.body(tree.body, scope, ())
    return FileFacts(
        path=path,
        definitions=tuple(reader.found.definitions),
        implementations=tuple(reader.found.implementations),
        functions=tuple(reader.found.helpers()),
        converters=tuple(reader.found.converters),
        opens=tuple(reader.found.opens),
        suppressions=suppressions,
        effectful=frozenset(reader.found.effectful),
    )


class Reader:
    """Reads the statements of one module, in their order."""

    def __init__(self, path: str, tree: ast.Module, nodes: Sequence[ast.AST]) -> None:
        self.found = Collected(path, nodes)
        self.inlining: list[str] = []
        # Functions of the module that register under names which their callers give.
        outer = {id(each) for each in tree.body}
        called = {
            each.func.id
            for each in nodes
            if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)
        }
        self.registrars = {
            node.name: node
            for nodes in self.found.nodes.values()
            for node in nodes
            if node.name in called and id(node) in outer and is_registrar(node)
        }

    def body(self, statements: Iterable[ast.stmt], scope: Scope, guards: tuple[Guard, ...]) -> None:
        """Read statements in their order."""
        for each in statements:
            self.statement(each, scope, guards)

    def statement(  # noqa: PLR0912 - one branch per kind of statement
        self, node: ast.stmt, scope: Scope, guards: tuple[Guard, ...]
    ) -> None:
        """Read one statement."""
        if isinstance(node, AnyDef):
            for decorator in node.decorator_list:
                self.decorated(decorator, node, scope, guards)
            if node.name not in self.registrars:  # such a one is read where it is called
                self.body(node.body, scope.inner(), guards)
            return
        if isinstance(node, ast.ClassDef):
            self.body(node.body, scope.inner(), guards)
            return
        if isinstance(node, ast.If | ast.Try | ast.For | ast.While):
            self.branches(node, scope, guards)
            return
        if isinstance(node, ast.With):
            for item in node.items:
                if item.optional_vars is not None:
                    self.bind(item.optional_vars, item.context_expr, scope)
            self.body(node.body, scope, guards)
            return
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self.bind(target, node.value, scope)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self.bind(node.target, node.value, scope)
        for each in ast.walk(node):
            if isinstance(each, ast.Call):
                self.call(each, scope, guards)

    def branches(
        self, node: ast.If | ast.Try | ast.For | ast.While, scope: Scope, guards: tuple[Guard, ...]
    ) -> None:
        """Read the branches of a statement; those of an if are never taken together."""
        start = node.lineno
        if isinstance(node, ast.If) and (truth := evaluate_truth(node.test, scope)) is not None:
            self.body(node.body if truth else node.orelse, scope, guards)
            return
        if isinstance(node, ast.For) and self.unrolled(node, scope, guards):
            return
        if isinstance(node, ast.For):
            inner = scope.inner()
            for each in ast.walk(node.target):
                if isinstance(each, ast.Name):
                    inner.constants.pop(each.id, None)
            scope = inner
        parts: list[list[ast.stmt]] = [node.body, node.orelse]
        if isinstance(node, ast.Try):
            parts = [[*node.body, *node.orelse], *(each.body for each in node.handlers)]
            parts.append(node.finalbody)
        for branch, part in enumerate(parts):
            self.body(part, scope, (*guards, Guard(start, branch)))

    def unrolled(self, node: ast.For, scope: Scope, guards: tuple[Guard, ...]) -> bool:
        """Read a loop over texts of the source, once for each; return whether it is one."""
        if not isinstance(node.iter, ast.Tuple | ast.List) or not isinstance(node.target, ast.Name):
            return False
        texts = [scope.string(each) for each in node.iter.elts]
        if None in texts:
            return False
        for each in texts:
            inner = scope.inner()
            inner.constants[node.target.id] = each or ""
            self.body(node.body, inner, guards)
        return True

    def bind(self, target: ast.expr, value: ast.expr, scope: Scope) -> None:
        """Keep what a name stands for: a text, a library, an operator."""
        name = plain_text(target)
        scope.libraries.pop(name, None)
        scope.constants.pop(name, None)
        if (written := scope.string(value)) is not None:
            scope.constants[name] = written
        if isinstance(value, ast.Call):
            library = match_opened_library(value, scope)
            if library is not None:
                scope.libraries[name] = library
        elif isinstance(value, ast.Name | ast.Attribute):
            known = scope.libraries.get(plain_text(value))
            if known is not None:
                scope.libraries[name] = known

    def decorated(
        self, decorator: ast.expr, node: AnyDef, scope: Scope, guards: tuple[Guard, ...]
    ) -> None:
        """Read a decorator that registers the function below it."""
        if isinstance(decorator, ast.Attribute):  # @op.register_fake
            owner = plain_text(decorator.value)
            if owner in scope.operators and decorator.attr in FAKES:
                self.found.implement(scope.operators[owner], "Meta", node, node, guards)
            return
        if not isinstance(decorator, ast.Call):
            return
        register(self.found, decorator, node, scope, guards)

    def call(  # noqa: C901, PLR0912 - one branch per form of registration
        self, node: ast.Call, scope: Scope, guards: tuple[Guard, ...]
    ) -> None:
        """Read a call in a statement."""
        if isinstance(node.func, ast.Call):  # impl("ns::op", "cpu")(function)
            target = node.args[0] if node.args else None
            if (kernel := self.found.named(target)) is not None:
                register(self.found, node.func, kernel, scope, guards)
            return
        function = node.func
        if isinstance(function, ast.Name) and function.id in self.registrars:
            self.inline(node, self.registrars[function.id], scope, guards)
            return
        if "side_effect" in plain_text(function) or "effectful" in plain_text(function):
            for argument in node.args:
                if (operator := scope.operator(argument)) is not None:
                    self.found.effectful.add(operator)
        if isinstance(function, ast.Attribute):
            library = scope.libraries.get(plain_text(function.value))
            if library is not None:
                library_call(self.found, node, function.attr, library, scope, guards)
                return
        name = scope.dotted(function)
        bare = name.rpartition(".")[2]
        if name.rpartition(".")[0] in scope.operators:
            self.of_operator(node, bare, scope, guards)
        elif bare == "define" and name.startswith("torch"):
            define_call(self.found, node, scope, guards)
        elif bare == DIRECT:
            direct(self.found, node, scope, guards)
        elif bare in {"register_fake", "impl_abstract", "register_kernel", "impl"}:
            count = 1 if bare in FAKES else 2
            if is_torch(name) and len(node.args) > count and scope.string(node.args[-1]) is None:
                register(self.found, node, find_in_scope(node.args[-1], scope), scope, guards)
        elif bare == "custom_op" and is_torch(name):
            operator_function = self.found.named(node.args[-1] if node.args else None)
            if operator_function is not None:
                custom_op(self.found, node, operator_function, scope, guards)

    def of_operator(
        self, node: ast.Call, member: str, scope: Scope, guards: tuple[Guard, ...]
    ) -> None:
        """Read op.register_fake(function), op.register_kernel(device, function)."""
        function = self.found.named(node.args[-1] if node.args else None)
        if function is not None and member in {*FAKES, "register_kernel"}:
            register(self.found, node, function, scope, guards)

    def inline(
        self, node: ast.Call, function: AnyDef, scope: Scope, guards: tuple[Guard, ...]
    ) -> None:
        """Read the body of a function that registers, with the arguments of one call of it."""
        if function.name in self.inlining or len(self.inlining) >= DEEPEST:
            self.found.open(None, node)
            return
        inner = scope.inner()
        given = match_arguments(function, node)
        for name in parameter_names(function):
            for known in (inner.constants, inner.libraries, inner.functions):
                known.pop(name, None)
            if name in given:
                self.bind_argument(name, given[name], scope, inner)
        self.inlining.append(function.name)
        before = self.found.count
        self.body(function.body, inner, guards)
        self.inlining.pop()
        self.found.move(before, self.found.place(node))

    def bind_argument(self, name: str, value: ast.expr, outer: Scope, inner: Scope) -> None:
        """Let a parameter stand for the argument of a call."""
        if (written := outer.string(value)) is not None:
            inner.constants[name] = written
        elif isinstance(value, ast.Lambda):
            inner.functions[name] = value
        elif isinstance(value, ast.Name | ast.Attribute):
            known = outer.libraries.get(plain_text(value))
            if known is not None:
                inner.libraries[name] = known
            elif (function := self.found.named(value)) is not None:
                inner.functions[name] = function
