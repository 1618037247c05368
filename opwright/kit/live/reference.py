"""The reference function as a kernel: run, checked against the schema and the rules.

It returns the schema's results in order. What it writes need not be among them: a function of two
results, one of which is a mutated argument, may return both, or only the new one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from opwright.kit.live import dispatcher
from opwright.kit.live.arguments import Binder, map_tensors, tensors_in
from opwright.kit.live.errors import (
    ReferenceAliasError,
    ReferenceDtypeError,
    ReferenceResultError,
    ReferenceShapeError,
    ReferenceWriteError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from opwright.kit.declare.operator import Operator
    from opwright.kit.derive.facts import Output
    from opwright.kit.live.arguments import Values
    from opwright.kit.live.live_operator import LiveOperator
    from opwright.kit.live.rules import Rules

__all__ = ["check_unwritten", "cpu_kernel", "memory", "new_results", "versions"]


def cpu_kernel(live: LiveOperator) -> Callable[..., object] | None:
    """Return the CPU kernel; None without a reference function."""
    operator = live.facts.operator
    if operator.reference is None:
        return None
    # A functional twin runs the reference of its operator on clones.
    of_reference = Binder.of(operator.schema)

    def kernel(*args: object, **kwargs: object) -> object:
        values = live.binder.bind(args, kwargs)
        live.rules.check(values)
        values |= {name: clone(values[name]) for name in live.facts.clones}
        assert operator.reference is not None
        before = versions(operator, values)
        # Calls by the reference are not under autocast: the operator itself was, if it has a rule.
        with dispatcher.below_key("AutocastCPU"):
            returned = of_reference.call(operator.reference, values)
        check_unwritten(before, where=live.where)
        new = new_results(operator, returned, values, where=live.where)
        check_results(live, new, values)
        contiguous = {name: map_tensors(torch.Tensor.contiguous, new[name]) for name in new}
        return live.results(contiguous, values)

    return kernel


def clone(value: Any) -> Any:  # noqa: ANN401 - any argument
    """Return a copy of a tensor, or of those of a list."""
    return map_tensors(torch.Tensor.clone, value)


def versions(operator: Operator, values: Values) -> list[tuple[str, torch.Tensor, int]]:
    """Return the tensors that the operator must not write, with how often they were written.

    Tensors of inference mode do not count their writes.
    """
    return [
        (argument.name, tensor, tensor._version)  # noqa: SLF001 - documented for extensions, without another name
        for argument in operator.schema.arguments
        if argument.type.has_tensors and not argument.is_written
        for tensor in tensors_in(values[argument.name])
        if not tensor.is_inference()
    ]


def check_unwritten(before: list[tuple[str, torch.Tensor, int]], *, where: str) -> None:
    """Raise if a reference wrote an argument that the schema does not annotate.

    Raises
    ------
    ReferenceWriteError
        OPW-L032.
    """
    for name, tensor, version in before:
        if tensor._version != version:  # noqa: SLF001 - as above
            raise ReferenceWriteError(where=where, got=f"a write of {name!r}")


def new_results(
    operator: Operator, returned: object, values: Mapping[str, Any], *, where: str
) -> dict[str, Any]:
    """Return by name the results of a reference function that are no written arguments.

    Raises
    ------
    ReferenceResultError
        OPW-L010.
    """
    schema = operator.schema
    arguments = [schema.aliased_argument(result) for result in schema.results]
    names = schema.output_names()
    own = [n for n, a in zip(names, arguments, strict=True) if a is None or not a.is_written]
    place = f"{where}, reference {getattr(operator.reference, '__name__', '')}"
    single = len(names) == 1 or (len(own) == 1 and not isinstance(returned, tuple | list))
    found = (returned,) if single else as_tuple(returned)
    if returned is None and not own:
        found = ()
    if len(found) == len(own):
        result = dict(zip(own, found, strict=True))
    elif len(found) == len(names):
        result = dict(zip(names, found, strict=True))
    else:
        wanted = f"{len(names)}: {', '.join(names)}" if names else "None"
        raise ReferenceResultError(where=place, got=describe(returned), allowed=[wanted])
    for name, argument in zip(names, arguments, strict=True):
        if argument is not None and argument.is_written:
            other = result.pop(name, None)
            if other is not None and not same_objects(other, values[argument.name]):
                raise ReferenceResultError(
                    where=place,
                    got=f"another tensor than {argument.name!r}, which it should write",
                    fix=f"write into it, for example {argument.name}.copy_(result)",
                )
    for name, is_list in ((n, r.type.is_list) for n, r in zip(names, schema.results, strict=True)):
        if name in result and schema.results[names.index(name)].type.has_tensors:
            check_type(result[name], name, is_list=is_list, where=place)
    return result


def as_tuple(returned: object) -> tuple[object, ...]:
    """Return what a function returned as a tuple of results."""
    if returned is None:
        return ()
    return tuple(returned) if isinstance(returned, tuple | list) else (returned,)


def describe(returned: object) -> str:
    """Say what a function returned."""
    if isinstance(returned, tuple | list):
        return f"{len(returned)} values"
    return "None" if returned is None else f"one {type(returned).__name__}"


def same_objects(one: Any, other: Any) -> bool:  # noqa: ANN401 - tensors or lists
    """Return whether two values are the same tensors."""
    return len(list(tensors_in(one))) == len(list(tensors_in(other))) and all(
        a is b for a, b in zip(tensors_in(one), tensors_in(other), strict=True)
    )


def check_type(value: object, name: str, *, is_list: bool, where: str) -> None:
    """Raise unless a result is a tensor, or a list of them."""
    fits = (
        isinstance(value, list | tuple) and all(isinstance(v, torch.Tensor) for v in value)
        if is_list
        else isinstance(value, torch.Tensor)
    )
    if not fits:
        raise ReferenceResultError(
            where=where,
            got=f"{describe(value)} for {name!r}",
            allowed=["a list of tensors" if is_list else "a tensor"],
        )


def check_results(live: LiveOperator, new: Mapping[str, Any], values: Values) -> None:
    """Compare results with the rules, and their memory with that of the arguments.

    Raises
    ------
    ReferenceShapeError, ReferenceDtypeError, ReferenceAliasError
        OPW-L011, OPW-L012, OPW-L013.
    """
    owners = {memory(t): f"argument {n!r}" for n, v in values.items() for t in tensors_in(v)}
    for output in live.new_outputs:
        value = new[output.name]
        check_count(live.rules, output, value, values, where=live.where)
        for place, tensor in enumerate(tensors_in(value)):
            check_result(live.rules, output, tensor, values, place, where=live.where)
            owner = owners.setdefault(memory(tensor), f"result {output.name!r}")
            if owner != f"result {output.name!r}":
                got = f"result {output.name!r} with the memory of {owner}"
                raise ReferenceAliasError(where=live.where, got=got)


def memory(tensor: torch.Tensor) -> int:
    """Return what identifies a tensor's memory."""
    address: int = tensor.untyped_storage()._cdata  # noqa: SLF001 - data_ptr() is 0 for all empty ones
    return address


