"""Registrations of torch.library: calls and decorators -> definitions and implementations."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from opwright.lint.definitions import Definition, Guard, Language
from opwright.lint.python.forms import FAKES, AnyDef, find_in_scope, is_torch
from opwright.lint.python.inference import infer_schema
from opwright.lint.python.names import LibraryVariable, Scope, plain_text
from opwright.lint.schema import ForeignSchema, SchemaProblem, read_schema

if TYPE_CHECKING:
    from opwright.lint.python.collected import Collected

__all__ = [
    "custom_op",
    "define_call",
    "direct",
    "library_call",
    "match_opened_library",
    "register",
]

KEY = 2  # where a dispatch key stands among the arguments of Library, lib.impl and impl
CONVERTER = "register_fx_node_ge_converter"
DEVICES = {
    "cpu": "CPU",
    "cuda": "CUDA",
    "npu": "PrivateUse1",
    "privateuseone": "PrivateUse1",
    "xpu": "XPU",
    "meta": "Meta",
}


def match_opened_library(node: ast.Call, scope: Scope) -> LibraryVariable | None:
    """Return the library that a call opens: Library(namespace, kind, key)."""
    if scope.dotted(node.func).rpartition(".")[2] not in {"Library", "_scoped_library"}:
        return None
    words = {each.arg: each.value for each in node.keywords}
    namespace = node.args[0] if node.args else words.get("ns")
    kind = node.args[1] if len(node.args) > 1 else words.get("kind")
    key = node.args[KEY] if len(node.args) > KEY else words.get("dispatch_key")
    return LibraryVariable(
        scope.string(namespace), scope.string(kind) or "", scope.string(key) or None
    )


def library_call(
    found: Collected,
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
            found.open(library.namespace, node)
        else:
            found.define(library.namespace, written, node, guards, is_whole=library.kind == "DEF")
    elif member in {"impl", "_register_fake"}:
        name = node.args[0] if node.args else words.get("op_name")
        kernel = node.args[1] if len(node.args) > 1 else words.get("fn")
        key = node.args[KEY] if len(node.args) > KEY else words.get("dispatch_key")
        operator = in_library(found, node, library, scope.operator(name))
        if operator is not None:
            word = "Meta" if member == "_register_fake" else scope.string(key) or library.key
            function = None if kernel is None else find_in_scope(kernel, scope)
            found.implement(operator, word, function, node, guards)


def in_library(
    found: Collected, node: ast.Call, library: LibraryVariable, operator: str | None
) -> str | None:
    """Return the qualified name of a library's operator; None, and noted, if it is not known."""
    if operator is None or library.namespace is None:
        found.open(library.namespace, node)
        return None
    return operator if "::" in operator else f"{library.namespace}::{operator}"


def register(
    found: Collected,
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
        found.convert(first, kernel, scope, node)
    elif written.rpartition(".")[0] in scope.operators:
        known = scope.operators[written.rpartition(".")[0]]
        if bare in FAKES:
            found.implement(known, "Meta", kernel, node, guards)
        elif bare == "register_kernel":
            for key in keys(first, scope):
                found.implement(known, key, kernel, node, guards)
    elif bare in {"custom_op", "triton_op"} and is_torch(name):
        if isinstance(kernel, AnyDef):
            custom_op(found, node, kernel, scope, guards)
    elif bare in FAKES - {"register_meta"} and (is_torch(name) or owner == bare):
        operator = scope.operator(first or words.get("op") or words.get("qualname"))
        found.implement(operator, "Meta", kernel, node, guards)
    elif bare == "register_kernel" and is_torch(name):
        operator = scope.operator(first or words.get("op"))
        device = node.args[1] if len(node.args) > 1 else words.get("device_types")
        for key in keys(device, scope):
            found.implement(operator, key, kernel, node, guards)
    elif bare == "impl" and is_torch(name):
        impl(found, node, kernel, scope, guards)


def impl(
    found: Collected,
    node: ast.Call,
    kernel: AnyDef | ast.expr,
    scope: Scope,
    guards: tuple[Guard, ...],
) -> None:
    """Read torch.library.impl: (lib, name, key) or (qualified name, device types)."""
    first = node.args[0] if node.args else None
    library = None if first is None else scope.libraries.get(plain_text(first))
    if library is not None:
        name = scope.operator(node.args[1]) if len(node.args) > 1 else None
        key = scope.string(node.args[KEY]) if len(node.args) > KEY else None
        operator = in_library(found, node, library, name)
        if operator is not None:
            found.implement(operator, key or library.key, kernel, node, guards)
        return
    operator = scope.operator(first)
    device = node.args[1] if len(node.args) > 1 else None
    for key in keys(device, scope):
        found.implement(operator, key, kernel, node, guards)


def keys(node: ast.expr | None, scope: Scope) -> list[str | None]:
    """Return the dispatch keys of device types."""
    if node is None:
        return [None]
    values = node.elts if isinstance(node, ast.Tuple | ast.List) else [node]
    return [
        None if (word := scope.string(each)) is None else DEVICES.get(word.lower(), word)
        for each in values
    ]


def define_call(found: Collected, node: ast.Call, scope: Scope, guards: tuple[Guard, ...]) -> None:
    """Read torch.library.define("ns::name", "(...) -> ...")."""
    given = [scope.string(each) for each in node.args[:2]]
    if not given or given[0] is None or "::" not in given[0]:
        found.open(None, node)
        return
    namespace, _, name = given[0].partition("::")
    if len(given) == 1 or given[1] is None:
        found.open(namespace, node)
        return
    found.define(namespace, f"{name}{given[1].strip()}", node, guards)


def custom_op(
    found: Collected, node: ast.Call, kernel: AnyDef, scope: Scope, guards: tuple[Guard, ...]
) -> None:
    """Read torch.library.custom_op: a definition and an implementation."""
    words = {each.arg: each.value for each in node.keywords}
    operator = scope.operator(node.args[0] if node.args else words.get("name"))
    if operator is None or "::" not in operator:
        found.open(None, node)
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
        schema = infer_schema(name, kernel, words.get("mutates_args"))
    found.definitions.append(
        Definition(
            namespace=namespace,
            name=name,
            overload="",
            text=name if written is None else f"{name}{written.strip()}",
            schema=schema,
            problem=problem,
            place=found.place(node),
            language=Language.PYTHON,
            guards=guards,
            is_inferred=written is None,
        )
    )
    for key in keys(words.get("device_types"), scope):
        found.implement(operator, key or "CompositeExplicitPython", kernel, node, guards)


def direct(found: Collected, node: ast.Call, scope: Scope, guards: tuple[Guard, ...]) -> None:
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
        found.open(namespace, node)
        return
    schema = None
    if (function := found.named(words.get("op_func"))) is not None:
        schema = infer_schema(name, function, words.get("mutates_args"))
    found.definitions.append(
        Definition(
            namespace=namespace,
            name=name,
            overload="",
            text=name,
            schema=schema,
            problem=None,
            place=found.place(node),
            language=Language.PYTHON,
            guards=guards,
            is_inferred=True,
        )
    )
    operator = f"{namespace}::{name}"
    key = scope.string(words.get("dispatch_key")) or "PrivateUse1"
    found.implement(operator, key, words.get("op_func"), node, guards)
    if (fake := words.get("fake_impl")) is not None:
        found.implement(operator, "Meta", fake, node, guards)
