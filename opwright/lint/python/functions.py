"""Python functions: parameters, and what their bodies do with tensors."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from opwright.lint.definitions import (
    Call,
    Function,
    Language,
    Parameter,
    Place,
    Site,
    Use,
    UseKind,
)
from opwright.lint.python.names import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["AnyFunction", "read_function", "read_parameters"]

AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

# Methods and attributes whose result shares the tensor's storage, always.
VIEWS = frozenset(
    {
        *("view", "select", "narrow", "transpose", "t", "permute", "squeeze", "unsqueeze"),
        *("expand", "expand_as", "view_as", "detach", "diagonal", "unbind", "as_strided", "alias"),
        *("swapaxes", "movedim", "data", "T", "mT"),
    }
)
NO_WRITES = frozenset({"requires_grad_", "retain_grad_", "rename_", "detach_", "share_memory_"})
CONCRETE = frozenset({"item", "tolist"})
DYNAMIC = frozenset({"locals", "vars", "eval", "exec"})


def read_parameters(node: AnyFunction) -> tuple[tuple[Parameter, ...], bool]:
    """Return the parameters, and whether the function takes any others too."""
    given = node.args
    plain = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [None] * (len(plain) - len(given.defaults))
    defaults += given.defaults
    found = [
        parameter(each, default, keyword_only=False)
        for each, default in zip(plain, defaults, strict=True)
    ]
    found += [
        parameter(each, default, keyword_only=True)
        for each, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    ]
    return tuple(found), given.vararg is not None or given.kwarg is not None


def parameter(node: ast.arg, default: ast.expr | None, *, keyword_only: bool) -> Parameter:
    """Return one parameter."""
    kind = "" if node.annotation is None else ast.unparse(node.annotation)
    return Parameter(
        name=node.arg,
        type=kind,
        default=None if default is None else ast.unparse(default),
        keyword_only=keyword_only,
        is_tensor=not kind or "Tensor" in kind,
    )


def read_function(node: AnyFunction, path: str, name: str) -> Function:
    """Return a function with what its body does."""
    parameters, takes_any = read_parameters(node)
    body = Body(path, parameters)
    statements: list[ast.stmt] = (
        [ast.Return(node.body)] if isinstance(node, ast.Lambda) else node.body
    )
    for each in statements:
        body.statement(each)
    names = {each.id for one in statements for each in ast.walk(one) if isinstance(each, ast.Name)}
    if names & DYNAMIC:
        names |= {each.name for each in parameters}
    returned = None if isinstance(node, ast.Lambda) else node.returns
    return Function(
        name=name,
        parameters=parameters,
        place=Place(path, node.lineno, node.col_offset + 1),
        language=Language.PYTHON,
        takes_any=takes_any,
        returns="" if returned is None else ast.unparse(returned),
        uses=tuple(body.uses),
        frozen=tuple(body.frozen),
        constants=tuple(body.constants),
        calls=frozenset(body.calls),
        names=frozenset(names),
        only_raises=only_raises(statements),
    )


def only_raises(statements: list[ast.stmt]) -> bool:
    """Return whether a body does nothing but raise, pass or return nothing."""
    return all(
        isinstance(each, ast.Raise | ast.Pass)
        or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        or (isinstance(each, ast.Return) and each.value is None)
        for each in statements
    )


class Body:
    """Reads a body in the order of its text."""

    def __init__(self, path: str, parameters: tuple[Parameter, ...]) -> None:
        self.path = path
        self.aliases = {each.name: each.name for each in parameters if each.is_tensor}
        self.sizes: set[str] = set()  # variables that are sizes of tensors
        self.uses: list[Use] = []
        self.frozen: list[Site] = []
        self.constants: list[Site] = []
        self.calls: set[str] = set()

    def place(self, node: ast.expr | ast.stmt) -> Place:
        """Return where a node begins."""
        return Place(self.path, node.lineno, node.col_offset + 1)

    def use(
        self, root: str, kind: UseKind, node: ast.expr | ast.stmt, call: Call | None = None
    ) -> None:
        """Note a use."""
        shown = ast.unparse(node).partition("\n")[0][:80]
        self.uses.append(Use(root, kind, self.place(node), shown, call))

    def statement(self, node: ast.stmt) -> None:
        """Read a statement and those inside of it."""
        match node:
            case ast.Assign(targets=targets, value=value):
                self.expression(value)
                for target in targets:
                    self.assign(target, value, node)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self.expression(value)
                self.assign(target, value, node)
            case ast.AugAssign(target=target, value=value):
                self.expression(value)
                if (root := self.root(target)) is not None:
                    self.use(root, UseKind.WRITE, node)
            case ast.Return(value=value) if value is not None:
                self.returned(value)
                self.expression(value)
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.stmt):
                        self.statement(child)
                    elif isinstance(child, ast.expr):
                        self.expression(child)
                    else:
                        self.other(child)

    def other(self, node: ast.AST) -> None:
        """Read what is neither statement nor expression: handlers, with items, match cases."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                self.statement(child)
            elif isinstance(child, ast.expr):
                self.expression(child)
            else:
                self.other(child)

    def unpack(self, target: ast.Tuple | ast.List, value: ast.expr, node: ast.stmt) -> None:
        """Follow an assignment to several names."""
        values: list[ast.expr] = []
        if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
            values = value.elts
        for index, each in enumerate(target.elts):
            if values:
                self.assign(each, values[index], node)
            elif isinstance(each, ast.Name):
                self.forget(each.id)
                if self.is_size(value):
                    self.sizes.add(each.id)

    def assign(self, target: ast.expr, value: ast.expr, node: ast.stmt) -> None:
        """Follow an assignment."""
        if isinstance(target, ast.Tuple | ast.List):
            self.unpack(target, value, node)
            return
        if isinstance(target, ast.Name):
            root = self.root(value)
            self.forget(target.id)
            if root is not None:
                self.aliases[target.id] = root
            if self.is_size(value):
                self.sizes.add(target.id)
            if isinstance(value, ast.Constant) and isinstance(value.value, int | float):
                self.constants.append(Site(self.place(target), repr(value.value), about=target.id))
        elif (
            isinstance(target, ast.Subscript) and (root := self.root(target.value)) is not None
        ) or (
            isinstance(target, ast.Attribute)
            and target.attr == "data"
            and (root := self.root(target.value)) is not None
        ):
            self.use(root, UseKind.WRITE, node)

    def forget(self, name: str) -> None:
        """Let a name stand for nothing."""
        self.aliases.pop(name, None)
        self.sizes.discard(name)

    def root(self, node: ast.expr) -> str | None:
        """Return the parameter whose storage a value shares."""
        match node:
            case ast.Name(id=name):
                return self.aliases.get(name)
            case ast.Attribute(value=value, attr=attr) if attr in VIEWS:
                return self.root(value)
            case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in VIEWS:
                return self.root(value)
            case ast.Subscript(value=value, slice=index) if is_basic(index):
                return self.root(value)
        return None

    def is_size(self, node: ast.expr) -> bool:
        """Return whether a value is a size of a tensor, or computed of such."""
        match node:
            case ast.Name(id=name):
                return name in self.sizes
            case ast.Attribute(value=value, attr="shape"):
                return self.root(value) is not None
            case ast.Call(func=ast.Attribute(value=value, attr="size" | "numel" | "stride")):
                return self.root(value) is not None
            case ast.Subscript(value=value):
                return self.is_size(value)
            case ast.BinOp(left=left, right=right):
                return self.is_size(left) or self.is_size(right)
        return False

    def returned(self, value: ast.expr) -> None:
        """Note parameters that are returned as they are."""
        values = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
        for each in values:
            if isinstance(each, ast.Name) and each.id in self.aliases:
                self.use(self.aliases[each.id], UseKind.RETURN, each)

    def expression(self, node: ast.expr) -> None:
        """Read an expression: its calls."""
        for each in ast.walk(node):
            if isinstance(each, ast.Call):
                self.call(each)

    def call(self, node: ast.Call) -> None:
        """Read a call: writes by methods and out=, sizes made numbers, tensors passed on."""
        name = plain_text(node.func) if isinstance(node.func, ast.Name | ast.Attribute) else ""
        if isinstance(node.func, ast.Name):
            self.calls.add(node.func.id)
        if isinstance(node.func, ast.Attribute):
            self.called_on(node, node.func)
        if name in {"int", "range", "operator.index"} and any(map(self.is_size, node.args)):
            self.frozen.append(Site(self.place(node), ast.unparse(node)[:80], detail=name))
        for keyword in node.keywords:
            if keyword.arg == "out":
                for each in elements(keyword.value):
                    if (root := self.root(each)) is not None:
                        self.use(root, UseKind.WRITE, node)
            elif (root := self.root(keyword.value)) is not None:
                call = Call(name, keyword.arg or "**", len(node.args))
                self.use(root, UseKind.CALL, node, call)
        for position, each in enumerate(node.args):
            if (root := self.root(each)) is None:
                continue
            scope, _, bare = name.rpartition(".")
            is_in_place = bare.endswith("_") and not bare.startswith("_") and bool(scope)
            if scope in {"torch", "torch.nn.functional", "F"}:
                kind = UseKind.WRITE if is_in_place and position == 0 else UseKind.READ
                self.use(root, kind, node)
            else:
                self.use(root, UseKind.CALL, node, Call(name, position, len(node.args)))

    def called_on(self, node: ast.Call, function: ast.Attribute) -> None:
        """Read a method call on a tensor."""
        root = self.root(function.value)
        if root is None:
            return
        attr = function.attr
        if attr.endswith("_") and not attr.endswith("__") and attr not in NO_WRITES:
            self.use(root, UseKind.WRITE, node)
        elif attr in CONCRETE:
            self.frozen.append(
                Site(self.place(node), ast.unparse(node)[:80], about=root, detail=attr)
            )
        elif attr not in VIEWS:
            self.use(root, UseKind.READ, node)


def elements(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the elements of a tuple or list, or the value itself."""
    if isinstance(node, ast.Tuple | ast.List):
        yield from node.elts
    else:
        yield node


def is_basic(index: ast.expr) -> bool:
    """Return whether an index makes a view: numbers and slices of them, no lists and tensors."""
    match index:
        case ast.Constant() | ast.Slice():
            return True
        case ast.UnaryOp(operand=ast.Constant()):
            return True
        case ast.Tuple(elts=elts):
            return all(map(is_basic, elts))
    return False
