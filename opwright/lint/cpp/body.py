"""The body of a C++ function: how each tensor parameter is used."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as data_field
from typing import TYPE_CHECKING, Any

from opwright.lint.cpp.syntax import arguments, called, field, name_of, named, text
from opwright.lint.facts import Call, Passed, Site, Use, UseKind

if TYPE_CHECKING:
    from tree_sitter import Node

    from opwright.lint.cpp.syntax import Source
    from opwright.lint.facts import Parameter

__all__ = ["Body"]

# Methods whose result shares the tensor's storage, always.
VIEWS = frozenset(
    {
        *("view", "select", "slice", "narrow", "transpose", "t", "permute", "squeeze", "unsqueeze"),
        *("expand", "expand_as", "view_as", "alias", "detach", "diagonal", "unbind", "data"),
        *("flatten_view", "as_strided", "swapaxes", "movedim", "variable_data", "tensor_data"),
        *("value", "value_or", "operator*", "get", "at", "toTensor", "index"),
    }
)
# What a conversion may or may not copy: nothing is said of its result.
MAYBE_VIEWS = frozenset(
    {"reshape", "contiguous", "flatten", "to", "type_as", "ravel", "reshape_as", "cpu", "npu"}
)
POINTERS = frozenset({"data_ptr", "mutable_data_ptr", "storage", "unsafe_storage", "data_ptr_impl"})
# They end like in-place methods, but change no element.
NO_WRITES = frozenset({"requires_grad_", "retain_grad_", "rename_", "detach_", "share_memory_"})
SIZES = frozenset({"size", "sizes", "numel", "stride", "strides", "nbytes"})
GUARDS = frozenset({"guard_int", "expect_int"})
LISTS = ("TensorList", "ArrayRef", "vector", "List<", "ListRef", "array<")
COPIES = frozenset(
    {"memcpy", "std::memcpy", "memset", "std::memset", "memmove", "std::copy_n", "aclrtMemcpy"}
    | {"aclrtMemcpyAsync", "aclrtMemset", "aclrtMemsetAsync", "memcpy_s", "memset_s"}
)
CHECKS = (
    "TORCH_CHECK",
    "TORCH_INTERNAL_ASSERT",
    "TORCH_WARN",
    "ASCEND_LOG",
    "OPS_CHECK",
    "OP_CHECK",
)
TUPLES = ("std::make_tuple", "std::tuple", "std::tie", "std::forward_as_tuple", "std::vector")
CASTS = frozenset({"static_cast", "reinterpret_cast", "const_cast"})


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
        for each in named(node):
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
            declarator = next(iter(named(declarator)), None)
        if declarator is None or value is None or declarator.type != "identifier":
            return
        name = text(declarator)
        if value.type in {"number_literal", "string_literal"}:
            self.constants.append(Site(self.source.place(declarator), text(value), about=name))
        if value.type == "initializer_list" and len(named(value)) == 1:
            value = named(value)[0]
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
        if node.type == "parenthesized_expression" and named(node):
            return self.root(named(node)[0])
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
        if name in CASTS or name in {"std::move", "std::ref", "std::forward"}:
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
        if node.type == "call_expression" and called(node) == "static_cast":
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
        kind, call, at = self.classify(node, is_pointer=name in self.pointers)
        if kind is not None:
            shown = " ".join(text(at).split())[:80]
            self.uses.append(Use(parameter, kind, self.source.place(at), shown, call))

    def classify(  # noqa: C901, PLR0911, PLR0912, PLR0915 - one branch per form of expression
        self, node: Node, *, is_pointer: bool
    ) -> tuple[UseKind | None, Call | None, Node]:
        """Return what is done with a value, going up from it through views and casts."""
        each = node
        is_view = False
        while (parent := each.parent) is not None:
            if parent.type == "field_expression" and each == field(parent, "argument"):
                grand = parent.parent
                if grand is None or grand.type != "call_expression":
                    return UseKind.READ, None, parent
                member = method(parent)
                if member in VIEWS:
                    each, is_view = grand, is_view or member not in {"value", "value_or", "get"}
                    continue
                if member in POINTERS:
                    each, is_pointer = grand, True
                    if member == "mutable_data_ptr":
                        return UseKind.WRITE, None, grand
                    continue
                if member in MAYBE_VIEWS or member.startswith("resize_"):
                    return UseKind.OTHER, None, grand
                if member.endswith("_") and not member.endswith("__") and member not in NO_WRITES:
                    return (UseKind.OTHER if is_pointer else UseKind.WRITE), None, grand
                return UseKind.READ, None, grand
            if parent.type in {"parenthesized_expression", "cast_expression"}:
                each = parent
                continue
            if parent.type == "subscript_expression" and each == field(parent, "argument"):
                if is_pointer:
                    return self.element(parent)
                each, is_view = parent, True
                continue
            if parent.type == "pointer_expression":
                if is_pointer and not is_address(parent):
                    return self.element(parent)
                each = parent
                continue
            if parent.type == "binary_expression":
                if is_pointer and each == field(parent, "left"):
                    each = parent
                    continue
                return UseKind.READ, None, parent
            if parent.type == "conditional_expression":
                if each == field(parent, "condition"):
                    return UseKind.READ, None, parent
                each = parent
                continue
            if parent.type == "argument_list":
                grand = parent.parent
                if grand is None or grand.type != "call_expression":
                    return UseKind.OTHER, None, parent
                name = called(grand)
                if name in CASTS or name in {"std::move", "std::ref", "std::forward"}:
                    each = grand
                    continue
                return self.argument(each, grand, name, is_pointer=is_pointer)
            if parent.type in {"return_statement", "initializer_list"}:
                at = parent
                while at.type == "initializer_list" and at.parent is not None:
                    at = at.parent
                if at.type == "compound_literal_expression" and at.parent is not None:
                    at = at.parent
                if at.type != "return_statement":
                    return UseKind.OTHER, None, parent
                plain = not is_pointer and not is_view
                return (UseKind.RETURN if plain else UseKind.OTHER), None, parent
            if parent.type == "assignment_expression":
                return self.assigned(each, parent, is_view=is_view, is_pointer=is_pointer)
            if parent.type == "update_expression" and is_pointer:
                return UseKind.OTHER, None, parent
            if parent.type == "init_declarator":
                return None, None, parent  # a new name; its uses count
            return UseKind.READ if parent.type != "lambda_capture_specifier" else None, None, parent
        return UseKind.OTHER, None, each

    def element(self, node: Node) -> tuple[UseKind | None, Call | None, Node]:
        """Classify an element behind a pointer: stored to, or loaded."""
        parent = node.parent
        if parent is not None and parent.type == "update_expression":
            return UseKind.WRITE, None, parent
        if parent is not None and parent.type == "assignment_expression":
            is_left = node == field(parent, "left")
            return (UseKind.WRITE if is_left else UseKind.READ), None, parent
        if parent is not None and parent.type == "pointer_expression":
            return UseKind.OTHER, None, parent
        return UseKind.READ, None, node

    def assigned(
        self, each: Node, parent: Node, *, is_view: bool, is_pointer: bool
    ) -> tuple[UseKind | None, Call | None, Node]:
        """Classify a value in an assignment."""
        if each != field(parent, "left"):
            left = field(parent, "right")
            is_name = (field(parent, "left") or parent).type == "identifier"
            return (None if is_name and left == each else UseKind.OTHER), None, parent
        sign = field(parent, "operator")
        if sign is not None and text(sign) != "=":
            if is_pointer and not is_view:
                return UseKind.OTHER, None, parent
            return UseKind.WRITE, None, parent
        return (UseKind.WRITE if is_view else UseKind.OTHER), None, parent

    def argument(
        self, each: Node, call: Node, name: str, *, is_pointer: bool
    ) -> tuple[UseKind | None, Call | None, Node]:
        """Classify a value that is an argument of a call."""
        given = arguments(call)
        position = next((at for at, one in enumerate(given) if one == each), -1)
        if name in COPIES:
            kind = UseKind.WRITE if position == 0 and is_pointer else UseKind.READ
            return kind, None, call
        if is_aclnn(name) and given and text(given[0]).startswith("acl"):
            found = Call(text(given[0]), position - 1, len(given) - 1, is_aclnn=True)
            return (UseKind.OTHER if is_pointer else UseKind.CALL), found, call
        if is_launch(name) and given:
            found = Call(text(given[0]), position - 2, len(given) - 2, is_launch=True)
            return UseKind.CALL, found, call
        if name.startswith(CHECKS):
            return UseKind.READ, None, call
        if name.startswith(TUPLES):
            at = call.parent
            while at is not None and at.type in {"initializer_list", "compound_literal_expression"}:
                at = at.parent
            if at is not None and at.type == "return_statement" and not is_pointer:
                return UseKind.RETURN, None, call
            return UseKind.OTHER, None, call
        scope, _, bare = name.rpartition("::")
        if scope in {"at", "torch"}:
            if bare.endswith("_out") or (bare.endswith("_") and not bare.startswith("_")):
                return (UseKind.WRITE if position == 0 else UseKind.READ), None, call
            if bare.endswith("_outf"):
                last = position == len(given) - 1
                return (UseKind.WRITE if last else UseKind.READ), None, call
            return (UseKind.READ if not is_pointer else UseKind.OTHER), None, call
        if not name or is_pointer:
            return UseKind.OTHER, None, call
        return UseKind.CALL, Call(name, position, len(given)), call


def is_address(node: Node) -> bool:
    """Return whether an expression is &x, not *x."""
    sign = field(node, "operator")
    return node.type == "pointer_expression" and sign is not None and text(sign) == "&"


def method(function: Node) -> str:
    """Return the name of the method of a field expression, without template arguments."""
    member = field(function, "field")
    if member is None:
        return ""
    if member.type in {"template_method", "dependent_field_identifier"}:
        inner = field(member, "name")
        return "" if inner is None else text(inner)
    return text(member)


def is_aclnn(name: str) -> bool:
    """Return whether a macro calls an aclnn function by its name: EXEC_NPU_CMD and its kin."""
    return name.startswith("EXEC_") and ("NPU" in name or "ACLNN" in name) and "KERNEL" not in name


def is_launch(name: str) -> bool:
    """Return whether a macro starts a kernel by its name: EXEC_KERNEL_CMD(kernel, blocks, ...)."""
    return name.startswith("EXEC_KERNEL")
