"""The native side calls the function: the other half of native/user_kernels/dispatch.cpp.

libnnopbase imports this module by name, and calls `connect`, when an operator is called whose
kernel it does not know. The function runs on the stream's worker thread; ctypes takes the GIL.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import sys
import traceback
from typing import TYPE_CHECKING

import torch

from opwright.errors import OpwrightError
from opwright.twin.user_kernels.arguments import ArgumentView, read_argument
from opwright.twin.user_kernels.files import load_kernel_files
from opwright.twin.user_kernels.registry import registry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.aclnn.signature import Parameter
    from opwright.twin.user_kernels.arguments import Value
    from opwright.twin.user_kernels.registry import Registration

__all__ = ["connect"]

Views = ctypes.POINTER(ArgumentView)
Dispatcher = ctypes.CFUNCTYPE(None, ctypes.c_char_p, Views, ctypes.c_uint64, ctypes.c_void_p)


class KernelResultError(OpwrightError):
    """A function that does not write its results as it must."""

    id = "OPW-K031"
    title = "the reference function did not write into its outputs"
    usual_fix = "write the result in place, for example out.copy_(result), and return None"


def connect(function: str) -> None:
    """Load the kernel files, and have the native side call back for this aclnn function.

    Raises
    ------
    KernelFileError
        OPW-K025.
    """
    load_kernel_files()
    if registry.find(function) is not None:
        native().opwright_kernel_add(function.encode(), dispatcher)


@functools.cache
def native() -> ctypes.CDLL:
    """Return the library that called, which is loaded under its bare name."""
    library = ctypes.CDLL("libnnopbase.so")
    library.opwright_kernel_add.argtypes = (ctypes.c_char_p, Dispatcher)
    library.opwright_kernel_fail.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
    library.opwright_kernel_close.argtypes = ()
    atexit.register(finish)
    return library


def finish() -> None:
    """Let the running operators end while Python is still there for them."""
    torch_npu = sys.modules.get("torch_npu")
    try:
        if torch_npu is not None and torch_npu.npu.is_initialized():
            torch_npu.npu.synchronize()
    finally:
        native().opwright_kernel_close()


def dispatch(name: bytes, views: Sequence[ArgumentView], count: int, failure: int) -> None:
    """Run the function of an operator; an exception becomes the error of its task."""
    registration = registry.find(name.decode())
    try:
        if registration is None:
            native().opwright_kernel_fail(failure, b"its reference function was removed")
        else:
            arguments = [read_argument(views[index]) for index in range(count)]
            run(
                registration, name.decode(), order_arguments(registration, name.decode(), arguments)
            )
    except BaseException as error:  # noqa: BLE001 - no exception may cross the C boundary; all are reported
        native().opwright_kernel_fail(
            failure, summary(error, registration).encode(errors="backslashreplace")
        )


def order_arguments(
    registration: Registration, name: str, arguments: Sequence[Value]
) -> Sequence[Value]:
    """Turn the arguments of one form of the function into those of the reference function."""
    interface = registration.interface
    form = next(form for form in interface.functions if form.name == name)
    if form.parameters == interface.parameters and not interface.defaults:
        return arguments
    names = (parameter.name for parameter in form.parameters)
    given = {key: value for key, value in zip(names, arguments, strict=True) if value is not None}
    values = dict(interface.defaults) | given
    return [as_values(parameter, values.get(parameter.name)) for parameter in interface.parameters]


def as_values(parameter: Parameter, value: Value) -> Value:
    """Return a list where the reference function takes one and the form has a tensor or default."""
    if not parameter.ctype.is_tensor and isinstance(value, torch.Tensor):
        return value.flatten().tolist()
    return list(value) if isinstance(value, tuple) else value


dispatcher = Dispatcher(dispatch)  # kept here, because the native side holds only its address


def run(registration: Registration, name: str, arguments: Sequence[Value]) -> None:
    """Call the function and check that it kept to the outputs it was given.

    Raises
    ------
    KernelResultError
        OPW-K031.
    """
    tensors = [value for value in arguments if isinstance(value, torch.Tensor)]
    before = [(value.shape, value.data_ptr()) for value in tensors]
    with torch.no_grad():
        result = registration.function(*arguments)
    where = f"{registration.where}, {name}"
    results = result if isinstance(result, tuple | list) else (result,)
    if not all(value is None or any(value is given for given in arguments) for value in results):
        raise KernelResultError(where=where, got=f"returned {type(result).__name__}")
    for value, (shape, address) in zip(tensors, before, strict=True):
        if (value.shape, value.data_ptr()) != (shape, address):
            raise KernelResultError(
                where=where,
                got=f"a tensor of shape {list(shape)} that became {list(value.shape)}",
                fix="produce the output's shape; torch's out= resizes a tensor that does not fit",
            )


def summary(error: BaseException, registration: Registration | None) -> str:
    """Return type, message and place of an exception."""
    if isinstance(error, OpwrightError):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    file = registration and registration.where.rpartition(":")[0]
    inside = [frame for frame in frames if frame.filename == file] or frames
    place = f" ({inside[-1].filename}:{inside[-1].lineno} in {inside[-1].name})" if inside else ""
    try:
        words = str(error)
    except Exception as failure:  # noqa: BLE001 - the class is the user's; an error must be reported all the same
        words = f"its text cannot be made, {type(failure).__name__}"
    return f"{type(error).__name__}: {words}{place}"
