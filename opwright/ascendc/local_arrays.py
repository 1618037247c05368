"""Arrays in a memory of the core, `__ubuf__ float x[256];`, as C++ that any compiler takes.

The device's compiler gives such an array a place in that memory. Each declaration becomes one of
native/ascendc/kernel/core/local_array.h, which takes the place at run time; all line breaks stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.ascendc.launches import CLOSING, OPENING, tokens_of

if TYPE_CHECKING:
    from opwright.ascendc.launches import Token

__all__ = ["rewrite_local_arrays"]

# The memory of each word, as Memory of native/ascendc/kernel/core/machine.h names it.
MEMORIES = {
    "__ubuf__": "kUnified",
    "__cbuf__": "kL1",
    "__ca__": "kL0A",
    "__cb__": "kL0B",
    "__cc__": "kL0C",
}
LEAST_WORDS = 2  # of a declaration, before its brackets: a type and a name


def rewrite_local_arrays(source: str) -> str:
    """Return the source with the declarations of local arrays rewritten."""
    if not any(word in source for word in MEMORIES):
        return source
    tokens = [*tokens_of(source)]
    pieces: list[str] = []
    done = 0
    for index, token in enumerate(tokens):
        if token.text not in MEMORIES:
            continue
        first = end_of_words(tokens, index + 1)
        last = end_of_brackets(tokens, first)
        ends = last < len(tokens) and tokens[last].text == ";"
        if first - index - 1 < LEAST_WORDS or last == first or not ends:
            continue  # a parameter, a cast, a pointer
        name = tokens[first - 1]
        element = source[token.end : name.start].strip()
        sizes = source[tokens[first].start : tokens[last - 1].end]
        pieces += [
            source[done : token.start],
            f"OPWRIGHT_LOCAL_ARRAY({MEMORIES[token.text]}, {name.text}, {element}{sizes})",
        ]
        done = tokens[last].start
    return "".join([*pieces, source[done:]])


def end_of_words(tokens: list[Token], start: int) -> int:
    """Return where the words of a type and a name end that begin at `start`."""
    for index in range(start, len(tokens)):
        if tokens[index].kind != "word" and tokens[index].text != "::":
            return index
    return len(tokens)


def end_of_brackets(tokens: list[Token], start: int) -> int:
    """Return the token behind the `[…]` that begin at `start`."""
    depth = 0
    for index in range(start, len(tokens)):
        text = tokens[index].text
        if depth == 0 and text != "[":
            return index
        depth += (text in OPENING) - (text in CLOSING)
    return len(tokens)
