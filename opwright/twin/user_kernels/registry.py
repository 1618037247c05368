"""Which function runs which operator, and the decorator that declares it."""

from __future__ import annotations

import inspect
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, cast

from typing_extensions import Self

from opwright.errors import OpwrightError
from opwright.twin.user_kernels import process
from opwright.twin.user_kernels.source import read_source

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from opwright.aclnn.prototype import Interface
    from opwright.aclnn.signature import AclnnSignature

__all__ = [
    "DeclaredFunction",
    "DuplicateKernelError",
    "KernelParametersError",
    "Registration",
    "Registry",
    "kernel",
    "registry",
]

Parameters = ParamSpec("Parameters")
Result_co = TypeVar("Result_co", covariant=True)


class DeclaredFunction(Protocol[Parameters, Result_co]):
    """A decorated function: itself, with its handle."""

    registration: Registration

    def __call__(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result_co:
        """Call the function, as before."""


class KernelParametersError(OpwrightError):
    """A function that cannot be called with the operator's arguments."""

    id = "OPW-K020"
    title = "the function does not take the operator's parameters"
    usual_fix = "give the function one positional parameter for each, in this order"


class DuplicateKernelError(OpwrightError):
    """A second function for an operator."""

    id = "OPW-K021"
    title = "the operator already has a reference function"
    usual_fix = "remove the first one (its function has .registration.remove()), or rename"


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """Handle of a declared kernel; the decorated function has it as `registration`.

    It is a context manager as well: leaving the block removes the kernel.

    Parameters
    ----------
    interface
        The operator's prototype, and the signatures of its aclnn functions.
    function
        What was decorated.
    owner
        Where it is registered.
    library
        The file of a kernel that is not written in Python.
    """

    interface: Interface
    function: Callable[..., object]
    owner: Registry = field(repr=False)
    library: str = ""

    @property
    def where(self) -> str:
        """File and line of the function, or its library."""
        if self.library:
            return self.library
        code = inspect.unwrap(self.function).__code__
        return f"{code.co_filename}:{code.co_firstlineno}"

    def remove(self) -> None:
        """Undo the declaration; a second call does nothing.

        The operator has no kernel any more, or the one of CANN that this one stood before. A call
        site of torch_npu that has looked the function up keeps what it found.

        Raises
        ------
        CompileError, CacheError
            OPW-K010, OPW-K011: the library of the remaining kernels cannot be made.
        """
        with self.owner.declaring:
            self.owner.remove(self)
            if process.is_looked_in():
                process.withdraw(self.interface.functions, self.owner.signatures())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class Registry:
    """The declared kernels of a process, by the name of the aclnn function. Thread-safe."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.declaring = threading.Lock()  # one declaration at a time, with what it publishes
        self.entries: dict[str, Registration] = {}

    def add(self, registration: Registration) -> None:
        """Add a kernel; a function from the same place (a module loaded again) replaces."""
        with self.lock:
            for signature in registration.interface.functions:
                known = self.entries.get(signature.name)
                if known is not None and not same_place(known.function, registration.function):
                    raise DuplicateKernelError(
                        where=f"{registration.where}, {signature.name}",
                        got=f"one at {known.where}",
                    )
            self.entries.update(
                {signature.name: registration for signature in registration.interface.functions}
            )

    def remove(self, registration: Registration) -> None:
        """Remove a kernel where it is still the current one."""
        with self.lock:
            for signature in registration.interface.functions:
                if self.entries.get(signature.name) is registration:
                    del self.entries[signature.name]

    def find(self, name: str) -> Registration | None:
        """Return the kernel of an aclnn function."""
        with self.lock:
            return self.entries.get(name)

    def signatures(self) -> tuple[AclnnSignature, ...]:
        """Return all functions that have a kernel."""
        with self.lock:
            found = {s for entry in self.entries.values() for s in entry.interface.functions}
        return tuple(sorted(found, key=str))


registry = Registry()


def same_place(one: Callable[..., object], other: Callable[..., object]) -> bool:
    """Return whether two functions come from the same lines of the same file."""
    first, second = inspect.unwrap(one), inspect.unwrap(other)
    places = [(each.__code__.co_filename, each.__qualname__) for each in (first, second)]
    return places[0] == places[1]


def kernel(
    source: str | Path, *, op: str | None = None
) -> Callable[[Callable[Parameters, Result_co]], DeclaredFunction[Parameters, Result_co]]:
    """Declare what a custom operator computes, so that it runs on the twin.

    The function is called with the operator's arguments in the order of its C signature, when the
    task runs on its stream: tensors as CPU tensors over device memory (shape, strides and dtype of
    the argument; valid until the function returns), null as None, lists and arrays as lists,
    scalars and attributes as Python numbers, bools and strings, aclDataType as torch.dtype. It
    writes its results into the output tensors. An exception is the task's error, reported with the
    operator's name by the next call that synchronizes.

    Parameters
    ----------
    source
        The operator's prototype: an aclnn signature, REG_OP text or an OpDef class, or the path of
        a file that has one of the latter.
    op
        Operator type, if the file has several.

    Returns
    -------
    decorator
        It returns the function unchanged, with its handle as the attribute `registration`.

    Raises
    ------
    SignatureError, PrototypeError
        OPW-K001, OPW-K002: the source cannot be read.
    KernelParametersError, DuplicateKernelError
        OPW-K020, OPW-K021.
    KernelTooLateError
        OPW-K022: torch_npu was loaded without the twin's part for kernels.

    Examples
    --------
    >>> from opwright import twin
    >>> @twin.kernel("aclnnNegCustom(const aclTensor *x, aclTensor *out)")
    ... def neg_custom(x, out):
    ...     torch.neg(x, out=out)
    """

    def declare(
        function: Callable[Parameters, Result_co],
    ) -> DeclaredFunction[Parameters, Result_co]:
        code = inspect.unwrap(function).__code__
        where = f"{code.co_filename}:{code.co_firstlineno}"
        interface = read_source(source, op, where=where)
        check_parameters(function, interface, where=where)
        registration = Registration(interface=interface, function=function, owner=registry)
        with registry.declaring:
            registry.add(registration)
            try:
                if process.is_looked_in():
                    process.publish(registry.signatures())
            except OpwrightError:
                registry.remove(registration)
                raise
        declared = cast("DeclaredFunction[Parameters, Result_co]", function)
        declared.registration = registration
        return declared

    return declare


def check_parameters(function: Callable[..., Any], interface: Interface, *, where: str) -> None:
    """Raise unless the function can be called with one argument for each parameter."""
    wanted = inspect.signature(function)
    try:
        wanted.bind(*interface.parameters)
    except TypeError as error:
        raise KernelParametersError(
            where=where,
            got=f"{function.__name__}{wanted}: {error}",
            allowed=[str(parameter) for parameter in interface.parameters],
        ) from error
