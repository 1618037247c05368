"""The body of a C++ function: how each tensor parameter is used."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as data_field
from typing import TYPE_CHECKING, Any

from opwright.lint.cpp.syntax import arguments, field, name_called, name_of, select_named, text
from opwright.lint.cpp.uses import PASSING, POINTERS, VIEWS, classify, is_aclnn, is_address, method
from opwright.lint.definitions import Passed, Site, Use

if TYPE_CHECKING:
    from tree_sitter import Node

    from opwright.lint.cpp.syntax import Source
    from opwright.lint.definitions import Parameter

__all__ = ["Body"]

SIZES = frozenset({"size", "sizes", "numel", "stride", "strides", "nbytes"})
GUARDS = frozenset({"guard_int", "expect_int"})
LISTS = ("TensorList", "ArrayRef", "vector", "List<", "ListRef", "array<")


@dataclass(slots=True)
class Body:
    """Reads one body; what it found is in its fields.

    Parameters
    ----------
    aliases
        Variables that are a parameter or a view of it, by name.
    pointers
        Variables that point into a parameter.
    """

    source: Source
    parameters: tuple[Parameter, ...]
    aliases: dict[str, str] = data_field(default_factory=dict)
    pointers: dict[str, str] = data_field(default_factory=dict)
    types: dict[str, str] = data_field(default_factory=dict)
    uses: list[Use] = data_field(default_factory=list)
    frozen: list[Site] = data_field(default_factory=list)
    constants: list[Site] = data_field(default_factory=list)
    passed: list[Passed] = data_field(default_factory=list)
    calls: set[str] = data_field(default_factory=set)
    names: set[str] = data_field(default_factory=set)
    lists: set[str] = data_field(default_factory=set)

    def facts(self) -> dict[str, Any]:
        """Return the fields of Function that a body fills."""
        return {
            "uses": tuple(self.uses),
            "frozen": tuple(self.frozen),
            "constants": tuple(self.constants),
            "passed": tuple(self.passed),
            "calls": frozenset(self.calls),
            "names": frozenset(self.names),
        }

    def read(self, body: Node) -> Body:
        """Walk over a body in the order of its text."""
        for each in self.parameters:
            if each.name:
                self.types[each.name] = each.type
                if each.is_tensor:
                    self.aliases[each.name] = each.name
                    if any(word in each.type for word in LISTS):
                        self.lists.add(each.name)
        # A name stands for its new value behind the statement that binds it, not inside of it.
        stack = [(body, False)]
        while stack:
            node, is_done = stack.pop()
            if is_done:
                (self.declare if node.type == "init_declarator" else self.assign)(node)
            elif node.type == "identifier":
                self.identifier(node)
            else:
                if node.type == "call_expression":
                    self.call(node)
                elif node.type == "declaration":
                    self.declare_plain(node)
                elif node.type in {"init_declarator", "assignment_expression"}:
                    stack.append((node, True))
                stack.extend((each, False) for each in reversed(node.children))
        return self

    def declare_plain(self, node: Node) -> None:
        """Keep the C++ types of local variables."""
        kind = field(node, "type")
        if kind is None:
            return
        for each in select_named(node):
            inner = field(each, "declarator") if each.type == "init_declarator" else each
            if inner is not None and inner.type == "identifier":
                self.types[text(inner)] = text(kind)

    def declare(self, node: Node) -> None:
        """Keep what a local variable stands for."""
        declarator, value = field(node, "declarator"), field(node, "value")
        while declarator is not None and declarator.type in {
            "reference_declarator",
            "pointer_declarator",
        }:
            declarator = next(iter(select_named(declarator)), None)
        if declarator is None or value is None or declarator.type != "identifier":
            return
        name = text(declarator)
        if value.type in {"number_literal", "string_literal"}:
            self.constants.append(Site(self.source.place(declarator), text(value), about=name))
        if value.type == "initializer_list" and len(select_named(value)) == 1:
            value = select_named(value)[0]
        self.bind(name, value)

    def assign(self, node: Node) -> None:
        """Follow `y = x.view(...)`; a parameter that is bound anew is the argument no longer."""
        left, right = field(node, "left"), field(node, "right")
        sign = field(node, "operator")
        if left is None or right is None or left.type != "identifier":
            return
        if sign is not None and text(sign) != "=":
            return
        self.bind(text(left), right)

    def bind(self, name: str, value: Node) -> None:
        """Let a variable stand for what a value is a view of."""
        root, is_pointer = self.root(value)
        self.aliases.pop(name, None)
        self.pointers.pop(name, None)
        if root is not None:
            (self.pointers if is_pointer else self.aliases)[name] = root

    def root(self, node: Node) -> tuple[str | None, bool]:
        """Return the parameter whose storage a value shares, and whether the value is a pointer."""
        if node.type == "identifier":
            name = text(node)
            if name in self.pointers:
                return self.pointers[name], True
            return self.aliases.get(name), False
        if node.type == "call_expression":
            return self.root_of_call(node)
        if node.type in {"subscript_expression", "pointer_expression", "cast_expression"}:
            inner = field(node, "argument") or field(node, "value")
            root, is_pointer = (None, False) if inner is None else self.root(inner)
            is_loaded = is_pointer and node.type != "cast_expression" and not is_address(node)
            return (None, False) if is_loaded else (root, is_pointer)
        if node.type == "parenthesized_expression" and select_named(node):
            return self.root(select_named(node)[0])
        if node.type == "binary_expression":
            left = field(node, "left")
            root, is_pointer = (None, False) if left is None else self.root(left)
            return (root, True) if is_pointer else (None, False)
        if node.type == "conditional_expression":
            for name in ("consequence", "alternative"):
                inner = field(node, name)
                root, is_pointer = (None, False) if inner is None else self.root(inner)
                if root is not None:
                    return root, is_pointer
        return None, False

    def root_of_call(self, node: Node) -> tuple[str | None, bool]:
        """Return the same for a call."""
        function = field(node, "function")
        if function is None:
            return None, False
        if function.type == "field_expression":
            owner, member = field(function, "argument"), method(function)
            if owner is None:
                return None, False
            root, is_pointer = self.root(owner)
            if member in VIEWS:
                return root, is_pointer
            return (root, True) if member in POINTERS else (None, False)
        name = name_of(function)
        if name in PASSING:
            given = arguments(node)
            return self.root(given[0]) if given else (None, False)
        return None, False

    def call(self, node: Node) -> None:
        """Note a call, the sizes that it freezes, and what it gives to an aclnn function."""
        function = field(node, "function")
        if function is None:
            return
        if function.type == "field_expression":
            member, owner = method(function), field(function, "argument")
            if member in GUARDS:
                self.frozen.append(Site(self.source.place(node), f".{member}(...)", detail=member))
            if member in SIZES and owner is not None:
                self.size(node, owner, member)
            return
        name = name_of(function)
        if not name:
            return
        self.calls.add(name)
        if is_aclnn(name):
            given = arguments(node)
            if given and text(given[0]).startswith("acl"):
                self.pass_on(text(given[0]), given[1:])

    def size(self, node: Node, owner: Node, member: str) -> None:
        """Note a size that is read as a number."""
        root, is_pointer = self.root(owner)
        if root is None or is_pointer:
            return
        if member == "size" and not arguments(node):
            return  # the length of a list
        if root in self.lists and owner.type == "identifier" and text(owner) == root:
            return
        shown = f"{text(owner)}.{member}({', '.join(map(text, arguments(node)))})"
        self.frozen.append(Site(self.source.place(node), shown[:80], about=root, detail=member))

    def pass_on(self, function: str, given: list[Node]) -> None:
        """Keep what an aclnn function gets."""
        for position, each in enumerate(given):
            self.passed.append(
                Passed(
                    function,
                    position,
                    len(given),
                    text(each)[:60],
                    self.type_of(each),
                    self.source.place(each),
                )
            )

    def type_of(self, node: Node) -> str:
        """Return the C++ type of an argument where it is plain, else ""."""
        if node.type == "identifier":
            return self.types.get(text(node), "")
        if node.type == "number_literal":
            written = text(node).lower()
            if written.startswith("0x") or written.endswith("f"):
                return ""
            return "double" if any(sign in written for sign in ".e") else ""
        if node.type == "call_expression" and name_called(node) == "static_cast":
            function = field(node, "function")
            inner = None if function is None else field(function, "arguments")
            return "" if inner is None else text(inner).strip("<> ")
        return ""

    def identifier(self, node: Node) -> None:
        """Classify one appearance of a variable."""
        name = text(node)
        self.names.add(name)
        parameter = self.aliases.get(name) or self.pointers.get(name)
        if parameter is None:
            return
        kind, call, at = classify(node, is_pointer=name in self.pointers)
        if kind is not None:
            shown = " ".join(text(at).split())[:80]
            self.uses.append(Use(parameter, kind, self.source.place(at), shown, call))
