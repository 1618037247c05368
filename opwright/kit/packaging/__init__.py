"""`opwright gen` and `opwright build`: everything that is derived from a declaration, on disk.

command, gen_command   the two verbs
build                  a project -> a wheel, step by step; progress: what is shown of it
emitted_tree           a project -> facts and emitted files; versions: for which torch
writer                 emitted files on disk; inside: nothing outside of a folder is touched
toolchain, compile     compiler, torch and torch_npu; sources -> objects -> library
cache, message         compiled units by content; the compiler's first error for a person
symbols                proof that a library uses only the stable ABI
plugin, wheel          the form without a compiler; files -> a wheel
errors
"""

from __future__ import annotations

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
