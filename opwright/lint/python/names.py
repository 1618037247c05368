"""Meanings of names and constants of a Python file."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

__all__ = ["TORCH", "LibraryVariable", "Scope", "plain_text"]

TORCH = {
    *("Library", "impl", "impl_abstract", "register_fake", "register_kernel", "custom_op"),
    *("triton_op", "define", "_scoped_library", "register_autograd"),
}


@dataclass(frozen=True, slots=True)
class LibraryVariable:
    """A torch.library.Library: namespace (None if it is not readable), kind, dispatch key."""

    namespace: str | None
    kind: str
    key: str | None


@dataclass(slots=True)
class Scope:
    """Names of a module, class or function, and of those around it."""

    imports: dict[str, str]
    constants: dict[str, str] = field(default_factory=dict)
    libraries: dict[str, LibraryVariable] = field(default_factory=dict)
    operators: dict[str, str] = field(default_factory=dict)
    functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda] = field(
        default_factory=dict
    )

    def inner(self) -> Scope:
        """Return a scope inside of this one."""
        return Scope(
            self.imports,
            dict(self.constants),
            dict(self.libraries),
            dict(self.operators),
            dict(self.functions),
        )

    def dotted(self, node: ast.expr) -> str:
        """Return a dotted name with its imports resolved, or ""."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        head = self.imports.get(node.id, node.id)
        return ".".join((head, *reversed(parts)))

    def string(self, node: ast.expr | None) -> str | None:
        """Return the value of a text, None if the file does not say it."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        if isinstance(node, ast.Name):
            return self.constants.get(node.id)
        if isinstance(node, ast.JoinedStr):
            parts = [
                self.string(each.value)
                if isinstance(each, ast.FormattedValue)
                else self.string(each)
                for each in node.values
            ]
            return None if None in parts else "".join(part or "" for part in parts)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self.string(node.left), self.string(node.right)
            return None if left is None or right is None else left + right
        return None

    def operator(self, node: ast.expr | None) -> str | None:
        """Return the operator that an argument names: "ns::op", torch.ops.ns.op.overload."""
        if node is None:
            return None
        if (written := self.string(node)) is not None:
            return written
        name = self.dotted(node)
        if name.startswith("torch.ops."):
            parts = name.split(".")[2:]
            if len(parts) == 2:  # noqa: PLR2004 - ns.op
                return f"{parts[0]}::{parts[1]}"
            if len(parts) == 3:  # noqa: PLR2004 - ns.op.overload
                overload = "" if parts[2] == "default" else f".{parts[2]}"
                return f"{parts[0]}::{parts[1]}{overload}"
        return self.operators.get(name)


def plain_text(node: ast.expr) -> str:
    """Return an expression as text, short."""
    return ast.unparse(node)[:80]
