"""Changes of a source tree -> a patch as `git apply` reads it."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

__all__ = ["Change", "patch_text"]

CONTEXT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A file before and after.

    Parameters
    ----------
    path
        From the root of the tree.
    before
        Its text; None if it is new.
    """

    path: str
    before: str | None
    after: str


def patch_text(changes: tuple[Change, ...]) -> str:
    """Return the patch; files that do not change are not in it."""
    return "".join(one(change) for change in changes if change.before != change.after)


def one(change: Change) -> str:
    """Return the part for a file."""
    old = [] if change.before is None else change.before.splitlines(keepends=True)
    new = change.after.splitlines(keepends=True)
    head = f"diff --git a/{change.path} b/{change.path}\n"
    if change.before is None:
        head += "new file mode 100644\n"
    source = "/dev/null" if change.before is None else f"a/{change.path}"
    lines = [*same_ends(old, new)]
    return "".join([head, f"--- {source}\n", f"+++ b/{change.path}\n", *lines])


def same_ends(old: list[str], new: list[str]) -> list[str]:
    """Return the hunks.

    What is equal at both ends is left out but for the context: difflib needs seconds for the
    thousands of lines that op-plugin's files have, and none for what is left.
    """
    most = min(len(old), len(new))
    start = next((i for i in range(most) if old[i] != new[i]), most)
    end = next((i for i in range(most - start) if old[-1 - i] != new[-1 - i]), most - start)
    first = max(0, start - CONTEXT)
    last_old = min(len(old), len(old) - end + CONTEXT)
    last_new = min(len(new), len(new) - end + CONTEXT)
    lines = difflib.unified_diff(old[first:last_old], new[first:last_new], n=CONTEXT)
    found: list[str] = []
    for line in list(lines)[2:]:
        if line.startswith("@@"):
            found.append(shift_head(line, first))
        elif line.endswith("\n"):
            found.append(line)
        else:
            found += [f"{line}\n", "\\ No newline at end of file\n"]
    return found


def shift_head(head: str, lines: int) -> str:
    r"""Return a hunk's head that counts from the beginning of the file.

    >>> shift_head("@@ -1,3 +1,4 @@", 10)
    '@@ -11,3 +11,4 @@\n'
    """
    parts = []
    for part in head.split()[1:3]:
        number, comma, count = part[1:].partition(",")
        parts.append(f"{part[0]}{int(number) + lines}{comma}{count}")
    return f"@@ {' '.join(parts)} @@\n"
