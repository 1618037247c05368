"""The hash by which caches name what they keep: that of all it is made from."""

from __future__ import annotations

import hashlib

__all__ = ["digest"]


def digest(*parts: str | bytes) -> str:
    """Return a hash of several parts, of which none can be mistaken for its neighbour's end."""
    result = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        result.update(len(data).to_bytes(8, "little") + data)
    return result.hexdigest()[:32]
