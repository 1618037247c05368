"""Operator types that loaded C++ libraries of this process declare.

Their static objects register with libge_runner (native/graph_engine/custom): prototypes (REG_OP),
and classes that launch their work themselves (REG_AUTO_MAPPING_OP).
"""

from __future__ import annotations

import ctypes
import functools
import os
from typing import TYPE_CHECKING

from opwright.aclnn.reg_op import parse_reg_op
from opwright.graph_engine.errors import KernelRunError

if TYPE_CHECKING:
    from opwright.aclnn.prototype import Prototype

__all__ = ["find_loaded_prototype", "has_class", "runner"]


def runner() -> ctypes.CDLL | None:
    """Return libge_runner; None in a process that has not loaded it, where nobody registers."""
    try:
        return find_loaded_runner()
    except OSError:  # not cached: it may be loaded later
        return None


@functools.cache
def find_loaded_runner() -> ctypes.CDLL | None:
    """Return libge_runner of the twin; None if that which this process has loaded is CANN's own."""
    library = ctypes.CDLL("libge_runner.so", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    if not hasattr(library, "opwright_custom_prototype"):
        return None
    library.opwright_custom_prototype.argtypes = (
        ctypes.c_char_p,
        ctypes.POINTER(ctypes.c_char_p),
    )
    library.opwright_custom_run.restype = ctypes.c_char_p
    return library


def find_loaded_prototype(op_type: str) -> Prototype | None:
    """Return the prototype of a type that a loaded library declares.

    Raises
    ------
    PrototypeError, KernelRunError
        OPW-K002, OPW-N004.
    """
    library = runner()
    text = ctypes.c_char_p()
    if library is None:
        return None
    has_one = answer_of(library.opwright_custom_prototype(op_type.encode(), text), op_type)
    return parse_prototype((text.value or b"").decode()) if has_one else None


def answer_of(status: int, op_type: str) -> bool:
    """Return what libge_runner answers to a question.

    Raises
    ------
    KernelRunError
        OPW-N004: it could not answer.
    """
    if status < 0:
        ascendcl = ctypes.CDLL("libascendcl.so")
        ascendcl.aclGetRecentErrMsg.restype = ctypes.c_char_p
        message = ascendcl.aclGetRecentErrMsg() or b"no message"
        raise KernelRunError(
            where=f"operator type '{op_type}'", got=message.decode(errors="backslashreplace")
        )
    return status > 0


@functools.lru_cache(maxsize=1024)
def parse_prototype(text: str) -> Prototype:
    """Read a prototype."""
    return parse_reg_op(text, where="a library that is loaded")[0]


def has_class(op_type: str) -> bool:
    """Return whether a loaded library has a class that runs the type."""
    library = runner()
    if library is None:
        return False
    return answer_of(library.opwright_custom_exists(op_type.encode()), op_type)
