"""TorchInductor on a graph that exists: torch.compile starts with Python's bytecode.

It takes seconds to import.
"""

from __future__ import annotations

from torch._inductor.compile_fx import compile_fx
from torch._inductor.exc import CppCompileError, InductorError, InvalidCxxCompiler

__all__ = ["CppCompileError", "InductorError", "InvalidCxxCompiler", "compile_fx"]
