"""Registers the Python kernels of a package: references, backward functions, vmap, autocast.

Values of a call are kept in a dictionary by the names of the schema, because the dispatcher leaves
out what has its default and passes keyword-only arguments apart.
"""
# ruff: noqa: SLF001, ANN401 - dispatcher and functorch have no public names for this; values of any type pass through

from __future__ import annotations

import functools
import re
import sys
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from ._internals import (
    DispatchKey,
    DispatchKeySet,
    ExcludeDispatchKeyGuard,
    add_batch_dim,
    retrieve_current_functorch_interpreter,
    unwrap_batched,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from types import ModuleType

__all__ = ["Binder", "Registrar", "map_tensors", "overload", "tensors_in", "warn_once"]

QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
ALIAS = re.compile(r"Tensor\((\w+)")
WRITTEN = re.compile(r"Tensor\((\w+)!\)\S* (\w+)")
FUNCTORCH_VMAP = "FuncTorchBatched"
AUTOCAST_KEYS = {"AutocastCPU": "cpu", "AutocastPrivateUse1": "npu"}


@functools.cache
def warn_once(message: str) -> None:
    """Warn the caller of a deprecated function, once in a process."""
    warnings.warn(message, DeprecationWarning, stacklevel=3)


def overload(namespace: str, name: str) -> Any:
    """Return the OpOverload of an operator; `name` has the overload behind a dot."""
    packet, _, variant = name.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet), variant or "default")


def below(key: str) -> AbstractContextManager[None]:
    """Skip a dispatch key in calls of operators."""
    keys = DispatchKeySet(getattr(DispatchKey, key))
    return ExcludeDispatchKeyGuard(keys)


