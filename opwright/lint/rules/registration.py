"""Rules on what is defined and what is registered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.lint.definitions import Definition, Implementation, Language, are_exclusive
from opwright.lint.finding import Problem
from opwright.lint.libraries import BACKENDS, BUILT_IN, COMPOSITE, EXPLICIT, Library, Operator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.lint.libraries import Project

__all__ = [
    "duplicate_definition",
    "duplicate_implementation",
    "find_missing_functions",
    "find_missing_metas",
    "find_missing_void_metas",
    "find_stale_converters",
    "find_stale_metas",
    "impl_without_definition",
    "no_kernel",
]

# Names that a kernel cannot use with a fake tensor: it has no memory, stream or storage format.
DEVICE_NAMES = frozenset(
    {
        *("NPUStorageDesc", "NPUBridge", "NPUNativeFunctions", "OpCommand", "getCurrentNPUStream"),
        *("GetNpuStorageImplDesc", "NPUStorageImpl", "unsafeGetTensorImpl"),
    }
)
DEVICE_CALLS = (
    "EXEC_",
    "aclrt",
    "aclnn",
    "at_npu::",
    "c10_npu::",
    "torch_npu::",
    "npu_preparation",
)


def find_missing_metas(project: Project) -> Iterator[Problem]:
    """Yield operators with results that have kernels, but no Meta."""
    for operator, kernel in find_without_meta(project):
        definition = operator.definition
        if definition is not None and not is_trivial(definition):
            yield meta_problem(operator, definition, kernel)


def find_missing_void_metas(project: Project) -> Iterator[Problem]:
    """Yield operators without results that have no Meta; torch makes an empty one of some."""
    for operator, kernel in find_without_meta(project):
        definition = operator.definition
        if definition is not None and is_trivial(definition):
            yield meta_problem(operator, definition, kernel)


def meta_problem(operator: Operator, definition: Definition, kernel: Implementation) -> Problem:
    """Return the problem of both rules."""
    key = kernel.key if kernel.key in BACKENDS and kernel.key else "a device"
    if kernel.key in EXPLICIT:
        message = (
            f"{operator.qualified} has no Meta: its {kernel.key} kernel runs for fake tensors too, "
            "and it needs the device"
        )
    else:
        message = f"{operator.qualified} has a kernel for {key}, but no Meta"
    return Problem(
        place=definition.place,
        operator=operator.qualified,
        message=message,
        related=((kernel.place, "the kernel"),),
    )


def is_trivial(definition: Definition) -> bool:
    """Return whether torch makes the Meta itself: nothing returned, something declared written."""
    schema = definition.schema
    return schema is not None and not schema.results and bool(schema.written)


def find_without_meta(project: Project) -> Iterator[tuple[Operator, Implementation]]:
    """Yield operators without a Meta, each with a kernel."""
    for library, operator in project.operators():
        definition = operator.definition
        if definition is None or operator.metas or library.opens or definition.problem:
            continue
        if definition.schema is not None and not definition.schema.tensors:
            made = any(each.is_tensor for each in definition.schema.results)
            if not made:
                continue  # numbers in, numbers out: nothing to trace
        keys = {each.key for each in operator.implementations}
        if COMPOSITE in keys:
            continue
        kernel = next((each for each in operator.kernels if each.key in BACKENDS), None)
        if kernel is not None and not keys & EXPLICIT:
            if kernel.key == "CompositeExplicitPython" and is_trivial(definition):
                continue  # torch.library.custom_op makes the Meta of such an operator
            yield operator, kernel
            continue
        explicit = next((each for each in operator.kernels if each.key in EXPLICIT), None)
        if explicit is not None and needs_device(project, explicit, definition):
            yield operator, explicit


def needs_device(project: Project, kernel: Implementation, definition: Definition) -> bool:
    """Return whether a composite kernel does what a fake tensor cannot."""
    count = None if definition.schema is None else len(definition.schema.arguments)
    if definition.schema is not None and not definition.schema.results:
        return False
    found = project.resolve(kernel, count)
    if kernel.language is not Language.CPP or not found:
        return False
    return any(
        each.names & DEVICE_NAMES
        or any(
            name.startswith(DEVICE_CALLS) or "Npu" in name or "npu" in name.lower().split("::")[0]
            for name in each.calls
        )
        for each in found
    )


def find_stale_metas(project: Project) -> Iterator[Problem]:
    """Yield Metas for names that nothing defines."""
    for library, operator in find_undefined(project):
        for each in operator.metas:
            yield undefined_problem(library, operator, each, "a Meta")


def impl_without_definition(project: Project) -> Iterator[Problem]:
    """Yield kernels for names that nothing defines."""
    for library, operator in find_undefined(project):
        for each in operator.implementations:
            if each.key != "Meta":
                yield undefined_problem(library, operator, each, f"a kernel for {each.key}")


def find_stale_converters(project: Project) -> Iterator[Problem]:
    """Yield converters for names that nothing defines."""
    for library, operator in find_undefined(project):
        for each in operator.converters:
            names = sorted({*library.operators} - {operator.name})
            yield Problem(
                place=each.place,
                operator=operator.qualified,
                message=f"a converter is registered for {operator.qualified}, which is not defined"
                + hint(operator, library, names),
            )


def find_undefined(project: Project) -> Iterator[tuple[Library, Operator]]:
    """Yield what is registered for, but not defined, in namespaces that the sources define."""
    for library in project.libraries:
        if library.namespace in BUILT_IN or library.opens:
            continue
        for operator in library.operators.values():
            if operator.definitions:
                continue
            # C++ that is not here may add to what only Python defines; a near name shows a mistake.
            near = library.is_whole_in_python and hint(operator, library, [*library.operators])
            if library.is_whole or near:
                yield library, operator


def undefined_problem(
    library: Library, operator: Operator, implementation: Implementation, what: str
) -> Problem:
    """Return the problem of a registration without a definition."""
    return Problem(
        place=implementation.place,
        operator=operator.qualified,
        message=f"{what} is registered for {operator.qualified}, which is not defined"
        + hint(operator, library, [*library.operators]),
    )


def hint(operator: Operator, library: Library, names: list[str]) -> str:
    """Return a likely spelling."""
    from difflib import get_close_matches  # noqa: PLC0415 - for findings only

    known = [each for each in names if library.operators[each].definitions]
    near = get_close_matches(operator.name, known, n=1, cutoff=0.75)
    return f"; is {library.namespace}::{near[0]} meant?" if near else ""


def no_kernel(project: Project) -> Iterator[Problem]:
    """Yield definitions that nothing implements."""
    for library, operator in project.operators():
        definition = operator.definition
        if definition is None or library.opens or definition.problem:
            continue
        if not library.is_whole and not library.is_whole_in_python:
            continue  # the kernels may be where the rest of the namespace is
        if definition.language is Language.YAML or operator.converters:
            continue
        if any(each.key != "Meta" for each in operator.implementations):
            continue
        what = "only a Meta" if operator.metas else "no implementation at all"
        yield Problem(
            place=definition.place,
            operator=operator.qualified,
            message=f"{operator.qualified} is defined, but has {what}",
        )


def find_missing_functions(project: Project) -> Iterator[Problem]:
    """Yield registrations of C++ functions that no source has."""
    for each in project.files:
        for implementation in each.implementations:
            kernel = implementation.kernel
            if (
                implementation.language is not Language.CPP
                or kernel.name is None
                or not kernel.is_certain
                or kernel.function is not None
            ):
                continue
            bare = kernel.name.rpartition("::")[2]
            if bare in project.functions or bare in project.mentioned:
                continue
            yield Problem(
                place=implementation.place,
                operator=f"{implementation.namespace}::{implementation.name}",
                message=f"no source has the function {kernel.name}, which is registered for "
                f"{implementation.namespace}::{implementation.name}",
            )


def duplicate_definition(project: Project) -> Iterator[Problem]:
    """Yield operators that are defined twice in one program."""
    for _, operator in project.operators():
        first: Definition | None = None
        for each in operator.definitions:
            if each.language is Language.YAML:
                continue  # op-plugin has entries for several versions
            if first is None:
                first = each
            elif collide(first, each):
                yield Problem(
                    place=each.place,
                    operator=operator.qualified,
                    message=f"{operator.qualified} is defined a second time",
                    related=((first.place, "first defined here"),),
                )


def duplicate_implementation(project: Project) -> Iterator[Problem]:
    """Yield operators with two kernels for one dispatch key."""
    for _, operator in project.operators():
        seen: dict[str | None, Implementation] = {}
        for each in operator.implementations:
            if each.language is Language.YAML or each.key is None:
                continue
            before = seen.setdefault(each.key, each)
            if before is not each and collide(before, each):
                yield Problem(
                    place=each.place,
                    operator=operator.qualified,
                    message=f"{operator.qualified} gets a second implementation for {each.key}",
                    related=((before.place, "first registered here"),),
                )


def collide(one: Definition | Implementation, other: Definition | Implementation) -> bool:
    """Return whether two registrations are both made in one process."""
    if one.language is not other.language:
        return False
    if one.language is Language.PYTHON and (one.guards or other.guards):
        return False
    if one.place.file != other.place.file:
        # Two files can be sources of two builds; only code that is never conditional is certain.
        return False
    return not are_exclusive(one.guards, other.guards)
