"""Python source -> mutants of its expressions and statements.

`ast` gives the places, so that what is not changed stays as it was written. Annotations, docstrings
and imports are left alone: nothing of them runs.
"""

from __future__ import annotations

import ast
import itertools
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mutants.mutant import Mutant, line_starts, unique

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["Places", "mutants_of", "mutants_of_expression", "mutants_of_nodes"]

BINARY: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.Pow: ("**", "*"),
    ast.Mod: ("%", "//"),
    ast.FloorDiv: ("//", "%"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
}
COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
# Functions and methods that one takes for another, both ways.
CONFUSED = (
    ("rsqrt", "sqrt"),
    ("exp", "expm1"),
    ("mean", "sum"),
    ("softmax", "log_softmax"),
    ("sigmoid", "tanh"),
    ("square", "abs"),
    ("logsumexp", "amax"),
    ("ones_like", "zeros_like"),
    ("softplus", "relu"),
    ("gather", "take_along_dim"),
    ("silu", "gelu"),
    ("floor", "ceil"),
    ("mul", "div"),
    ("add", "sub"),
    ("argmax", "argmin"),
    ("amin", "amax"),
)
OTHER = dict(itertools.chain(CONFUSED, (pair[::-1] for pair in CONFUSED[::-1])))
DTYPES = {
    "float32": "float16",
    "float16": "float32",
    "bfloat16": "float16",
    "float64": "float32",
    "int32": "int64",
    "int64": "int32",
    "bool": "uint8",
    "uint8": "bool",
}
# Methods that write with an underscore at the end of their name.
WRITING = {
    *("add", "sub", "mul", "div", "pow", "abs", "square", "neg", "exp", "sqrt", "rsqrt", "clamp"),
    *("masked_fill", "scatter", "scatter_add", "index_copy", "index_add", "relu", "sigmoid"),
}
COPIES = {"contiguous", "clone", "detach"}
CASTS = {"to", "float", "double", "half", "bfloat16", "int", "long", "bool", "type_as"}
NAMESPACES = {"torch", "ow", "opwright", "attr", "math", "F", "functional", "nn", "ops", "npu"}


