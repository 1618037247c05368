"""Messages between two processes: one JSON document per line, over a socket.

Nothing that the other side sends is run: JSON is data. What is no message raises
BrokenChannelError.
"""

from __future__ import annotations

import json
import socket
from contextlib import suppress
from typing import Any, TypeAlias

__all__ = ["BrokenChannelError", "Channel", "Message"]

Message: TypeAlias = dict[str, Any]

CHUNK = 1 << 16
LONGEST = 1 << 28  # bytes; the graphs of an outcome are far smaller


class BrokenChannelError(Exception):
    """The other side sent what is no message."""


class Channel:
    """One end of a connection.

    Parameters
    ----------
    end
        A stream socket; it belongs to the channel from now on.
    """

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self.received = bytearray()

    def send(self, message: Message) -> None:
        """Send a message; OSError if the other side is gone."""
        self.end.sendall(json.dumps(message).encode() + b"\n")

    def receive(self) -> Message | None:
        """Wait for a message; None if the other side is gone."""
        while (message := self.next()) is None:
            if not self.read():
                return None
        return message

    def arrived(self) -> list[Message]:
        """Return the messages that are there, without waiting."""
        with suppress(BlockingIOError, ConnectionResetError):
            while self.read(socket.MSG_DONTWAIT):
                pass
        messages = []
        while (message := self.next()) is not None:
            messages.append(message)
        return messages

    def read(self, flags: int = 0) -> bool:
        """Read what is there; False if the other side is gone."""
        data = self.end.recv(CHUNK, flags)
        self.received += data
        if len(self.received) > LONGEST:
            message = f"more than {LONGEST} bytes without a line's end"
            raise BrokenChannelError(message)
        return bool(data)

    def next(self) -> Message | None:
        """Return the first message that was received."""
        line, found, rest = self.received.partition(b"\n")
        if not found:
            return None
        self.received = rest
        try:
            message = json.loads(line)
        except ValueError as error:
            raise BrokenChannelError(str(error)) from error
        if not isinstance(message, dict):
            text = f"{type(message).__name__} instead of an object"
            raise BrokenChannelError(text)
        return message

    def close(self) -> None:
        """Close this end."""
        self.end.close()
