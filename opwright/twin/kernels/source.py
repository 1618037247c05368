"""What `kernel` was given -> the C signatures of the operator's aclnn functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.twin.kernels.signature import parse_signature

if TYPE_CHECKING:
    from pathlib import Path

    from opwright.twin.kernels.signature import AclnnSignature

__all__ = ["read_source"]


def read_source(
    source: str | Path, op: str | None, *, where: str
) -> tuple[AclnnSignature, ...]:
    """Read an operator's prototype."""
    return (parse_signature(str(source), where=where),)
