"""Inputs of the emitted text besides the declaration."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EmitOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmitOptions:
    """Choices of a project, and versions that decide about the text (never discovered here).

    Parameters
    ----------
    package
        Import name of the Python package that ships the operators.
    torch
        Minor version of torch and torch_npu that the text is for, for example "2.13".
    stable_abi
        Whether C++ uses only libtorch's stable ABI.
    """

    package: str
    torch: str
    stable_abi: bool = False
