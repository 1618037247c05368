"""Names that Python, C++, PyTorch or torch_npu need for themselves."""

from __future__ import annotations

import keyword

from opwright.kit.declare.errors import ReservedNameError

__all__ = [
    "CPP_WORDS",
    "RESERVED_NAMES",
    "RESERVED_NAMESPACES",
    "check_namespace",
    "check_word",
    "safe",
]


# Namespaces that PyTorch and torch_npu define themselves.
RESERVED_NAMESPACES = frozenset(
    (
        *("aten", "prim", "prims", "prims_common", "quantized", "c10d", "c10d_functional"),
        *("inductor", "npu", "npu_inference", "torchair", "higher_order", "_c10d_functional"),
        *("profiler", "debugprims"),
    )
)


# Attributes of torch.ops.<namespace> itself.
RESERVED_NAMES = frozenset({"name", "load_library", "loaded_libraries", "import_module"})


# Words of C++ that are no words of Python, as far as they are likely names.
CPP_WORDS = frozenset(
    (
        *("auto", "bool", "case", "catch", "char", "const", "default", "delete", "do", "double"),
        *("enum", "explicit", "export", "extern", "float", "friend", "goto", "inline", "int"),
        *("long", "mutable", "namespace", "new", "operator", "private", "protected", "public"),
        *("register", "requires", "short", "signed", "sizeof", "static", "struct", "switch"),
        *("template", "this", "throw", "typedef", "typename", "union", "unsigned", "using"),
        *("virtual", "void", "volatile"),
    )
)


# All words of C++ that a Python identifier may be, also those that are no likely names.
ALL_CPP_WORDS = CPP_WORDS.union(
    ("alignas", "alignof", "asm", "compl", "concept", "decltype", "noexcept", "nullptr", "typeid"),
    ("consteval", "constexpr", "constinit", "false", "true"),
    ("and", "bitand", "bitor", "not", "or", "xor"),
)


def safe(name: str) -> str:
    """Return an identifier that is no word of C++.

    >>> safe("scale"), safe("double")
    ('scale', 'double_')
    """
    return f"{name}_" if name in ALL_CPP_WORDS else name


def check_word(name: str, kind: str, *, where: str) -> None:
    """Raise if a name is a word of Python or C++, or PyTorch's own."""
    if not name.isidentifier() or name.startswith("__"):
        raise ReservedNameError(
            where=f"{where}, {kind}", got=repr(name), fix="use letters, digits and _"
        )
    words = CPP_WORDS | (RESERVED_NAMES if kind == "operator" else set())
    if keyword.iskeyword(name) or name in words:
        raise ReservedNameError(
            where=f"{where}, {kind}",
            got=repr(name),
            fix=f"choose another name, for example {name}_",
        )


def check_namespace(name: str, *, where: str) -> None:
    """Raise if a namespace is no word, or another's."""
    check_word(name, "namespace", where=where)
    if name in RESERVED_NAMESPACES:
        raise ReservedNameError(
            where=f"{where}, namespace",
            got=repr(name),
            fix="choose a name that neither PyTorch nor torch_npu uses",
        )
