"""Check that a tag, the version and the changelog fit, and hand out what a release consists of.

    python -m tools.release notes v0.1.0   print the changelog's section of the tagged version
    python -m tools.release wheels         print the wheels of this version in dist/

The version stands in opwright/__init__.py alone. Needs the standard library only.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from opwright import __version__

ROOT = Path(__file__).resolve().parents[1]
CHANGELOG = ROOT / "CHANGELOG.md"
DIST = ROOT / "dist"
# semver.org without build data: 1.0.0, 1.0.0-rc.1.
SEMANTIC = re.compile(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?")
SECTION = re.compile(
    r"^## \[(?P<name>[^\]]+)\](?: - (?P<date>\d{4}-\d\d-\d\d))?\n(?P<text>.*?)(?=^## |\Z)",
    re.MULTILINE | re.DOTALL,
)


class ReleaseError(Exception):
    """The tree is not ready for this release; the message says where and how to mend it."""


def notes(tag: str, version: str, changelog: str) -> str:
    """Return the changelog's section of a version.

    Raises
    ------
    ReleaseError
        The tag is another version's, or the changelog has no dated section of it.
    """
    if not SEMANTIC.fullmatch(version):
        message = f"opwright/__init__.py: {version!r} is no semantic version, such as 1.2.3"
        raise ReleaseError(message)
    if tag != f"v{version}":
        message = (
            f"tag {tag!r}: opwright/__init__.py has version {version}, whose tag is 'v{version}'; "
            f"set __version__ or tag another commit"
        )
        raise ReleaseError(message)
    sections = {match["name"]: match for match in SECTION.finditer(changelog)}
    if version not in sections:
        names = ", ".join(sections) or "none"
        message = (
            f"CHANGELOG.md: no section of {version}, only: {names}; "
            f"name the unreleased one '## [{version}] - YYYY-MM-DD' and begin a new one above it"
        )
        raise ReleaseError(message)
    if sections[version]["date"] is None:
        message = (
            f"CHANGELOG.md: the section of {version} has no date: '## [{version}] - YYYY-MM-DD'"
        )
        raise ReleaseError(message)
    text = sections[version]["text"].strip()
    if not text:
        message = f"CHANGELOG.md: the section of {version} is empty; say what changed for users"
        raise ReleaseError(message)
    return f"{text}\n"


def wheels(folder: Path, version: str) -> list[Path]:
    """Return the wheels of a version in a folder and those below it.

    Raises
    ------
    ReleaseError
        There are none, or some of another version.
    """
    found = sorted(folder.rglob("*.whl"))
    if not found:
        message = f"{folder.name}/: no wheels; `make wheel` makes that of a pair"
        raise ReleaseError(message)
    others = [each.name for each in found if not each.name.startswith(f"opwright-{version}+torch")]
    if others:
        message = f"{folder.name}/: not of version {version}, remove them: {', '.join(others)}"
        raise ReleaseError(message)
    return found


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("notes").add_argument("tag")
    verbs.add_parser("wheels")
    options = parser.parse_args()
    try:
        if options.verb == "notes":
            print(notes(options.tag, __version__, CHANGELOG.read_text(encoding="utf-8")), end="")
        else:
            print(*wheels(DIST, __version__), sep="\n")
    except ReleaseError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
