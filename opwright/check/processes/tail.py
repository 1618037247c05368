"""The beginning and the end of a text that may be endless."""

from __future__ import annotations

__all__ = ["Tail"]

MOST = 16_000  # bytes


class Tail:
    """Bytes, of which the first and the last are kept.

    Examples
    --------
    >>> tail = Tail(8)
    >>> tail.add(b"0123456789abcdef")
    >>> tail.text()
    '01 ... (8 bytes left out) ... abcdef'
    """

    def __init__(self, most: int = MOST) -> None:
        self.head_size = most // 4
        self.tail_size = most - self.head_size
        self.head = b""
        self.tail = b""
        self.total = 0

    def add(self, data: bytes) -> None:
        """Add bytes at the end."""
        self.total += len(data)
        missing = self.head_size - len(self.head)
        self.head += data[:missing]
        self.tail = (self.tail + data[missing:])[-self.tail_size :]

    def text(self) -> str:
        """Return what was kept."""
        left_out = self.total - len(self.head) - len(self.tail)
        between = f" ... ({left_out} bytes left out) ... ".encode() if left_out else b""
        return (self.head + between + self.tail).decode(errors="replace")

    def take(self) -> str:
        """Return what was kept and start anew."""
        text = self.text()
        self.head = self.tail = b""
        self.total = 0
        return text
