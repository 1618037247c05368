"""Kernel launches, `kernel<<<blocks, l2, stream>>>(arguments)`, as C++ that any compiler takes.

Each launch becomes a call of `opwright_launch`, which native/ascendc/kernel/launch.h declares. The
text around it and all line breaks stay, so that messages name the lines that the user wrote.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.ascendc.errors import LaunchSyntaxError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["has_launches", "rewrite_launches"]

TOKEN = re.compile(
    r"""
    (?P<space>\s+|//[^\n]*(?:\\\n[^\n]*)*|/\*.*?\*/)
  | (?P<text>(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)"
           |(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"
           |(?:u8|[uUL])?'(?:\\.|[^'\\\n])*')
  | (?P<number>\.?\d(?:'?[\w.]|(?<=[eEpP])[+-])*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<mark><<<|>>>|::|->|.)
    """,
    re.VERBOSE | re.DOTALL,
)
OPENING = {"(": ")", "[": "]", "{": "}"}
CLOSING = frozenset(OPENING.values())
UNKNOWN = "kUnknown"  # the kernel says it inside, or its code does
KINDS = {"__vector__": "kVector", "__cube__": "kCube"}
MIX_TOKENS = 5  # of __mix__(1, 2) behind the word
CONFIGURATIONS = {2, 3}  # how many values stand between <<< and >>>


@dataclass(frozen=True, slots=True)
class Token:
    """A token that is neither space nor comment, and where it stands."""

    kind: str
    text: str
    start: int
    end: int


def has_launches(source: str) -> bool:
    """Return whether a text launches a kernel outside comments and strings."""
    return "<<<" in source and any(token.text == "<<<" for token in tokens_of(source))


def rewrite_launches(source: str, *, where: str) -> str:
    """Return the source with its launches as calls; lines keep their numbers.

    Parameters
    ----------
    source
        C++ with launches.
    where
        The name of the file, for errors.

    Raises
    ------
    LaunchSyntaxError
        OPW-A001: something that looks like a launch and is none.
    """
    tokens = [*tokens_of(source)]
    kinds = kinds_of(tokens)
    pieces: list[str] = []
    done = 0
    for index, token in enumerate(tokens):
        if token.text != "<<<" or token.start < done:
            continue
        launch = Launch(source, tokens, index, where)
        pieces += [source[done : launch.start], launch.call(kinds.get(launch.kernel))]
        done = launch.end
    return "".join([*pieces, source[done:]])


def tokens_of(source: str) -> Iterator[Token]:
    """Yield the tokens; an unfinished string or comment ends up as single characters."""
    for match in TOKEN.finditer(source):
        kind = match.lastgroup or ""
        if kind == "delimiter":
            kind = "text"
        if kind != "space":
            yield Token(kind, match[0], match.start(), match.end())


def kinds_of(tokens: list[Token]) -> dict[str, str]:
    """Return the kinds of the kernels that are declared with one, such as `__mix__(1, 2)`."""
    kinds = {}
    for index, token in enumerate(tokens):
        if token.text != "__global__":
            continue
        kind, at = UNKNOWN, index + 1
        while at + 1 < len(tokens) and tokens[at].text not in {";", "{"}:
            if tokens[at].text == "__mix__" and at + MIX_TOKENS < len(tokens):
                kind = "kMix" + "".join(each.text for each in tokens[at + 2 : at + MIX_TOKENS : 2])
                at += MIX_TOKENS
            elif tokens[at + 1].text == "(":
                kinds[tokens[at].text] = kind
                break
            else:
                kind = KINDS.get(tokens[at].text, kind)
            at += 1
    return {name: kind for name, kind in kinds.items() if kind != UNKNOWN}


class Launch:
    """One launch: the name of the kernel, the configuration and the arguments."""

    def __init__(self, source: str, tokens: list[Token], opening: int, where: str) -> None:
        self.source, self.tokens, self.where = source, tokens, where
        self.opening = opening
        first = self.first_of_name()
        self.start = tokens[first].start
        self.name = " ".join(source[self.start : tokens[opening].start].split())
        closing = self.closing_angle()
        self.configuration = self.parts(opening + 1, closing)
        if len(self.configuration) not in CONFIGURATIONS:
            raise self.error(
                got=f"{len(self.configuration)} values between <<< and >>>",
                allowed=(
                    "<<<blocks, l2, stream>>>",
                    "<<<blocks, l2>>>",
                ),
                fix="SIMT kernels, which take the number of threads as well, are not supported"
                if len(self.configuration) > max(CONFIGURATIONS)
                else None,
            )
        if closing + 1 >= len(tokens) or tokens[closing + 1].text != "(":
            raise self.error(
                got="no ( behind >>>", allowed=("kernel<<<blocks, l2, stream>>>(arguments)",)
            )
        end = self.matching(closing + 1)
        self.arguments = source[tokens[closing + 1].end : tokens[end].start]
        self.has_arguments = end > closing + 2
        self.end = tokens[end].end

    @property
    def kernel(self) -> str:
        """The kernel without namespaces and template arguments."""
        return self.name.partition("<")[0].rpartition("::")[2].strip()

    def call(self, kind: str | None) -> str:
        """Return the call: with all line breaks of the launch, in their order."""
        before = self.breaks(self.start, self.tokens[self.opening].start)
        configuration = ", ".join(self.configuration)
        arguments = f", {self.arguments}" if self.has_arguments else self.arguments
        behind = (
            self.breaks(self.start, self.end)
            .removeprefix(before)
            .removeprefix("\n" * (configuration + arguments).count("\n"))
        )
        return (
            f'::opwright_launch("{self.kernel}", '
            f"::AscendC::machine::KernelKind::{kind or UNKNOWN}, "
            "[](auto&&... opwright_arguments) { "
            f"{self.name}(static_cast<decltype(opwright_arguments)>(opwright_arguments)...); }}, "
            f"{before}::OpwrightConfiguration({configuration}){arguments}){behind}"
        )

    def breaks(self, start: int, end: int) -> str:
        """Return the line breaks of a part of the source."""
        return "\n" * self.source.count("\n", start, end)

    def first_of_name(self) -> int:
        """Return the token that the kernel's name begins with."""
        at = self.opening - 1
        if at >= 0 and self.tokens[at].text == ">":
            at = self.template_start(at) - 1
        if at < 0 or self.tokens[at].kind != "word":
            raise self.error(got="no name of a kernel before <<<", allowed=("kernel<<<…>>>(…)",))
        while at > 0 and self.tokens[at - 1].text == "::":
            at -= 1
            if at > 0 and self.tokens[at - 1].kind == "word":
                at -= 1
        return at

    def template_start(self, at: int) -> int:
        """Return the < that belongs to the > at a place."""
        depth = 0
        while at >= 0:
            text = self.tokens[at].text
            if text in CLOSING:
                at = self.matching_back(at)
            elif text in {">", ">>>"}:
                depth += len(text)
            elif text == "<":
                depth -= 1
                if depth == 0:
                    return at
            elif text in {";", "<<<"}:
                break
            at -= 1
        raise self.error(got="a > without < before <<<", allowed=("kernel<arguments><<<…>>>(…)",))

    def closing_angle(self) -> int:
        """Return the >>> that ends the configuration."""
        at = self.opening + 1
        while at < len(self.tokens):
            text = self.tokens[at].text
            if text in OPENING:
                at = self.matching(at)
            elif text == ">>>":
                return at
            elif text in {";", "<<<"}:
                break
            at += 1
        raise self.error(
            got="no >>> behind <<<", allowed=("kernel<<<blocks, l2, stream>>>(arguments)",)
        )

    def parts(self, start: int, end: int) -> list[str]:
        """Return the texts between commas."""
        if start == end:
            return []
        parts, begin, at = [], self.tokens[start - 1].end, start
        while at < end:
            text = self.tokens[at].text
            if text in OPENING:
                at = self.matching(at)
            elif text == ",":
                parts.append(self.source[begin : self.tokens[at].start].strip(" \t"))
                begin = self.tokens[at].end
            at += 1
        return [*parts, self.source[begin : self.tokens[end].start].strip(" \t")]

    def matching(self, at: int) -> int:
        """Return the bracket that closes the one at a place."""
        depth, start = 0, at
        while at < len(self.tokens):
            text = self.tokens[at].text
            depth += (text in OPENING) - (text in CLOSING)
            if depth == 0:
                return at
            at += 1
        raise self.error(got=f"a {self.tokens[start].text} that nothing closes")

    def matching_back(self, at: int) -> int:
        """Return the bracket that opens the one at a place."""
        depth, start = 0, at
        while at >= 0:
            text = self.tokens[at].text
            depth += (text in CLOSING) - (text in OPENING)
            if depth == 0:
                return at
            at -= 1
        raise self.error(got=f"a {self.tokens[start].text} that nothing opens")

    def error(
        self, *, got: str, allowed: tuple[str, ...] = (), fix: str | None = None
    ) -> LaunchSyntaxError:
        """Return an error at the launch."""
        line = self.source.count("\n", 0, self.tokens[self.opening].start) + 1
        return LaunchSyntaxError(where=f"{self.where}:{line}", got=got, allowed=allowed, fix=fix)