def check_count(rules: Rules, output: Output, value: object, values: Values, *, where: str) -> None:
    """Compare the number of tensors of a list of results with its rule.

    Raises
    ------
    ReferenceResultError
        OPW-L010.
    """
    wanted, got = rules.count(output, values), sum(1 for _ in tensors_in(value))
    if wanted is not None and got != wanted:
        raise ReferenceResultError(
            where=f"{where}, result {output.name!r}",
            got=f"{got} tensors",
            allowed=[str(wanted)],
            fix="return as many tensors as the rule says, or change the rule",
        )


def check_result(
    rules: Rules,
    output: Output,
    tensor: torch.Tensor,
    values: Values,
    index: int = 0,
    *,
    where: str,
) -> None:
    """Compare one result, or the tensor at an index of a list, with its rules."""
    if output.dtype is None:
        return
    place = f"{where}, result {output.name!r}"
    shape, dtype = rules.shape(output, values, index), rules.dtype(output, values, index)
    if tuple(tensor.shape) != tuple(shape):
        raise ReferenceShapeError(
            where=place, got=str(list(tensor.shape)), allowed=[str(list(shape))]
        )
    if tensor.dtype != dtype:
        raise ReferenceDtypeError(where=place, got=str(tensor.dtype), allowed=[str(dtype)])
