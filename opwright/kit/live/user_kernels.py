"""References of operators as user kernels: on the twin, the aclnn function runs the reference.

So the author writes it once, and no compiler is needed: the native kernel finds it in the registry
of opwright.twin.user_kernels. It gets the C parameters, which are turned back into the arguments of
the schema, and what it returns is written into the output tensors.
"""

from __future__ import annotations

import ctypes
import functools
import os
import threading
from typing import TYPE_CHECKING, Any, ClassVar

from opwright.aclnn.prototype import plain_interface
from opwright.kit.declare.rules import DtypeArgument
from opwright.kit.declare.schema import Base
from opwright.kit.derive.facts import FromArgument, FromConstant, FromGenerator, FromOutput
from opwright.kit.live.arguments import Binder, tensors_in
from opwright.kit.live.errors import (
    ReferenceAliasError,
    ReferenceArgumentError,
    ReferenceDtypeError,
    ReferenceResultError,
    ReferenceShapeError,
)
from opwright.kit.live.reference import check_unwritten, memory, new_results, versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import torch

    from opwright.kit.declare.schema import ValueType
    from opwright.kit.derive.facts import AclnnCall, OperatorFacts, SetFacts
    from opwright.kit.live.arguments import Values
    from opwright.kit.live.registration import Removable
    from opwright.twin.user_kernels.registry import Registration

__all__ = ["is_in_task", "is_twin", "register_references"]

running = threading.local()

# Attributes of a function: the set that it is a reference of, and the operators that it computes.
# By these, graphs know which operator types it serves.
NAMESPACE = "opwright_namespace"
OPERATORS = "opwright_operators"
NOTES = "opwright_notes"  # of a user's kernel: those that are not taken back


def is_in_task() -> bool:
    """Return whether this thread runs a reference as a task of the NPU."""
    return getattr(running, "depth", 0) > 0


def is_twin() -> bool:
    """Return whether this process's CANN is the twin."""
    try:
        # Found where torch_npu finds it, which loads it later, with its first operator.
        library = ctypes.CDLL("libnnopbase.so", mode=os.RTLD_LAZY)
    except OSError:
        return False
    return hasattr(library, "opwright_kernel_add")


def register_references(
    facts: SetFacts, has_function: Callable[[str], bool]
) -> Iterator[Removable]:
    """Register the references of aclnn functions that nothing else provides.

    A user's kernel stays in front of the reference. From the operators whose function it is, graphs
    know the defaults of its attributes: a C signature has none. So kernel files are loaded here, if
    nothing has needed them before.

    Raises
    ------
    DuplicateKernelError
        OPW-K021: a set in another file has the function.
    """
    from opwright.twin.user_kernels.files import load_kernel_files  # noqa: PLC0415 - importing the twin arms it
    from opwright.twin.user_kernels.registry import Registration, registry  # noqa: PLC0415 - as above

    functions: dict[str, list[OperatorFacts]] = {}
    for each in facts.operators:
        if each.role == "declared" and each.call is not None and each.operator.reference:
            functions.setdefault(each.call.function, []).append(each)
    if functions:
        load_kernel_files()
    for function, operators in functions.items():
        known = registry.find(function)
        is_own = known is not None and is_reference_of(known.function, facts)
        if known is not None and not is_reference(known.function):
            yield OperatorNote(
                known.function, [each for each in operators if each.prototype is not None]
            )
            continue
        if has_function(function) and not is_own:
            continue
        call = operators[0].call
        assert call is not None
        registration = Registration(
            interface=plain_interface(call.signature),
            function=reference_of(operators, facts),
            owner=registry,
        )
        if known is not None:
            registry.remove(known)
        registry.add(registration)
        yield Reference(registration, known)


class Reference:
    """The handle of a reference; the older one that it replaced is back unless that was removed."""

    handles: ClassVar[dict[int, Reference]] = {}

    def __init__(self, registration: Registration, older: Registration | None) -> None:
        self.registration = registration
        self.older = Reference.handles.get(id(older)) if older else None
        self.is_removed = False
        Reference.handles[id(registration)] = self

    def remove(self) -> None:
        """Remove the reference; a second call does nothing."""
        if self.is_removed:
            return
        self.is_removed = True
        Reference.handles.pop(id(self.registration), None)
        registry = self.registration.owner
        is_current = any(
            registry.find(signature.name) is self.registration
            for signature in self.registration.interface.functions
        )
        self.registration.remove()
        if is_current and self.older is not None and not self.older.is_removed:
            registry.add(self.older.registration)
        self.older = None


class OperatorNote:
    """Notes operators on the user's kernel that computes them; the handle takes the note back.

    A set that is loaded again notes its operators before the older handle goes: the newest note
    that is left counts.
    """

    def __init__(self, function: Callable[..., object], operators: Sequence[OperatorFacts]) -> None:
        self.function = function
        self.operators = tuple(operators)
        vars(function).setdefault(NOTES, []).append(self)
        vars(function)[OPERATORS] = self.operators

    def remove(self) -> None:
        """Take the note back; a second call does nothing."""
        left: list[OperatorNote] = vars(self.function)[NOTES]
        if self not in left:
            return
        left.remove(self)
        if left:
            vars(self.function)[OPERATORS] = left[-1].operators
        else:
            vars(self.function).pop(OPERATORS, None)


def is_reference(function: Callable[..., object]) -> bool:
    """Return whether a function is a reference of any set."""
    return hasattr(function, NAMESPACE)


