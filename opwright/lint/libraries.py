"""Facts of many files -> libraries: what belongs to one namespace, and to one program."""

from __future__ import annotations

import functools
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from opwright.aclnn.known import find_known_parameters
from opwright.lint.definitions import (
    AclnnFunction,
    AclnnParameter,
    Function,
    Language,
    Place,
    are_exclusive,
)
from opwright.lint.device_writes import KernelWrites, kernel_writes, plain_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from opwright.lint.definitions import (
        Converter,
        Definition,
        FileFacts,
        Implementation,
        Open,
        Site,
    )

__all__ = [
    "BACKENDS",
    "BUILT_IN",
    "COMPOSITE",
    "EXPLICIT",
    "Library",
    "Operator",
    "Project",
    "build_project",
]

# Keys whose kernels compute on a device; all others (Autograd, Meta, ...) only go around them.
BACKENDS = frozenset(
    {"CPU", "CUDA", "PrivateUse1", "XPU", "HPU", "MPS", "HIP", "SparsePrivateUse1"}
    | {"CompositeExplicitPython", None}
)
COMPOSITE = "CompositeImplicitAutograd"
EXPLICIT = frozenset({"CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional"})
BUILT_IN = frozenset({"aten", "prims", "prim", "_"})


@dataclass(slots=True)
class Operator:
    """All that sources say of one operator."""

    namespace: str
    name: str
    definitions: list[Definition] = field(default_factory=list)
    implementations: list[Implementation] = field(default_factory=list)
    converters: list[Converter] = field(default_factory=list)

    @property
    def qualified(self) -> str:
        """Return namespace::name.overload."""
        return f"{self.namespace}::{self.name}"

    @property
    def definition(self) -> Definition | None:
        """Return the first definition with a schema, else the first one."""
        readable = (each for each in self.definitions if each.schema is not None)
        return next(readable, self.definitions[0] if self.definitions else None)

    @property
    def kernels(self) -> list[Implementation]:
        """Return the implementations that compute: on a device, or of other operators."""
        keys = BACKENDS | EXPLICIT | {COMPOSITE}
        return [each for each in self.implementations if each.key in keys]

    @property
    def metas(self) -> list[Implementation]:
        """Return the Metas and fake functions."""
        return [each for each in self.implementations if each.key == "Meta"]


@dataclass(slots=True)
class Library:
    """The operators of a namespace in one program.

    Parameters
    ----------
    is_whole
        Whether the sources have the TORCH_LIBRARY block, so that they are all there is.
    is_whole_in_python
        Whether they have a Library("ns", "DEF"), to which C++ elsewhere may add more.
    """

    namespace: str
    operators: dict[str, Operator] = field(default_factory=dict)
    opens: list[Open] = field(default_factory=list)
    is_whole: bool = False
    is_whole_in_python: bool = False

    def operator(self, name: str) -> Operator:
        """Return an operator, made if it is new."""
        if name not in self.operators:
            self.operators[name] = Operator(self.namespace, name)
        return self.operators[name]


@dataclass(slots=True)
class Project:
    """All that was read."""

    files: Sequence[FileFacts]
    libraries: list[Library]
    functions: dict[str, list[Function]]
    python: dict[tuple[str, str], Function]
    aclnn: dict[str, list[AclnnFunction]]
    mentioned: frozenset[str] = frozenset()
    effectful: frozenset[str] = frozenset()
    kernels: KernelWrites = field(default_factory=dict)
    starts: dict[str, set[Place]] = field(default_factory=dict)

    def operators(self) -> Iterator[tuple[Library, Operator]]:
        """Yield the operators that the sources define, those of PyTorch itself left out."""
        for library in self.libraries:
            if library.namespace in BUILT_IN:
                continue
            for operator in library.operators.values():
                if operator.definitions:
                    yield library, operator

    def resolve(self, implementation: Implementation, count: int | None) -> list[Function]:
        """Return the functions that a registration can mean, those with that many parameters."""
        kernel = implementation.kernel
        if kernel.function is not None:
            return [kernel.function]
        if kernel.name is None or implementation.language is Language.PYTHON:
            return []
        found = self.named(kernel.name, near=implementation.place)
        if implementation.language is Language.YAML:
            found = [each for each in found if each.name.startswith(("op_api::", "acl_op::"))]
        if count is not None:
            found = [each for each in found if len(each.parameters) == count]
        return found

    def named(self, name: str, near: Place) -> list[Function]:
        """Return the C++ functions with a body that a name can mean."""
        bare = name.rpartition("::")[2]
        known = [each for each in self.functions.get(bare, ()) if each.is_definition]
        if "::" in name:
            exact = [each for each in known if f"::{each.name}".endswith(f"::{name}")]
            known = exact or [each for each in known if "::" not in each.name]
        if len(known) > 1:
            same = [each for each in known if each.place.file == near.file]
            known = same or find_closest(known, near)
        return known

    def device_write(self, kernel: str, position: int, count: int | None) -> Site | None:
        """Return where a kernel writes a parameter; count is how many the host gives.

        A kernel that several functions of the host start has modes, and may write in one of them
        what it reads in another: nothing is said of it.
        """
        if len(self.starts.get(plain_name(kernel), ())) > 1:
            return None
        known = [
            (parameters, writes)
            for parameters, writes in self.kernels.get(plain_name(kernel), ())
            if position < len(parameters) and count in {None, len(parameters)}
        ]
        sites = [writes.get(parameters[position]) for parameters, writes in known]
        return sites[0] if sites and all(each is not None for each in sites) else None

    def aclnn_function(self, name: str, count: int, near: Place) -> AclnnFunction | None:
        """Return the prototype of an aclnn function with that many parameters."""
        own = [each for each in self.aclnn.get(name, ()) if len(each.parameters) == count]
        if own:
            decided = [
                each for each in own if any(p.is_written is not None for p in each.parameters)
            ]
            own.sort(key=lambda each: -count_common(each.place.file, near.file))
            return (decided or own)[0]
        if name in self.aclnn:
            return None
        known = find_known_function(name)
        return known if known is not None and len(known.parameters) == count else None


