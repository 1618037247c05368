"""Messages of protobuf, without their schema: numbers and texts by field."""

from __future__ import annotations

from collections import defaultdict

__all__ = ["Fields", "fields_of", "numbers"]

Fields = dict[int, list[int | bytes]]
VARINT, FIXED64, DELIMITED, FIXED32 = 0, 1, 2, 5
MORE = 0x80


def fields_of(message: bytes) -> Fields:
    r"""Return the fields of a message.

    >>> dict(fields_of(b"\x08\x96\x01\x12\x02hi"))
    {1: [150], 2: [b'hi']}

    Raises
    ------
    ValueError
        The bytes are no message.
    """
    found: Fields = defaultdict(list)
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        kind = key & 7
        if kind == VARINT:
            value: int | bytes
            value, at = varint(message, at)
        elif kind in (DELIMITED, FIXED32, FIXED64):
            size = {FIXED32: 4, FIXED64: 8}.get(kind, 0)
            if kind == DELIMITED:
                size, at = varint(message, at)
            value = message[at : at + size]
            at += size
        else:
            error = f"wire type {kind}"
            raise ValueError(error)
        if at > len(message):
            error = f"a field that ends {at - len(message)} bytes behind the message"
            raise ValueError(error)
        found[key >> 3].append(value)
    return found


def numbers(values: list[int | bytes]) -> list[int]:
    r"""Return the numbers of a repeated field, packed or not.

    >>> numbers([b"\x02\x96\x01"]), numbers([2, 3])
    ([2, 150], [2, 3])
    """
    result: list[int] = []
    for value in values:
        if isinstance(value, int):
            result.append(value)
            continue
        at = 0
        while at < len(value):
            number, at = varint(value, at)
            result.append(number)
    return result


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number, and where the next field begins."""
    value = shift = 0
    while True:
        if at >= len(data):
            error = "a number that does not end"
            raise ValueError(error)
        byte = data[at]
        at += 1
        value |= (byte & (MORE - 1)) << shift
        shift += 7
        if byte < MORE:
            return value, at