def is_reference_of(function: Callable[..., object], facts: SetFacts) -> bool:
    """Return whether a function is a reference of the set as it was loaded before."""
    return getattr(function, NAMESPACE, None) == facts.declaration.namespace


def reference_of(operators: Sequence[OperatorFacts], facts: SetFacts) -> Callable[..., None]:
    """Return the reference of an aclnn function that some operators call.

    Several operators of one function differ in the constants that they pass; these choose.
    """
    reference = operators[0].operator.reference
    assert reference is not None

    @functools.wraps(reference)
    def run(*given: object) -> None:
        chosen = next((each for each in operators if is_passing(each, given)), operators[0])
        running.depth = getattr(running, "depth", 0) + 1
        try:
            run_reference(chosen, given)
        finally:
            running.depth -= 1

    vars(run)[NAMESPACE] = facts.declaration.namespace
    vars(run)[OPERATORS] = tuple(operators)
    return run


def is_passing(facts: OperatorFacts, given: Sequence[object]) -> bool:
    """Return whether an operator passes these constants."""
    parameters = call_of(facts).parameters
    return len(parameters) == len(given) and all(
        parameter.source.value == value
        for parameter, value in zip(parameters, given, strict=True)
        if isinstance(parameter.source, FromConstant)
    )


def call_of(facts: OperatorFacts) -> AclnnCall:
    """Return the call of an operator that has one."""
    assert facts.call is not None
    return facts.call


def run_reference(facts: OperatorFacts, given: Sequence[object]) -> None:
    """Run the reference of an operator, and write what it returns."""
    where = f"{facts.operator.place}, operator {facts.name}"
    passed: Values = {}
    drawn: dict[str, dict[str, int]] = {}
    outputs: dict[str, Any] = {}
    for parameter, value in zip(call_of(facts).parameters, given, strict=True):
        match parameter.source:
            case FromArgument(name):
                passed[name] = value
            case FromOutput(name):
                outputs[name] = [] if value is None else value  # an empty list is null in C
            case FromGenerator(name, part):
                assert isinstance(value, int)
                drawn.setdefault(name, {})[part] = value
            case _:
                continue
    if drawn:
        from opwright.twin.user_kernels.seeds import generator  # noqa: PLC0415 - as above

        passed |= {name: generator(**parts) for name, parts in drawn.items()}
    values = arguments_of(facts, passed, outputs, where=where)
    operator = facts.operator
    assert operator.reference is not None
    before = versions(operator, values)
    owners = {memory(t): name for name, value in values.items() for t in tensors_in(value)}
    returned = Binder.of(facts.schema).call(operator.reference, values)
    check_unwritten(before, where=where)
    for name, value in new_results(operator, returned, values, where=where).items():
        place = f"{where}, result {name!r}"
        targets, results = list(tensors_in(outputs[name])), list(tensors_in(value))
        if len(targets) != len(results):
            got = f"{len(results)} tensors"
            raise ReferenceResultError(where=place, got=got, allowed=[str(len(targets))])
        for target, result in zip(targets, results, strict=True):
            if memory(result) in owners:
                got = f"result {name!r} with the memory of argument {owners[memory(result)]!r}"
                raise ReferenceAliasError(where=where, got=got)
            write(target, result, where=place)


def arguments_of(
    facts: OperatorFacts, passed: Values, outputs: dict[str, Any], *, where: str
) -> Values:
    """Return the arguments of the schema.

    Raises
    ------
    ReferenceArgumentError
        OPW-L014.
    """
    defaults = Binder.of(facts.schema).defaults
    dtypes = {
        output.dtype.name: tensor.dtype
        for output in facts.outputs
        if isinstance(output.dtype, DtypeArgument)
        for tensor in tensors_in(outputs.get(output.name))
    }
    values: Values = {}
    for argument in facts.schema.arguments:
        name = argument.name
        if name in passed:
            values[name] = as_schema(argument.type, passed[name])
        elif name in dtypes:
            values[name] = dtypes[name]
        elif name in defaults:
            values[name] = defaults[name]
        elif argument.type.optional:
            values[name] = None
        else:
            raise ReferenceArgumentError(
                where=where, got=f"{call_of(facts).function} without {name!r}"
            )
    return values


def as_schema(kind: ValueType, value: Any) -> Any:  # noqa: ANN401 - any argument
    """Return a C parameter's value as the schema has it."""
    if value is None:  # an empty list of tensors is null in C
        return [] if kind.is_list and not kind.optional else None
    if isinstance(value, list):
        return (
            [plain(kind.base, item) for item in value]
            if kind.is_list
            else plain(kind.base, value[0])
        )
    return [plain(kind.base, value)] if kind.is_list else plain(kind.base, value)


def plain(base: Base, value: Any) -> Any:  # noqa: ANN401 - any argument
    """Return a number as the schema's type."""
    convert = {Base.BOOL: bool, Base.INT: int, Base.SYMINT: int, Base.FLOAT: float}.get(base)
    return value if convert is None or value is None else convert(value)


def write(output: torch.Tensor, value: torch.Tensor, *, where: str) -> None:
    """Write a result.

    Raises
    ------
    ReferenceShapeError, ReferenceDtypeError
        OPW-L011, OPW-L012.
    """
    if value.shape != output.shape:
        got, allowed = str(list(value.shape)), [str(list(output.shape))]
        raise ReferenceShapeError(where=where, got=got, allowed=allowed)
    if value.dtype != output.dtype:
        raise ReferenceDtypeError(where=where, got=str(value.dtype), allowed=[str(output.dtype)])
    output.copy_(value)
