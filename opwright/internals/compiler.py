"""Names that torch.compile shares with a tracer beside it. No compiler is imported."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

__all__ = ["compile_session_context"]

# Marks a thread as one that compiles. Where torch lacks it, torch.compile marks no thread either,
# and so there is nothing to do beside it.
compile_session_context: Callable[[], AbstractContextManager[Any]] = getattr(
    torch.compiler, "_compile_session_context", nullcontext
)
