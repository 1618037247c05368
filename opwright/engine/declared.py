"""What libraries of C++ that this process has loaded declare of operator types.

Their static objects register with libge_runner (native/graph/custom): prototypes (REG_OP), and
classes that launch their work themselves (REG_AUTO_MAPPING_OP).
"""

from __future__ import annotations

import ctypes
import functools
import os
from typing import TYPE_CHECKING

from opwright.aclnn.reg_op import parse_reg_op

if TYPE_CHECKING:
    from opwright.aclnn.prototype import Prototype

__all__ = ["has_class", "loaded_prototype", "runner"]


def runner() -> ctypes.CDLL | None:
    """Return libge_runner; None in a process that has not loaded it, where nobody registers."""
    try:
        library = ctypes.CDLL("libge_runner.so", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return None
    return library if hasattr(library, "opwright_custom_prototype") else None  # a real CANN's


def loaded_prototype(op_type: str) -> Prototype | None:
    """Return the prototype of a type that a loaded library declares.

    Raises
    ------
    PrototypeError
        OPW-K002.
    """
    library = runner()
    if library is None:
        return None
    library.opwright_custom_prototype.restype = ctypes.c_char_p
    text = library.opwright_custom_prototype(op_type.encode())
    return None if text is None else parsed(text.decode())


@functools.lru_cache(maxsize=1024)
def parsed(text: str) -> Prototype:
    """Read a prototype."""
    return parse_reg_op(text, where="a library that is loaded")[0]


def has_class(op_type: str) -> bool:
    """Tell whether a loaded library has a class that runs the type."""
    library = runner()
    return library is not None and bool(library.opwright_custom_exists(op_type.encode()))
