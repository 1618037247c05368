"""The schema that torch infers from a function's annotations (torch.library.infer_schema)."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from opwright.lint.schema import ForeignArgument, ForeignSchema

if TYPE_CHECKING:
    from opwright.lint.python.functions import AnyFunction

__all__ = ["infer_schema"]

BASES = {
    "int": "SymInt",
    "float": "float",
    "bool": "bool",
    "str": "str",
    "SymInt": "SymInt",
    "dtype": "ScalarType",
    "device": "Device",
    "Number": "Scalar",
    "number": "Scalar",
    "types": "Scalar",
}


def infer_schema(name: str, node: AnyFunction, mutates: ast.expr | None) -> ForeignSchema | None:
    """Return the schema, None if mutates_args cannot be read."""
    written: set[str] = set()
    is_unknown = False
    if isinstance(mutates, ast.List | ast.Tuple | ast.Set):
        for each in mutates.elts:
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                written.add(each.value)
            else:
                return None
    elif isinstance(mutates, ast.Constant) and mutates.value == "unknown":
        is_unknown = True
    elif isinstance(mutates, ast.Dict | ast.Call) and not ast.unparse(mutates).strip("{}()setl"):
        pass
    elif mutates is not None:
        return None
    given = node.args
    plain = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [None] * (len(plain) - len(given.defaults))
    defaults += given.defaults
    pairs = [
        *((each, default, False) for each, default in zip(plain, defaults, strict=True)),
        *(
            (each, default, True)
            for each, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
        ),
    ]
    arguments = tuple(
        argument(each, default, keyword_only, written, is_unknown=is_unknown)
        for each, default, keyword_only in pairs
    )
    returned = None if isinstance(node, ast.Lambda) else node.returns
    return ForeignSchema(
        namespace=None, name=name, overload="", arguments=arguments, results=results(returned)
    )


def argument(
    node: ast.arg,
    default: ast.expr | None,
    keyword_only: bool,  # noqa: FBT001 - one of a row
    written: set[str],
    *,
    is_unknown: bool,
) -> ForeignArgument:
    """Return one argument."""
    kind = "" if node.annotation is None else ast.unparse(node.annotation)
    is_tensor = "Tensor" in kind
    is_list = any(word in kind for word in ("List[", "list[", "Sequence[", "Tuple[", "tuple["))
    bare = kind.replace("]", "").rpartition("[")[2].rpartition(".")[2].partition(" ")[0]
    return ForeignArgument(
        name=node.arg,
        base="Tensor" if is_tensor else BASES.get(bare, "Any"),
        is_list=is_list,
        is_optional="Optional" in kind or "None" in kind,
        default=None if default is None else ast.unparse(default),
        alias="" if node.arg in written else None,
        is_written=node.arg in written or (is_unknown and is_tensor),
        keyword_only=keyword_only,
    )


def results(node: ast.expr | None) -> tuple[ForeignArgument, ...]:
    """Return the results."""
    if node is None or (isinstance(node, ast.Constant) and node.value is None):
        return ()
    kind = ast.unparse(node)
    if kind in {"None", "()"}:
        return ()
    base = "Tensor" if "Tensor" in kind else "Any"
    return (ForeignArgument(name=None, base=base, is_list="ist[" in kind),)