def find_closest(functions: list[Function], near: Place) -> list[Function]:
    """Return those functions whose files share most folders with a place."""
    best = max(count_common(each.place.file, near.file) for each in functions)
    return [each for each in functions if count_common(each.place.file, near.file) == best]


def count_common(one: str, other: str) -> int:
    """Return how many folders two paths share."""
    count = 0
    for left, right in zip(one.split("/")[:-1], other.split("/")[:-1], strict=False):
        if left != right:
            break
        count += 1
    return count


@functools.cache
def find_known_function(name: str) -> AclnnFunction | None:
    """Return the prototype of a function of CANN itself."""
    given = find_known_parameters(name)
    if given is None:
        return None
    last = max((at for at, each in enumerate(given) if not each.ctype.is_tensor), default=-1)
    has_refs = any(each.name.endswith("Ref") for each in given)
    found = []
    for at, each in enumerate(given):
        is_written = False if not each.ctype.is_tensor else None
        if each.ctype.is_tensor:
            is_in_place = name.startswith("aclnnInplace") and at == 0
            is_written = find_known_write(each.name, is_last=at > last >= 0, has_refs=has_refs)
            is_written = True if is_in_place else is_written
        found.append(AclnnParameter(each.name, each.ctype.value, is_written))
    return AclnnFunction(name, tuple(found), Place("CANN", 1))


def find_known_write(name: str, *, is_last: bool, has_refs: bool) -> bool | None:
    """Return whether a function of CANN writes a tensor, None if its name does not say.

    The table has no const. What is read and written is named selfRef; results stand behind the
    attributes and are named out or yOut, while attentionOut before them is a result of the forward
    function. A function that names no Ref may still write a cache.
    """
    if name.endswith("Ref"):
        return True
    if is_last:
        return True if name == "out" or name.endswith("Out") else None
    is_plain = name != "out" and not name.endswith("Out")
    return False if has_refs and is_plain else None


def build_project(files: Sequence[FileFacts]) -> Project:
    """Put facts together."""
    functions: dict[str, list[Function]] = defaultdict(list)
    starts: dict[str, set[Place]] = defaultdict(set)
    python: dict[tuple[str, str], Function] = {}
    aclnn: dict[str, list[AclnnFunction]] = defaultdict(list)
    for each in files:
        for function in each.functions:
            if function.language is Language.CPP:
                functions[function.bare].append(function)
                for use in function.uses:
                    if use.call is not None and (use.call.is_launch or use.call.is_aclnn):
                        name = plain_name(use.call.function.removeprefix("aclnn"))
                        starts[name].add(function.place)
            else:
                python.setdefault((each.path, function.name), function)
        for prototype in each.aclnn:
            aclnn[prototype.name].append(prototype)
    return Project(
        files=files,
        libraries=list(libraries(files)),
        functions=dict(functions),
        python=python,
        aclnn=dict(aclnn),
        effectful=frozenset(name for each in files for name in each.effectful),
        kernels=kernel_writes(files),
        starts=dict(starts),
    )


def libraries(files: Iterable[FileFacts]) -> Iterator[Library]:
    """Yield the libraries: one per namespace, or one per TORCH_LIBRARY block where there are more.

    A process can have one TORCH_LIBRARY(ns, m) only, so several of them (of examples, of back ends)
    are several programs; what else is in the namespace belongs to the nearest one.
    """
    files = list(files)
    roots = block_roots(files)
    made: dict[tuple[str, str], Library] = {}

    def library(namespace: str, place: Place) -> Library:
        known = roots.get(namespace, ())
        root = ""
        if len(known) > 1:
            root = max(known, key=lambda each: (each == place.file, count_common(each, place.file)))
        return made.setdefault((namespace, root), Library(namespace))

    for each in files:
        for definition in each.definitions:
            if definition.namespace is None:
                continue
            found = library(definition.namespace, definition.place)
            found.operator(definition.qualified).definitions.append(definition)
            # op-plugin's YAML is not all of npu: torch_npu defines more of it.
            if definition.block is not None:
                is_cpp = definition.language is Language.CPP
                found.is_whole = found.is_whole or is_cpp
                found.is_whole_in_python = found.is_whole_in_python or not is_cpp
        for implementation in each.implementations:
            if implementation.namespace is not None:
                found = library(implementation.namespace, implementation.place)
                operator = found.operator(implementation.name)
                operator.implementations.append(implementation)
        for converter in each.converters:
            found = library(converter.namespace, converter.place)
            overload = f".{converter.overload}" if converter.overload else ""
            name = converter.name + overload
            found.operator(name.removesuffix(".default")).converters.append(converter)
        for one in each.opens:
            if one.namespace is not None:
                library(one.namespace, one.place).opens.append(one)
    yield from made.values()


def block_roots(files: Iterable[FileFacts]) -> dict[str, list[str]]:
    """Return the files with a TORCH_LIBRARY block of their own, by namespace."""
    found: dict[str, dict[str, Definition]] = defaultdict(dict)
    for each in files:
        for definition in each.definitions:
            if definition.block is not None and definition.namespace is not None:
                known = found[definition.namespace]
                if not any(
                    one.place.file == each.path and are_exclusive(one.guards, definition.guards)
                    for one in known.values()
                ):
                    known.setdefault(each.path, definition)
    return {name: sorted(known) for name, known in found.items()}
