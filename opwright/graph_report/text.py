"""Sizes, and texts that a terminal and a drawing can show."""

from __future__ import annotations

__all__ = ["make_printable", "size_text"]

UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
STEP = 1024


def size_text(size: int) -> str:
    """Write a number of bytes.

    >>> size_text(512), size_text(1536)
    ('512 B', '1.5 KiB')
    """
    value = float(size)
    for unit in UNITS:
        if value < STEP or unit == UNITS[-1]:
            break
        value /= STEP
    return f"{value:.0f} {unit}" if value == int(value) else f"{value:.1f} {unit}"


def make_printable(text: str) -> str:
    r"""Return the text without what would steer a terminal or what XML cannot hold.

    >>> make_printable("aclnn\x1b[31mAdd") == "aclnn\ufffd[31mAdd"
    True
    """
    return "".join(each if each.isprintable() else "\ufffd" for each in text)
