"""libgraph asks here what a prototype says: the other half of native/graph_engine/prototypes.h."""

from __future__ import annotations

import ctypes

from opwright.errors import OpwrightError
from opwright.graph_engine.lookup import find_prototype
from opwright.graph_engine.prototypes.cann import attribute_type

__all__ = ["connect"]

Describe = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p)
native: ctypes.CDLL | None = None


def connect(_argument: str) -> None:
    """Give the native side the function to call."""
    global native  # noqa: PLW0603 - one library per process, known when it calls
    if native is not None:
        return
    library = ctypes.CDLL("libgraph.so")
    library.opwright_prototype_known.argtypes = (ctypes.c_void_p,)
    library.opwright_prototype_fail.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
    for part in ("input", "output", "attribute"):
        function = getattr(library, f"opwright_prototype_{part}")
        function.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
    native = library
    library.opwright_prototypes_register(describer)


def describe(op_type: bytes, answer: int) -> None:
    """Return the parts of a type's prototype, if the type is known."""
    library = native
    assert library is not None
    try:
        found = find_prototype(op_type.decode())
    except OpwrightError as error:
        library.opwright_prototype_fail(answer, str(error).encode(errors="backslashreplace"))
        return
    except BaseException as error:  # noqa: BLE001 - no exception may cross the C boundary; all are reported
        words = f"{type(error).__name__}: {error}"
        library.opwright_prototype_fail(answer, words.encode(errors="backslashreplace"))
        return
    if found is None:
        return
    library.opwright_prototype_known(answer)
    for port in found.inputs:
        library.opwright_prototype_input(answer, port.name.encode(), port.presence.encode())
    for port in found.outputs:
        library.opwright_prototype_output(answer, port.name.encode(), port.presence.encode())
    for attribute in found.attributes:
        word = attribute_type(attribute.type_name)
        library.opwright_prototype_attribute(answer, attribute.name.encode(), word.encode())


describer = Describe(describe)  # kept here, because the native side holds only its address
