"""A Python file -> its facts: registrations by torch.library, and TorchAir converters."""

from __future__ import annotations

import ast
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

from opwright.lint.facts import (
    Converter,
    Definition,
    FileFacts,
    Function,
    Guard,
    Implementation,
    Kernel,
    Language,
    Open,
    Place,
    Site,
)
from opwright.lint.python.forms import (
    DIRECT,
    FAKES,
    AnyDef,
    imported_libraries,
    imports_of,
    in_scope,
    is_registrar,
    is_torch,
    known_truth,
)
from opwright.lint.python.functions import read_function
from opwright.lint.python.inference import inferred_schema
from opwright.lint.python.names import LibraryVariable, Scope, plain_text
from opwright.lint.schema import ForeignSchema, SchemaProblem, read_schema
from opwright.lint.suppressions import read_suppressions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["LibraryVariable", "is_relevant", "module_libraries", "read_python"]

MARKS = (
    *(b"torch.library", b"Library(", b"register_fx_node_ge_converter", b"register_fake"),
    *(b"impl_abstract", b"custom_op", b"triton_op", b"side_effect", b"effectful"),
)
KEY = 2  # where a dispatch key stands among the arguments of Library, lib.impl and impl
DEEPEST = 4  # functions that register, called by each other
CONVERTER = "register_fx_node_ge_converter"
Node = ast.stmt | ast.expr
DEVICES = {
    "cpu": "CPU",
    "cuda": "CUDA",
    "npu": "PrivateUse1",
    "privateuseone": "PrivateUse1",
    "xpu": "XPU",
    "meta": "Meta",
}


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
    scope = Scope(imports_of(tree))
    reader = Reader(path, tree)
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
    reader = Reader(path, tree)
    scope = Scope(imports_of(tree))
    if shared:
        scope.libraries.update(imported_libraries(tree, shared))
    reader.body(tree.body, scope, ())
    return FileFacts(
        path=path,
        definitions=tuple(reader.definitions),
        implementations=tuple(reader.implementations),
        functions=tuple(reader.helpers()),
        converters=tuple(reader.converters),
        opens=tuple(reader.opens),
        suppressions=suppressions,
        effectful=frozenset(reader.effectful),
    )


