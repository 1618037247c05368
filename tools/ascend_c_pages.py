"""Write docs/ascend_c_api.md: which functions and classes of Ascend C there are, by header.

    python tools/ascend_c_pages.py            # with --check: only check whether it is up to date

The names are those that the compiler sees in namespace AscendC, after macros and tables.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.kit.packaging.toolchain import find_compiler

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
HEADERS = ROOT / "native" / "ascendc" / "kernel"
PAGE = ROOT / "docs" / "ascend_c_api.md"
INCLUDED = ("kernel_operator.h", "lib/matmul_intf.h")
TITLES = {
    "core": "Tensors, queues, synchronisation, system",
    "copy": "Copies",
    "vector": "Vector instructions",
    "cube": "Cube instructions",
    "advanced": "High-level API",
    "lib": "High-level API",
}
INTRODUCTION = """\
Functions and classes of namespace `AscendC` that kernels may use here; a call of any other that is
documented is a compile error which names it. `abs`, `sqrt`, `min` and `max` of single numbers, and
the other functions of C++'s `<math.h>`, need neither a namespace nor an `#include`.
[ascend_c.md](ascend_c.md) is the guide."""
MARK = re.compile(r'^# (\d+) "([^"]+)"', re.MULTILINE)
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[A-Za-z_]\w*|::|->|.', re.DOTALL)
ATTRIBUTE = re.compile(r"\[ \[ .*? \] \]|__attribute__ \( \( .*? \) \)(?! \))")
INNER = re.compile(r"detail|machine|_|opwright", re.IGNORECASE)


def preprocess() -> str:
    """Return what the compiler reads of all headers."""
    source = "".join(f'#include "{name}"\n' for name in INCLUDED)
    command = [*find_compiler({}), "-std=c++17", "-E", "-x", "c++", "-"]
    include = [f"-I{HEADERS}", f"-I{ROOT / 'native' / 'abi'}", f"-I{ROOT / 'native'}"]
    return subprocess.run(
        [*command, *include, "-DOPWRIGHT_NO_UNSUPPORTED"],
        input=source,
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def parts(text: str) -> Iterator[tuple[Path, str]]:
    """Yield the pieces of our headers with their file."""
    marks = [*MARK.finditer(text)]
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        file = Path(mark[2])
        if file.is_relative_to(HEADERS):
            piece = text[mark.end() : following.start() if following else None]
            yield file.relative_to(HEADERS), piece.partition("\n")[2]


def declarations(text: str) -> Iterator[tuple[Path, list[str]]]:
    """Yield the tokens of each declaration directly in namespace AscendC."""
    scopes: list[str] = []
    words: list[str] = []
    for file, piece in parts(text):
        for match in TOKEN.finditer(piece):
            word = match[0]
            if word.isspace():
                continue
            if word == "{":
                opened = words[-1] if words[:1] == ["namespace"] else "{"
                opened = "".join(words[1:]) if words[:1] == ["namespace"] else opened
                if scopes == ["AscendC"] and opened == "{":
                    yield file, words
                scopes.append(opened)
                words = []
            elif word == "}":
                if scopes:
                    scopes.pop()
                words = []
            elif word == ";":
                if scopes == ["AscendC"]:
                    yield file, words
                words = []
            else:
                words.append(word)


def name_of(words: list[str]) -> str | None:
    """Return the function or class that a declaration is about."""
    words = ATTRIBUTE.sub(" ", " ".join(words)).split()
    depth = 0
    for index, word in enumerate(words):
        if word == "(" and depth == 0:
            return capitalize(words[index - 1 : index])
        depth += (word in "<(") - (word in ">)")
        if depth == 0 and word in {"class", "struct"}:
            return capitalize(words[index + 1 :])
        if depth == 0 and word in {"=", "using"}:
            return None
    return None


def capitalize(words: list[str]) -> str | None:
    """Return the first word with a capital letter."""
    return next((word for word in words if re.fullmatch(r"[A-Z]\w*", word)), None)


def main() -> None:
    """Write the page, or return whether it is up to date."""
    found: dict[str, dict[Path, set[str]]] = defaultdict(lambda: defaultdict(set))
    for file, words in declarations(preprocess()):
        name = name_of(words)
        if name is not None and not name.isupper() and not INNER.match(name):
            found[TITLES.get(file.parts[0], "")][file].add(name)
    lines = ["# Ascend C: what there is", "", INTRODUCTION]
    for title in dict.fromkeys(TITLES.values()):
        lines += ["", f"## {title}", "", "| header | names |", "|---|---|"]
        lines += [
            f"| `{file}` | {', '.join(f'`{name}`' for name in sorted(names))} |"
            for file, names in sorted(found[title].items())
        ]
    text = "\n".join(lines) + "\n"
    if "--check" in sys.argv[1:]:
        sys.exit(f"{PAGE} is out of date" if PAGE.read_text(encoding="utf-8") != text else 0)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
