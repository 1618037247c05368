"""The kernels that a source defines, `__global__` functions that are no templates.

The source is preprocessed, so that conditions and includes are those of its compilation. With
OPWRIGHT_LIST_KERNELS the headers leave words in the place of `__global__` and its companions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.ascendc.launches import CLOSING, MIX_TOKENS, OPENING, UNKNOWN, tokens_of

if TYPE_CHECKING:
    from opwright.ascendc.launches import Token

__all__ = ["PREPROCESSING", "KernelFunction", "find_kernels", "kernel_named"]

# The option with which a text is preprocessed; the words are those of kernel/core/types.h.
PREPROCESSING = "-DOPWRIGHT_LIST_KERNELS"
GLOBAL, MIX = "opwright_global", "opwright_mix"
KINDS = {"opwright_vector": "kVector", "opwright_cube": "kCube"}
LINE_MARKER = re.compile(r'^# \d+ (?P<file>"(?:\\.|[^"\\])*")(?P<flags>[ \d]*)$')
ENTERS, SYSTEM_HEADER = "1", "3"  # flags of a line marker


@dataclass(frozen=True, slots=True)
class KernelFunction:
    """A kernel.

    Parameters
    ----------
    expression
        Its name with namespaces, and the arguments of a template: `ns::add<float>`.
    kind
        The KernelKind of native/ascendc/kernel/core/machine.h.
    """

    expression: str
    kind: str

    @property
    def name(self) -> str:
        """The name without namespaces and template arguments."""
        return self.expression.partition("<")[0].rpartition("::")[2].strip()


def find_kernels(preprocessed: str) -> tuple[list[KernelFunction], dict[str, str]]:
    """Return the kernels that are defined outside of system headers, and the kinds of all by name.

    A template is no kernel yet: it is among the kinds alone.
    """
    tokens = [*tokens_of(without_system_headers(preprocessed))]
    kernels: list[KernelFunction] = []
    kinds: dict[str, str] = {}
    scopes: list[str] = []  # for each open brace, the namespace that it opens
    for index, token in enumerate(tokens):
        if token.text == "{":
            scopes.append(namespace_before(tokens, index))
        elif token.text == "}" and scopes:
            scopes.pop()
        elif token.text == GLOBAL:
            name, kind, is_definition = declaration_behind(tokens, index + 1)
            if not name:
                continue
            if kind != UNKNOWN or name not in kinds:
                kinds[name] = kind
            if is_definition and not is_template(tokens, index):
                path = "::".join([*(scope for scope in scopes if scope), name])
                kernels.append(KernelFunction(path, kinds[name]))
    return kernels, kinds


def kernel_named(expression: str, kinds: dict[str, str]) -> KernelFunction:
    """Return the kernel that a name expression names; its kind is that of the template's name."""
    kernel = KernelFunction(expression.strip().removeprefix("&").strip(), UNKNOWN)
    return KernelFunction(kernel.expression, kinds.get(kernel.name, UNKNOWN))


def without_system_headers(preprocessed: str) -> str:
    """Return the lines that come from the user's files."""
    lines: list[str] = []
    system: set[str] = set()
    keeps = True
    for line in preprocessed.splitlines():
        marker = LINE_MARKER.match(line)
        if marker:
            # The expansion of a macro of a system header has that flag as well, in a file of the
            # user's.
            if {ENTERS, SYSTEM_HEADER} <= {*marker["flags"].split()}:
                system.add(marker["file"])
            keeps = marker["file"] not in system
        elif keeps:
            lines.append(line)
    return "\n".join(lines)


def namespace_before(tokens: list[Token], brace: int) -> str:
    """Return the namespace that a brace opens; empty for an unnamed one and for other braces."""
    at = brace - 1
    while at >= 0 and (tokens[at].kind == "word" or tokens[at].text == "::"):
        if tokens[at].text == "namespace":
            return "".join(token.text for token in tokens[at + 1 : brace])
        at -= 1
    return ""


def declaration_behind(tokens: list[Token], at: int) -> tuple[str, str, bool]:
    """Return the name and kind of the function behind a mark, and whether it has a body."""
    kind = UNKNOWN
    while at + 1 < len(tokens) and tokens[at].text not in {";", "{"}:
        if tokens[at].text == MIX and at + MIX_TOKENS < len(tokens):
            kind = "kMix" + "".join(each.text for each in tokens[at + 2 : at + MIX_TOKENS : 2])
            at += MIX_TOKENS
        elif tokens[at].text == "__attribute__":
            at = behind_brackets(tokens, at + 1)
        elif tokens[at + 1].text == "(" and tokens[at].kind == "word":
            behind = behind_brackets(tokens, at + 1)
            return tokens[at].text, kind, behind < len(tokens) and tokens[behind].text == "{"
        else:
            kind = KINDS.get(tokens[at].text, kind)
            at += 1
    return "", kind, False


def behind_brackets(tokens: list[Token], at: int) -> int:
    """Return the place behind the bracket that closes the one at a place."""
    depth = 0
    while at < len(tokens):
        depth += (tokens[at].text in OPENING) - (tokens[at].text in CLOSING)
        at += 1
        if depth == 0:
            break
    return at


def is_template(tokens: list[Token], at: int) -> bool:
    """Return whether the declaration that a token belongs to begins with `template <…>`."""
    while at > 0 and tokens[at - 1].text not in {";", "{", "}"}:
        at -= 1
        if tokens[at].text == "template":
            return True
    return False