class Reader:
    """Reads one module."""

    def __init__(self, path: str, tree: ast.Module) -> None:
        self.path = path
        self.definitions: list[Definition] = []
        self.implementations: list[Implementation] = []
        self.converters: list[Converter] = []
        self.opens: list[Open] = []
        self.nodes: dict[str, list[AnyDef]] = {}
        self.effectful: set[str] = set()
        self.inlining: list[str] = []
        self.read: dict[int, Function] = {}
        for node in ast.walk(tree):
            if isinstance(node, AnyDef):
                self.nodes.setdefault(node.name, []).append(node)
        # Functions of the module that register under names which their callers give.
        outer = {id(each) for each in tree.body}
        called = {
            each.func.id
            for each in ast.walk(tree)
            if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)
        }
        self.registrars = {
            node.name: node
            for nodes in self.nodes.values()
            for node in nodes
            if node.name in called and id(node) in outer and is_registrar(node)
        }

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
        if isinstance(node, ast.If) and (truth := known_truth(node.test, scope)) is not None:
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
            called = scope.dotted(value.func).rpartition(".")[2]
            if called in {"Library", "_scoped_library"}:
                given = [*value.args]
                words = {each.arg: each.value for each in value.keywords}
                namespace = given[0] if given else words.get("ns")
                kind = given[1] if len(given) > 1 else words.get("kind")
                key = given[KEY] if len(given) > KEY else words.get("dispatch_key")
                scope.libraries[name] = LibraryVariable(
                    scope.string(namespace), scope.string(kind) or "", scope.string(key) or None
                )
        elif isinstance(value, ast.Name | ast.Attribute):
            known = scope.libraries.get(plain_text(value))
            if known is not None:
                scope.libraries[name] = known

    # -- registrations ---------------------------------------------------------------------------

    def decorated(
        self, decorator: ast.expr, node: AnyDef, scope: Scope, guards: tuple[Guard, ...]
    ) -> None:
        """Read a decorator that registers the function below it."""
        if isinstance(decorator, ast.Attribute):  # @op.register_fake
            owner = plain_text(decorator.value)
            if owner in scope.operators and decorator.attr in FAKES:
                self.implement(scope.operators[owner], "Meta", node, node, guards)
            return
        if not isinstance(decorator, ast.Call):
            return
        self.register(decorator, node, scope, guards)

    def call(  # noqa: C901, PLR0912 - one branch per form of registration
        self, node: ast.Call, scope: Scope, guards: tuple[Guard, ...]
    ) -> None:
        """Read a call in a statement."""
        if isinstance(node.func, ast.Call):  # impl("ns::op", "cpu")(function)
            target = node.args[0] if node.args else None
            if (kernel := self.named(target)) is not None:
                self.register(node.func, kernel, scope, guards)
            return
        function = node.func
        if isinstance(function, ast.Name) and function.id in self.registrars:
            self.inline(node, self.registrars[function.id], scope, guards)
            return
        if "side_effect" in plain_text(function) or "effectful" in plain_text(function):
            for argument in node.args:
                if (operator := scope.operator(argument)) is not None:
                    self.effectful.add(operator)
        if isinstance(function, ast.Attribute):
            library = scope.libraries.get(plain_text(function.value))
            if library is not None:
                self.library_call(node, function.attr, library, scope, guards)
                return
        name = scope.dotted(function)
        bare = name.rpartition(".")[2]
        if name.rpartition(".")[0] in scope.operators:
            self.of_operator(node, bare, scope, guards)
        elif bare == "define" and name.startswith("torch"):
            self.define_call(node, scope, guards)
        elif bare == DIRECT:
            self.direct(node, scope, guards)
        elif bare in {"register_fake", "impl_abstract", "register_kernel", "impl"}:
            count = 1 if bare in FAKES else 2
            if is_torch(name) and len(node.args) > count and scope.string(node.args[-1]) is None:
                self.register(node, in_scope(node.args[-1], scope), scope, guards)
        elif bare == "custom_op" and is_torch(name):
            operator_function = self.named(node.args[-1] if node.args else None)
            if operator_function is not None:
                self.custom_op(node, operator_function, scope, guards)

    def of_operator(
        self, node: ast.Call, member: str, scope: Scope, guards: tuple[Guard, ...]
    ) -> None:
        """Read op.register_fake(function), op.register_kernel(device, function)."""
        function = self.named(node.args[-1] if node.args else None)
        if function is not None and member in {*FAKES, "register_kernel"}:
            self.register(node, function, scope, guards)

    def inline(
        self, node: ast.Call, function: AnyDef, scope: Scope, guards: tuple[Guard, ...]
    ) -> None:
        """Read the body of a function that registers, with the arguments of one call of it."""
        if function.name in self.inlining or len(self.inlining) >= DEEPEST:
            self.open(None, node)
            return
        inner = scope.inner()
        given = function.args
        names = [each.arg for each in (*given.posonlyargs, *given.args)]
        values: dict[str, ast.expr] = {}
        values.update(zip(reversed(names), reversed(given.defaults), strict=False))
        for word, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
            if default is not None:
                values[word.arg] = default
        values.update(zip(names, node.args, strict=False))
        values.update({each.arg: each.value for each in node.keywords if each.arg})
        for name in (*names, *(each.arg for each in given.kwonlyargs)):
            for known in (inner.constants, inner.libraries, inner.functions):
                known.pop(name, None)
            if name in values:
                self.bind_argument(name, values[name], scope, inner)
        self.inlining.append(function.name)
        before = len(self.implementations), len(self.definitions)
        self.body(function.body, inner, guards)
        self.inlining.pop()
        place = self.place(node)
        for index in range(before[0], len(self.implementations)):
            self.implementations[index] = replace(self.implementations[index], place=place)
        for index in range(before[1], len(self.definitions)):
            self.definitions[index] = replace(self.definitions[index], place=place)

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
            elif (function := self.named(value)) is not None:
                inner.functions[name] = function

    def library_call(
        self,
        node: ast.Call,
        member: str,
        library: LibraryVariable,
        scope: Scope,
        guards: tuple[Guard, ...],
    ) -> None:
        """Read lib.define(...), lib.impl(...)."""
        words = {each.arg: each.value for each in node.keywords}
        if member == "define":
            written = scope.string(node.args[0] if node.args else words.get("schema"))
            if written is None:
                self.open(library.namespace, node)
            else:
                self.define(
                    library.namespace, written, node, guards, is_whole=library.kind == "DEF"
                )
        elif member in {"impl", "_register_fake"}:
            name = node.args[0] if node.args else words.get("op_name")
            kernel = node.args[1] if len(node.args) > 1 else words.get("fn")
            key = node.args[KEY] if len(node.args) > KEY else words.get("dispatch_key")
            operator = scope.operator(name)
            if operator is None or library.namespace is None:
                self.open(library.namespace, node)
                return
            if "::" not in operator:
                operator = f"{library.namespace}::{operator}"
            word = "Meta" if member == "_register_fake" else scope.string(key) or library.key
            self.implement(
                operator, word, None if kernel is None else in_scope(kernel, scope), node, guards
            )

    def register(
        self,
        node: ast.Call,
        kernel: AnyDef | ast.expr,
        scope: Scope,
        guards: tuple[Guard, ...],
    ) -> None:
        """Read a registration whose function is known: decorators and calls of torch.library."""
        name = scope.dotted(node.func)
        owner, _, bare = name.rpartition(".")
        written = plain_text(node.func)
        words = {each.arg: each.value for each in node.keywords}
        first = node.args[0] if node.args else None
        if bare == CONVERTER:
            self.convert(first, kernel, scope, node)
        elif written.rpartition(".")[0] in scope.operators:
            known = scope.operators[written.rpartition(".")[0]]
            if bare in FAKES:
                self.implement(known, "Meta", kernel, node, guards)
            elif bare == "register_kernel":
                for key in self.keys(first, scope):
                    self.implement(known, key, kernel, node, guards)
        elif bare in {"custom_op", "triton_op"} and is_torch(name):
            if isinstance(kernel, AnyDef):
                self.custom_op(node, kernel, scope, guards)
        elif bare in FAKES - {"register_meta"} and (is_torch(name) or owner == bare):
            operator = scope.operator(first or words.get("op") or words.get("qualname"))
            self.implement(operator, "Meta", kernel, node, guards)
        elif bare == "register_kernel" and is_torch(name):
            operator = scope.operator(first or words.get("op"))
            device = node.args[1] if len(node.args) > 1 else words.get("device_types")
            for key in self.keys(device, scope):
                self.implement(operator, key, kernel, node, guards)
        elif bare == "impl" and is_torch(name):
            self.impl(node, kernel, scope, guards)

    def impl(
        self,
        node: ast.Call,
        kernel: AnyDef | ast.expr,
        scope: Scope,
        guards: tuple[Guard, ...],
    ) -> None:
        """Read torch.library.impl: (lib, name, key) or (qualified name, device types)."""
        first = node.args[0] if node.args else None
        library = None if first is None else scope.libraries.get(plain_text(first))
        if library is not None:
            operator = scope.operator(node.args[1]) if len(node.args) > 1 else None
            key = scope.string(node.args[KEY]) if len(node.args) > KEY else None
            if operator is None or library.namespace is None:
                self.open(library.namespace, node)
                return
            if "::" not in operator:
                operator = f"{library.namespace}::{operator}"
            self.implement(operator, key or library.key, kernel, node, guards)
            return
        operator = scope.operator(first)
        device = node.args[1] if len(node.args) > 1 else None
        for key in self.keys(device, scope):
            self.implement(operator, key, kernel, node, guards)

    def keys(self, node: ast.expr | None, scope: Scope) -> list[str | None]:
        """Return the dispatch keys of device types."""
        if node is None:
            return [None]
        values = node.elts if isinstance(node, ast.Tuple | ast.List) else [node]
        return [
            None if (word := scope.string(each)) is None else DEVICES.get(word.lower(), word)
            for each in values
        ]

    def open(self, namespace: str | None, node: ast.expr) -> None:
        """Keep a registration that is not readable."""
        self.opens.append(Open(namespace=namespace, place=self.place(node), what=plain_text(node)))

    def define_call(self, node: ast.Call, scope: Scope, guards: tuple[Guard, ...]) -> None:
        """Read torch.library.define("ns::name", "(...) -> ...")."""
        given = [scope.string(each) for each in node.args[:2]]
        if not given or given[0] is None or "::" not in given[0]:
            self.open(None, node)
            return
        namespace, _, name = given[0].partition("::")
        if len(given) == 1 or given[1] is None:
            self.open(namespace, node)
            return
        self.define(namespace, f"{name}{given[1].strip()}", node, guards)

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

    def custom_op(
        self, node: ast.Call, kernel: AnyDef, scope: Scope, guards: tuple[Guard, ...]
    ) -> None:
        """Read torch.library.custom_op: a definition and an implementation."""
        words = {each.arg: each.value for each in node.keywords}
        operator = scope.operator(node.args[0] if node.args else words.get("name"))
        if operator is None or "::" not in operator:
            self.open(None, node)
            return
        scope.operators[kernel.name] = operator
        namespace, _, name = operator.partition("::")
        written = scope.string(words.get("schema"))
        schema: ForeignSchema | None = None
        problem = None
        if written is not None:
            try:
                schema = read_schema(f"{name}{written.strip()}")
            except SchemaProblem as error:
                problem = str(error)
        elif "schema" not in words:
            schema = inferred_schema(name, kernel, words.get("mutates_args"))
        self.definitions.append(
            Definition(
                namespace=namespace,
                name=name,
                overload="",
                text=name if written is None else f"{name}{written.strip()}",
                schema=schema,
                problem=problem,
                place=self.place(node),
                language=Language.PYTHON,
                guards=guards,
                is_inferred=written is None,
            )
        )
        for key in self.keys(words.get("device_types"), scope):
            self.implement(operator, key or "CompositeExplicitPython", kernel, node, guards)

    def direct(self, node: ast.Call, scope: Scope, guards: tuple[Guard, ...]) -> None:
        """Read vLLM's direct_register_custom_op(op_name, op_func, mutates_args, fake_impl, ...)."""
        order = ("op_name", "op_func", "mutates_args", "fake_impl", "target_lib", "dispatch_key")
        words: dict[str | None, ast.expr] = dict(zip(order, node.args, strict=False))
        words.update({each.arg: each.value for each in node.keywords})
        name, target = scope.string(words.get("op_name")), words.get("target_lib")
        namespace: str | None = "vllm"
        if target is not None:
            library = scope.libraries.get(plain_text(target))
            namespace = None if library is None else library.namespace
        if name is None or namespace is None:
            self.open(namespace, node)
            return
        kernel = self.kernel(words.get("op_func"))
        schema = None
        if (function := self.named(words.get("op_func"))) is not None:
            schema = inferred_schema(name, function, words.get("mutates_args"))
        self.definitions.append(
            Definition(
                namespace=namespace,
                name=name,
                overload="",
                text=name,
                schema=schema,
                problem=None,
                place=self.place(node),
                language=Language.PYTHON,
                guards=guards,
                is_inferred=True,
            )
        )
        key = scope.string(words.get("dispatch_key")) or "PrivateUse1"
        for word, each in ((key, kernel), ("Meta", self.kernel(words.get("fake_impl")))):
            if word == "Meta" and words.get("fake_impl") is None:
                continue
            self.implementations.append(
                Implementation(
                    namespace=namespace,
                    name=name,
                    key=word,
                    kernel=each,
                    place=self.place(node),
                    language=Language.PYTHON,
                    guards=guards,
                )
            )

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