@dataclass
class Places:
    """A source, its tree and where its nodes stand."""

    source: bytes
    tree: ast.Module = field(init=False)
    starts: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.tree = ast.parse(self.source)
        self.starts = line_starts(self.source)

    def start(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        """Return the offset of a node's first byte."""
        return self.starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        """Return the offset behind a node."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.starts[node.end_lineno - 1] + node.end_col_offset

    def text(self, node: ast.expr | ast.stmt) -> bytes:
        """Return the bytes of a node."""
        return self.source[self.start(node) : self.end(node)]

    def alone(self, node: ast.expr) -> bytes:
        """Return the bytes of a node such that operators beside them do not part them."""
        text = self.text(node)
        simple = ast.Name | ast.Constant | ast.Call | ast.Attribute | ast.Subscript
        return text if isinstance(node, simple) else b"(" + text + b")"

    def put(self, kind: str, node: ast.expr | ast.stmt, text: bytes | str) -> Mutant:
        """Replace a node."""
        return self.put_between(kind, self.start(node), self.end(node), text)

    def put_between(self, kind: str, start: int, end: int, text: bytes | str) -> Mutant:
        """Replace what stands between two offsets."""
        new = text.encode() if isinstance(text, str) else text
        return Mutant(kind=kind, start=start, end=end, text=new)

    def swap(self, kind: str, first: ast.expr, second: ast.expr) -> Mutant:
        """Exchange two nodes."""
        between = self.source[self.end(first) : self.start(second)]
        text = self.text(second) + between + self.text(first)
        return self.put_between(kind, self.start(first), self.end(second), text)

    def drop_from_list(self, kind: str, nodes: list[ast.expr], index: int) -> Mutant:
        """Remove an element, with its comma."""
        return self.drop_span(kind, [(self.start(each), self.end(each)) for each in nodes], index)

    def drop_span(self, kind: str, spans: list[tuple[int, int]], index: int) -> Mutant:
        """Remove one of several spans, and what separates it from its neighbour."""
        start, end = spans[index]
        if index + 1 < len(spans):
            end = spans[index + 1][0]
        elif index:
            start = spans[index - 1][1]
        return self.put_between(kind, start, end, b"")

    def sign(self, kind: str, start: int, end: int, old: str, new: str) -> Iterator[Mutant]:
        """Replace an operator that stands between two operands, among blanks and parentheses."""
        pattern = old.replace(" ", r"\s+")
        pattern = rf"\b{pattern}\b" if old[0].isalpha() else re.escape(old)
        found = re.search(pattern.encode(), self.source[start:end])
        if found is not None:
            yield self.put_between(kind, start + found.start(), start + found.end(), new)


def mutants_of(source: bytes) -> list[Mutant]:
    """Return the mutants of a module."""
    places = Places(source)
    return unique(list(mutants_of_nodes(places, places.tree.body)), source)


def mutants_of_expression(source: bytes) -> list[Mutant]:
    """Return the mutants of one expression, such as a condition or a formula in a declaration.

    >>> [each.apply(b"a < 2") for each in mutants_of_expression(b"a < 2")]
    [b'a <= 2', b'a < 1', b'a < 3']
    """
    try:
        places = Places(source)
    except SyntaxError:  # what only declarations have
        return []
    nodes = [each.value for each in places.tree.body if isinstance(each, ast.Expr)]
    return unique(list(mutants_of_nodes(places, nodes)), source)


def mutants_of_nodes(
    places: Places,
    nodes: Iterable[ast.AST],
    *,
    is_left_alone: Callable[[ast.AST], bool] = lambda _: False,
) -> Iterator[Mutant]:
    """Yield the mutants of nodes and of all in them.

    Parameters
    ----------
    is_left_alone
        Says of which nodes nothing is changed.
    """
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom) or is_left_alone(node):
            continue
        yield from mutants_at(places, node)
        yield from mutants_of_nodes(places, parts(node), is_left_alone=is_left_alone)


def parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the children that run; not the annotations and docstrings."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        values = value if isinstance(value, list) else [value]
        for index, each in enumerate(values):
            is_text = index == 0 and name == "body" and is_docstring(each)
            if isinstance(each, ast.AST) and not is_text and not is_decoration(each):
                yield each


def is_docstring(node: object) -> bool:
    """Return whether a statement is a text alone."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_decoration(node: ast.AST) -> bool:
    """Return whether a decorator only says what graphs TorchAir is tested with."""
    return isinstance(node, ast.Call) and dotted(node.func)[-1:] == ["declare_supported"]


def mutants_at(places: Places, node: ast.AST) -> Iterator[Mutant]:
    """Yield the mutants of one node, without those of its children."""
    match node:
        case ast.stmt():
            yield from mutants_of_statement(places, node)
        case ast.BinOp() | ast.BoolOp() | ast.UnaryOp() | ast.Compare():
            yield from mutants_of_operator(places, node)
        case ast.IfExp(_, body, orelse):
            yield places.put("condition", node, places.text(body))
            yield places.put("condition", node, places.text(orelse))
        case ast.Constant():
            yield from mutants_of_constant(places, node)
        case ast.Attribute(ast.Name("torch"), name) if name in DTYPES:
            yield places.put("dtype", node, f"torch.{DTYPES[name]}")
        case ast.Call():
            yield from mutants_of_call(places, node)
        case ast.Dict(keys, values):
            yield from mutants_of_dict(places, keys, values)
        case ast.Lambda():
            yield from swapped_names(places, node)


def mutants_of_statement(places: Places, node: ast.stmt) -> Iterator[Mutant]:
    """Yield a statement that is missing, or returns something else."""
    match node:
        case ast.AugAssign(target, operator, value) if type(operator) in BINARY:
            old, new = BINARY[type(operator)]
            start, end = places.end(target), places.start(value)
            yield from places.sign("operator", start, end, f"{old}=", f"{new}=")
            yield places.put("dropped statement", node, "pass")
        case ast.If(test):
            yield places.put("condition", test, b"not (" + places.text(test) + b")")
        case ast.Expr(value) if not isinstance(value, ast.Constant):
            yield places.put("dropped statement", node, "pass")
        case ast.Return(ast.Tuple([first, second, *_])):
            yield places.swap("swapped results", first, second)
        case ast.Return(ast.Call() | ast.Name() as value):
            yield places.put("added copy", value, places.text(value) + b".clone()")
        case ast.FunctionDef():
            yield from swapped_names(places, node)


def mutants_of_operator(
    places: Places, node: ast.BinOp | ast.BoolOp | ast.UnaryOp | ast.Compare
) -> Iterator[Mutant]:
    """Yield another operator, and operands alone."""
    match node:
        case ast.BinOp(left, ast.MatMult(), right):
            yield places.swap("swapped arguments", left, right)
        case ast.BinOp(left, operator, right) if type(operator) in BINARY:
            yield from places.sign(
                "operator", places.end(left), places.start(right), *BINARY[type(operator)]
            )
            yield places.put("dropped term", node, places.alone(left))
            yield places.put("dropped term", node, places.alone(right))
        case ast.Compare(left, operators, comparators):
            operands = [left, *comparators]
            for (one, two), sign in zip(itertools.pairwise(operands), operators, strict=True):
                yield from places.sign(
                    "comparison", places.end(one), places.start(two), *COMPARISONS[type(sign)]
                )
        case ast.BoolOp(join, [first, second, *_]):
            old, new = ("and", "or") if isinstance(join, ast.And) else ("or", "and")
            start, end = places.end(first), places.start(second)
            yield from places.sign("condition", start, end, old, new)
        case ast.UnaryOp(_, operand):
            yield places.put("dropped sign", node, places.alone(operand))


def mutants_of_constant(places: Places, node: ast.Constant) -> Iterator[Mutant]:
    """Yield other values of a constant."""
    match node.value:
        case bool(value):
            yield places.put("constant", node, str(not value))
        case int(value):
            yield places.put("off by one", node, str(value + 1))
            if value > 0:
                yield places.put("off by one", node, str(value - 1))
        case float(value):
            yield places.put("constant", node, repr(value * 2 if value else 1.0))


def mutants_of_call(places: Places, node: ast.Call) -> Iterator[Mutant]:
    """Yield calls of another function, with other arguments, or without the call."""
    match node.func:
        case ast.Attribute(receiver, name):
            start = places.end(node.func) - len(name.encode())
            is_method = not (set(dotted(receiver)) & NAMESPACES)
            if name in OTHER:
                yield places.put_between("function", start, places.end(node.func), OTHER[name])
            if is_method:
                kind = "dropped copy" if name in COPIES else "dropped call"
                kind = "dropped cast" if name in CASTS else kind
                behind = places.source.rindex(b".", 0, start)
                yield places.put(kind, node, places.source[places.start(node) : behind].rstrip())
                if name in WRITING:
                    new = f"{name}_"
                    yield places.put_between("in place", start, places.end(node.func), new)
                if name.endswith("_") and not name.endswith("__"):
                    new = name[:-1]
                    yield places.put_between("not in place", start, places.end(node.func), new)
    if len(node.args) > 1:
        yield places.swap("swapped arguments", node.args[0], node.args[1])
    given: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
    spans = [(places.start(each), places.end(each)) for each in given]
    for index, each in enumerate(node.keywords):
        if each.arg is not None and spans == sorted(spans):
            yield places.drop_span("dropped argument", spans, len(node.args) + index)
    if isinstance(node.func, ast.Attribute) and node.func.attr in OTHER:
        is_function = dotted(node.func.value) == ["torch"] and len(node.args) == 1
        if is_function:
            yield places.put("dropped call", node, places.text(node.args[0]))


def dotted(node: ast.expr) -> list[str]:
    """Return the names of a dotted expression; nothing for another one."""
    match node:
        case ast.Name(name):
            return [name]
        case ast.Attribute(value, name):
            rest = dotted(value)
            return [*rest, name] if rest else []
    return []


def mutants_of_dict(
    places: Places, keys: list[ast.expr | None], values: list[ast.expr]
) -> Iterator[Mutant]:
    """Yield a dict without one of its entries, and with neighbouring values exchanged."""
    spans = [
        (places.start(key) if key is not None else places.start(value) - 2, places.end(value))
        for key, value in zip(keys, values, strict=True)
    ]
    for index in range(len(spans)):
        yield places.drop_span("dropped entry", spans, index)
    for one, two in itertools.pairwise(values):
        yield places.swap("swapped entries", one, two)


def swapped_names(places: Places, node: ast.FunctionDef | ast.Lambda) -> Iterator[Mutant]:
    """Yield uses of one parameter as uses of the next."""
    names = [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    following = dict(zip(names, names[1:] + names[:1], strict=True))
    body: list[ast.AST] = [*node.body] if isinstance(node, ast.FunctionDef) else [node.body]
    for each in itertools.chain.from_iterable(map(ast.walk, body)):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load) and each.id in following:
            yield places.put("wrong variable", each, following[each.id])