def to_meta(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor of the same sizes without values."""
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")


class BatchInfo(NamedTuple):
    """The first argument of a batching rule; the fields are those of torch's VmapInfo."""

    batch_size: int
    randomness: str


class Binder:
    """How the arguments of an operator are passed."""

    def __init__(self, operator: Any) -> None:
        arguments = operator._schema.arguments
        self.operator = operator
        self.positional = [a.name for a in arguments if not a.kwarg_only]
        self.keyword_only = [a.name for a in arguments if a.kwarg_only]
        self.defaults = {a.name: a.default_value for a in arguments if a.has_default_value()}
        self.written = [a.name for a in arguments if a.alias_info and a.alias_info.is_write]
        # By result: the written argument that it is, None for others.
        self.results = results_of(str(operator._schema))

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return all arguments by name, in the order of the schema."""
        given = {**dict(zip(self.positional, args, strict=False)), **kwargs}
        return {
            name: given[name] if name in given else self.defaults[name]
            for name in (*self.positional, *self.keyword_only)
        }

    def call(self, function: Callable[..., Any], values: Mapping[str, Any]) -> Any:
        """Call a function with arguments as the schema has them."""
        return function(
            *(values[name] for name in self.positional),
            **{name: values[name] for name in self.keyword_only},
        )

    def as_results(self, values: Mapping[str, Any], returned: Any) -> Any:
        """Return what the schema says: arguments where it says so, else what a function returned.

        A function may leave out what is an argument.
        """
        new = sum(result is None for result in self.results)
        is_one = len(self.results) == 1 or not isinstance(returned, tuple | list)
        given = [returned] if is_one else list(returned)
        if not new or (returned is None and new != len(given)):
            return as_returned([values[result or ""] for result in self.results])
        if len(given) not in {new, len(self.results)}:
            message = f"{self.operator}: {len(given)} results, the schema has {len(self.results)}"
            raise RuntimeError(message)
        if len(given) == len(self.results):
            pairs = zip(self.results, given, strict=True)
            given = [value for result, value in pairs if result is None]
        rest = iter(given)
        return as_returned([next(rest) if r is None else values[r] for r in self.results])


def results_of(schema: str) -> list[str | None]:
    """Return for each result the written argument that it is; None for others.

    From the text, because alias_info of a list of tensors has no names.

    >>> results_of("f(Tensor x, *, Tensor(a!)[] y) -> (Tensor(a!)[], Tensor z)")
    ['y', None]
    """
    arguments, _, results = QUOTED.sub("", schema).rpartition(" -> ")
    written = dict(WRITTEN.findall(arguments))
    if results == "()":
        return []
    aliases = [ALIAS.search(each) for each in results.split(", ")]
    return [written.get(each[1]) if each else None for each in aliases]


def as_returned(results: Sequence[Any]) -> Any:
    """Return results as an operator does."""
    if len(results) == 1:
        return results[0]
    return tuple(results) if results else None


def as_list(returned: Any) -> list[Any]:
    """Return the results of an operator as a list."""
    if returned is None:
        return []
    return list(returned) if isinstance(returned, tuple) else [returned]


def tensors_in(value: object) -> Iterator[torch.Tensor]:
    """Return the tensors of an argument or result: itself, or those of a list."""
    items = value if isinstance(value, list | tuple) else [value]
    return (item for item in items if isinstance(item, torch.Tensor))


def map_tensors(function: Callable[[torch.Tensor], Any], value: Any) -> Any:
    """Replace the tensors of an argument or result."""
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, list | tuple):
        return [function(item) if isinstance(item, torch.Tensor) else item for item in value]
    return value


class Registrar:
    """Registers kernels of the operators of a namespace; they stay as long as it does."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.library: Any = torch.library.Library(namespace, "FRAGMENT")  # type: ignore[no-untyped-call]

    def binder(self, name: str) -> Binder:
        """Return how an operator's arguments are passed."""
        return Binder(overload(self.namespace, name))

    def reference(self, name: str, function: Callable[..., Any]) -> None:
        """Register a reference as CPU kernel; the Meta kernel checks its arguments."""
        binder = self.binder(name)

        def kernel(*args: Any, **kwargs: Any) -> Any:
            values = binder.bind(args, kwargs)
            on_meta = {each: map_tensors(to_meta, value) for each, value in values.items()}
            binder.call(binder.operator, on_meta)
            results = binder.as_results(values, binder.call(function, values))
            if isinstance(results, torch.Tensor) and results.is_contiguous():
                return results
            pairs = zip(binder.results, as_list(results), strict=True)
            return as_returned(
                [value if a else map_tensors(torch.Tensor.contiguous, value) for a, value in pairs]
            )

        self.library.impl(name, kernel, "CPU")

    def meta(self, name: str, function: Callable[..., Any]) -> None:
        """Register a Meta kernel."""
        binder = self.binder(name)

        def kernel(*args: Any, **kwargs: Any) -> Any:
            return binder.call(function, binder.bind(args, kwargs))

        self.library.impl(name, kernel, "Meta")

    def functional_twin(self, name: str, *, of: str, key: str = "CPU") -> None:
        """Register the kernel of a functional twin: its operator on copies."""
        binder, original = self.binder(name), self.binder(of)

        def kernel(*args: Any, **kwargs: Any) -> Any:
            values = binder.bind(args, kwargs)
            for written in original.written:
                values[written] = map_tensors(torch.clone, values[written])
            returned = as_list(original.call(original.operator, values))
            results = zip(original.results, returned, strict=True)
            own = [value for result, value in results if result is None]
            return as_returned([*own, *(values[written] for written in original.written)])

        self.library.impl(name, kernel, key)

    def composite(self, name: str, function: Callable[..., Any], *, has_rule: bool = False) -> None:
        """Register an operator that is made of others, for all devices.

        Parameters
        ----------
        has_rule
            Whether a batching rule follows; otherwise vmap goes through its operations.
        """
        binder = self.binder(name)

        def kernel(*args: Any, **kwargs: Any) -> Any:
            values = binder.bind(args, kwargs)
            return binder.as_results(values, binder.call(function, values))

        self.library.impl(name, kernel, "CompositeImplicitAutograd")
        if not has_rule:
            # Not FuncTorchBatchedDecomposition: some releases of torch accept a kernel for that key
            # after the definition, and never call it.
            self.library.impl(name, kernel, FUNCTORCH_VMAP)

    def side_effect(self, name: str) -> None:
        """Keep calls of an operator without results in graphs; compilers would drop them."""
        torch.fx.has_side_effect(overload(self.namespace, name))

    def vmap_loop(self, name: str) -> None:
        """Register vmap as one call for each element of the batch."""
        binder = self.binder(name)
        self.batched(name, functools.partial(loop, binder))

    def vmap_batch_first(self, name: str, *, unbatched: Sequence[str] = ()) -> None:
        """Register vmap as one call with the batch as first axis of all tensors.

        Parameters
        ----------
        unbatched
            Tensors that have no axes in front; if one has a batch, there is a call per element.
            So there is if the ranks of the others differ, which broadcasting would not align.
        """
        binder = self.binder(name)

        def rule(info: BatchInfo, values: dict[str, Any], axes: dict[str, Any]) -> Any:
            free = {each: value for each, value in values.items() if each not in unbatched}
            if any(has_axis(axes[each]) for each in unbatched) or len(ranks(free, axes)) > 1:
                return loop(binder, info, values, axes)
            size = info.batch_size
            first = {
                each: value if each in unbatched else batch_first(size, value, axes[each])
                for each, value in values.items()
            }
            returned = as_list(binder.call(binder.operator, first))
            return returned, [0] * len(returned)

        self.batched(name, rule)

    def vmap(self, name: str, function: Callable[..., Any]) -> None:
        """Register a batching rule: `function(info, in_dims, *args, **keyword_only)`.

        It has the form that torch.library.register_vmap takes; `in_dims` has an entry for each
        argument in the order of the schema.
        """
        binder = self.binder(name)

        def batched(info: BatchInfo, values: dict[str, Any], axes: dict[str, Any]) -> Any:
            rule = functools.partial(function, info, tuple(axes.values()))
            returned, out_dims = binder.call(rule, values)
            results = as_list(returned)
            if out_dims is None or isinstance(out_dims, int):
                return results, [out_dims] * len(results)
            return results, list(out_dims) if isinstance(returned, tuple) else [out_dims]

        self.batched(name, batched)

    def batched(
        self, name: str, rule: Callable[[BatchInfo, dict[str, Any], dict[str, Any]], Any]
    ) -> None:
        """Register a rule from values and their batch axes to results and theirs."""
        binder = self.binder(name)

        def kernel(*args: Any, **kwargs: Any) -> Any:
            interpreter: Any = retrieve_current_functorch_interpreter()
            level = interpreter.level()
            values = binder.bind(args, kwargs)
            plain, axes = {}, {}
            for each, value in values.items():
                plain[each], axes[each] = without_batch(value, level)
            # Not interpreter.lower(): it fails, or computes wrong gradients, in nested transforms.
            with below(FUNCTORCH_VMAP):
                if not any(has_axis(axis) for axis in axes.values()):
                    return binder.call(binder.operator, values)
                refuse_unbatched_writes(binder, values, axes)
                info = BatchInfo(interpreter.batch_size(), interpreter.randomness())
                results, out_axes = rule(info, plain, axes)
            complete = []
            for index, (result, axis) in enumerate(zip(results, out_axes, strict=True)):
                argument = binder.results[index]
                complete.append(
                    values[argument] if argument is not None else with_batch(result, axis, level)
                )
            return as_returned(complete)

        self.library.impl(name, kernel, FUNCTORCH_VMAP)

    def autocast(self, name: str, policy: str) -> None:
        """Register what autocast does with floating-point tensors that are not written.

        Parameters
        ----------
        policy
            The name of a dtype, "promote" for the widest, "autocast dtype" for that of the context.
        """
        binder = self.binder(name)
        for key, device in AUTOCAST_KEYS.items():
            self.library.impl(name, autocast_kernel(binder, policy, key, device), key)


def autocast_kernel(binder: Binder, policy: str, key: str, device: str) -> Callable[..., Any]:
    """Return the kernel that converts and then calls the operator without autocast."""

    def is_eligible(tensor: torch.Tensor) -> bool:
        return tensor.is_floating_point() and tensor.dtype != torch.float64

    def wanted(values: Mapping[str, Any]) -> torch.dtype | None:
        if policy == "autocast dtype":
            return torch.get_autocast_dtype(device)
        if policy != "promote":
            dtype: torch.dtype = getattr(torch, policy)
            return dtype
        found = [t.dtype for v in values.values() for t in tensors_in(v) if is_eligible(t)]
        return functools.reduce(torch.promote_types, found) if found else None

    def kernel(*args: Any, **kwargs: Any) -> Any:
        values = binder.bind(args, kwargs)
        dtype = wanted(values)
        with below(key):
            for name, value in values.items():
                if name not in binder.written:
                    values[name] = map_tensors(
                        lambda tensor: tensor.to(dtype) if is_eligible(tensor) else tensor, value
                    )
            return binder.call(binder.operator, values)

    return kernel


def without_batch(value: Any, level: int) -> tuple[Any, Any]:
    """Return a value with its batch as an ordinary axis, and which one: a list for a list."""
    if isinstance(value, torch.Tensor):
        return unwrap_batched(value, level)
    if isinstance(value, list | tuple):
        pairs = [without_batch(item, level) for item in value]
        return [item for item, _ in pairs], [axis for _, axis in pairs]
    return value, None


def with_batch(value: Any, axis: Any, level: int) -> Any:
    """Make an axis of a result the batch."""
    if isinstance(value, list | tuple):
        axes = axis if isinstance(axis, list | tuple) else [axis] * len(value)
        return [with_batch(*pair, level) for pair in zip(value, axes, strict=True)]
    if axis is None or not isinstance(value, torch.Tensor):
        return value
    return add_batch_dim(value, axis, level)


def has_axis(axis: Any) -> bool:
    """Return whether a value has a batch."""
    return any(map(has_axis, axis)) if isinstance(axis, list) else axis is not None


def ranks(values: Mapping[str, Any], axes: Mapping[str, Any]) -> set[int]:
    """Return how many axes tensors have beside their batch."""
    found = set()
    for name, value in values.items():
        pairs = zip(value, axes[name], strict=True) if isinstance(axes[name], list) else None
        for item, axis in pairs or [(value, axes[name])]:
            if isinstance(item, torch.Tensor):
                found.add(item.ndim - (axis is not None))
    return found


def batch_first(batch: int, value: Any, axis: Any) -> Any:
    """Make the batch the first axis of a value; one without a batch is expanded."""
    if isinstance(value, list | tuple):
        return [batch_first(batch, *pair) for pair in zip(value, axis, strict=True)]
    if not isinstance(value, torch.Tensor):
        return value
    return value.expand(batch, *value.shape) if axis is None else value.movedim(axis, 0)


def element(value: Any, axis: Any, index: int) -> Any:
    """Return one element of the batch."""
    if isinstance(value, list | tuple):
        return [
            element(item, axis[place] if isinstance(axis, list) else None, index)
            for place, item in enumerate(value)
        ]
    return value if axis is None else value.select(axis, index)


def refuse_unbatched_writes(
    binder: Binder, values: Mapping[str, Any], axes: Mapping[str, Any]
) -> None:
    """Raise if a batch would be written into a tensor without one."""
    for name in binder.written:
        if values[name] is None:
            continue
        missing = axes[name]
        if missing is None or (isinstance(missing, list) and None in missing):
            message = (
                f"{binder.operator}: vmap cannot write a batch into argument '{name}', which has "
                "none; map over it as well, or expand it before"
            )
            raise RuntimeError(message)


def loop(
    binder: Binder, info: BatchInfo, values: Mapping[str, Any], axes: Mapping[str, Any]
) -> tuple[list[Any], list[Any]]:
    """Call the operator for each element of the batch, and stack the results."""
    if info.batch_size == 0:
        message = f"{binder.operator}: vmap over a batch of size 0 is not possible"
        raise RuntimeError(message)
    calls = []
    for index in range(info.batch_size):
        one = {name: element(value, axes[name], index) for name, value in values.items()}
        calls.append(as_list(binder.call(binder.operator, one)))
    results = [
        None if argument is not None else stacked(parts)
        for argument, parts in zip(binder.results, zip(*calls, strict=True), strict=True)
    ]
    return results, [0] * len(results)


def stacked(parts: Sequence[Any]) -> Any:
    """Put the results of all elements into one with the batch as first axis."""
    if isinstance(parts[0], list | tuple):
        return [stacked(items) for items in zip(*parts, strict=True)]
    return torch.stack(list(parts)) if isinstance(parts[0], torch.Tensor) else parts[0]


def when_imported(name: str, then: Callable[[], object]) -> None:
    """Do something once a module is there: now, or right after it was imported."""
    if name in sys.modules:
        then()
    else:
        sys.meta_path.insert(0, AfterImport(name, then))


class AfterImport:
    """Finds a module as the others do, and adds what comes after it was run."""

    def __init__(self, name: str, then: Callable[[], object]) -> None:
        self.name, self.then = name, then

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> Any:
        """Find the module, once; other modules are not found here."""
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        others = (finder.find_spec(name, path, target) for finder in list(sys.meta_path))
        spec = next((spec for spec in others if spec is not None), None)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                run(module)
                self.then()

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]  # of this loader only
        return spec
