"""Types of a declaration, for annotations and as data in place of texts."""

from __future__ import annotations

from opwright.kit.declare.backward import (
    BackwardCall,
    BackwardFunction,
    BackwardReference,
    Formula,
)
from opwright.kit.declare.declared_operator import DeclaredOperator
from opwright.kit.declare.operator import Deprecation, Upstream
from opwright.kit.declare.rules import DtypeArgument
from opwright.kit.declare.sample import TensorSpec, Tolerance

__all__ = [
    "BackwardCall",
    "BackwardFunction",
    "BackwardReference",
    "DeclaredOperator",
    "Deprecation",
    "DtypeArgument",
    "Formula",
    "TensorSpec",
    "Tolerance",
    "Upstream",
]
