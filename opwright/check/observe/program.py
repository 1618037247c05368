"""A function of tensors that calls an operator, as text: what compilers and scripts are given."""

from __future__ import annotations

import keyword
import linecache
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import torch

from opwright.check.observe.tolerance import difference
from opwright.kit.declare.schema import Base

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from opwright.check.subject import Subject
    from opwright.kit.declare.sample import Tolerance
    from opwright.kit.declare.schema import Argument
    from opwright.kit.live.arguments import Values

__all__ = ["Program", "Ran", "Shape", "has_pair", "name_tensors", "program_of"]

# Forms of the function.
# direct   calls the operator with what it is given
# inside   calls it with what the function made itself, too, and returns that
# views    as inside, but what is written is a part of a larger tensor that is returned as well
# written  writes each result after the call
# twice    gives one tensor for two arguments, of which at most one is written
# copied   as twice, but the second one is a copy
# between  calls the operator between other operators
Shape: TypeAlias = Literal["direct", "inside", "views", "written", "twice", "copied", "between"]

INDENT = "    "
# Name of the function that returns the other results, where a call leaves the values of some open.
KEEP = "drop_unspecified"


@dataclass(frozen=True, slots=True)
class Program:
    """A function that calls an operator.

    Parameters
    ----------
    name
        Of the operator.
    text
        Its definition: the function `call`, in which `operator` is the operator.
    parameters
        What its parameters are: the argument, and the element of a list.
    """

    name: str
    text: str
    parameters: tuple[tuple[str, int | None], ...]

    def function(self, operator: Any) -> Callable[..., Any]:  # noqa: ANN401 - torch.ops has no types
        """Return the function."""
        file = f"<call of {self.name}>"
        linecache.cache[file] = (len(self.text), None, self.text.splitlines(keepends=True), file)
        names: dict[str, Any] = {"operator": operator, "torch": torch}
        exec(compile(self.text, file, "exec"), names)  # noqa: S102 - our own text
        function: Callable[..., Any] = names["call"]
        return function

    def given(self, values: Values) -> list[Any]:
        """Return what the function is called with."""
        return [
            values[name] if index is None else values[name][index]
            for name, index in self.parameters
        ]

    def lines(self) -> tuple[str, ...]:
        """Return the lines of a script that define `call` and make `given(device)`."""
        items = [
            f"values[{name!r}]" if index is None else f"values[{name!r}][{index}]"
            for name, index in self.parameters
        ]
        return (
            *self.text.splitlines(),
            "",
            "def given():",
            "    values = arguments('npu')",
            f"    return [{', '.join(items)}]",
            "",
        )


@dataclass(frozen=True, slots=True)
class Ran:
    """The outcome of a run of a program: the tensors it returned, and its arguments after it."""

    returned: Mapping[str, torch.Tensor]
    arguments: Mapping[str, torch.Tensor]

    @classmethod
    def of(cls, program: Program, returned: object, given: Sequence[Any]) -> Ran:
        """Return what is left of a run."""
        names = [
            name if index is None else f"{name}[{index}]" for name, index in program.parameters
        ]
        tensors = {
            name: value
            for name, value in zip(names, given, strict=True)
            if isinstance(value, torch.Tensor)
        }
        return cls(name_tensors(returned), tensors)

    def difference(
        self, other: Ran, tolerances: Mapping[str, Tolerance]
    ) -> tuple[str, Literal["returned", "argument"], str] | None:
        """Say in what another run differs: the tensor, what it is, and how; None if in nothing."""
        for name, tensor in self.arguments.items():
            text = tensor_difference(other.arguments[name], tensor, tolerances)
            if text is not None:
                return name, "argument", text
        if self.returned.keys() != other.returned.keys():
            text = f"{len(other.returned)} tensors in place of {len(self.returned)}"
            return "the results", "returned", text
        for name, tensor in self.returned.items():
            text = tensor_difference(other.returned[name], tensor, tolerances)
            if text is not None:
                return name, "returned", text
        return None


def tensor_difference(
    got: torch.Tensor, want: torch.Tensor, tolerances: Mapping[str, Tolerance]
) -> str | None:
    """Say how a tensor differs from what is expected, devices included."""
    if got.device != want.device:
        return f"on {got.device} in place of {want.device}"
    return difference(got, want, tolerances)


def name_tensors(returned: object) -> dict[str, torch.Tensor]:
    """Return the tensors in what a program returned."""
    if isinstance(returned, torch.Tensor):
        return {"result": returned}
    if not isinstance(returned, list | tuple):
        return {}
    found = {}
    for index, value in enumerate(returned):
        for name, tensor in name_tensors(value).items():
            found[name.replace("result", f"result[{index}]", 1)] = tensor
    return found


def program_of(
    subject: Subject, values: Values, shape: Shape = "direct", results: tuple[int, ...] = ()
) -> Program:
    """Write the function that calls an operator with arguments like given ones.

    Parameters
    ----------
    results
        Those that `written` writes, by position.
    """
    return Writer(subject, values, results).program(shape)


def has_pair(subject: Subject, values: Values) -> bool:
    """Return whether two arguments of a call may be one tensor."""
    return any(True for _ in Writer(subject, values, ()).pairs())


class Writer:
    """Writes the function for one operator."""

    def __init__(self, subject: Subject, values: Values, results: tuple[int, ...]) -> None:
        self.subject = subject
        self.results = results
        self.values = values
        self.parameters: dict[tuple[str, int | None], str] = {}
        for argument in subject.schema.arguments:
            self.find_parameters(argument, values[argument.name])
        unspecified = subject.unspecified(values)
        self.names = subject.schema.output_names()
        self.kept = [i for i, name in enumerate(self.names) if name not in unspecified]

    def find_parameters(self, argument: Argument, value: Any) -> None:  # noqa: ANN401 - any argument
        """Give tensors and sizes of an argument names."""
        if isinstance(value, list | tuple):
            for index, each in enumerate(value):
                if is_parameter(argument, each):
                    self.parameters[argument.name, index] = f"{argument.name}_{index}"
        elif is_parameter(argument, value):
            name = argument.name
            is_taken = keyword.iskeyword(name) or name in {"operator", "torch"}
            self.parameters[name, None] = f"{name}_" if is_taken else name

    def call(self, names: Mapping[tuple[str, int | None], str]) -> str:
        """Return the text of the call with names for its tensors."""
        parts = []
        for argument in self.subject.schema.arguments:
            value = self.values[argument.name]
            if isinstance(value, list | tuple):
                items = [
                    names.get((argument.name, index)) or literal(each)
                    for index, each in enumerate(value)
                ]
                text = f"[{', '.join(items)}]"
            else:
                text = names.get((argument.name, None)) or literal(value)
            parts.append(f"{argument.name}={text}" if argument.keyword_only else text)
        call = f"operator({', '.join(parts)})"
        if len(self.kept) == len(self.names):
            return call
        return f"{KEEP}({'*' if len(self.names) > 1 else ''}{call})"

    def keep(self) -> list[str]:
        """Return the lines that define what leaves out results with unspecified values."""
        if len(self.kept) == len(self.names):
            return []
        names = [f"result_{index}" for index in range(len(self.names))]
        kept = "".join(f"{names[index]}, " for index in self.kept)
        left = ", ".join(name for i, name in enumerate(self.names) if i not in self.kept)
        return [
            f"def {KEEP}({', '.join(names)}):",
            f"{INDENT}return ({kept.rstrip()})  # the declaration leaves open: {left}",
            "",
        ]

    def program(self, shape: Shape) -> Program:
        """Return the function."""
        body = {
            "direct": self.direct,
            "inside": self.inside,
            "views": self.views,
            "written": self.written,
            "twice": self.twice,
            "copied": self.copied,
            "between": self.between,
        }[shape]()
        lines = [
            *self.keep(),
            f"def call({', '.join(self.parameters.values())}):",
            *(INDENT + each for each in body),
        ]
        return Program(self.subject.name, "\n".join(lines) + "\n", tuple(self.parameters))

    def direct(self) -> list[str]:
        """Call the operator."""
        return [f"return {self.call(self.parameters)}"]

    def inside(self) -> list[str]:
        """Call the operator with copies of what it writes, between other operators."""
        lines, names = [], dict(self.parameters)
        for place in self.written_tensors():
            names[place] = f"{self.parameters[place]}_copy"
            lines.append(f"{names[place]} = {self.parameters[place]}.clone()")
        copies = [names[place] for place in self.written_tensors()]
        kept = copies[:]
        for name, given in (("first", names), ("second", self.parameters)):
            call, results = self.new_results(name, given)
            lines.append(call)
            kept += results
        return [*lines, f"return {', '.join(kept)},"]

    def new_results(
        self, name: str, names: Mapping[tuple[str, int | None], str]
    ) -> tuple[str, list[str]]:
        """Return the statement that calls the operator, and what it calls the new results.

        Results that are arguments are left out: those are looked at themselves, and torch_npu
        loses count of the memory of a written input that a captured graph returns.
        """
        results = [self.subject.schema.results[index] for index in self.kept]
        if all(each.alias is None for each in results):
            return f"{name} = {self.call(names)}", [name]
        each_name = [f"{name}_{index}" for index in self.kept]
        new = [n for n, each in zip(each_name, results, strict=True) if each.alias is None]
        left = ", ".join(each_name) + ("," if self.is_one_of_several() else "")
        return f"{left} = {self.call(names)}", new

    def is_one_of_several(self) -> bool:
        """Return whether a call gives a tuple of one: of several results one has values."""
        return len(self.kept) == 1 < len(self.names)

    def views(self) -> list[str]:
        """Call the operator with parts of larger tensors in place of what it writes."""
        lines, names, bases = [], dict(self.parameters), []
        groups: dict[tuple[torch.dtype, torch.Size], list[tuple[str, int | None]]] = {}
        for place in self.written_tensors():
            tensor = self.tensor(place)
            groups.setdefault((tensor.dtype, tensor.shape), []).append(place)
        for number, places in enumerate(groups.values()):
            base = f"base_{number}"
            given = [self.parameters[place] for place in places]
            # One more in front: each part has a storage offset.
            lines.append(f"{base} = torch.stack([{', '.join([given[0], *given])}])")
            bases.append(base)
            for index, place in enumerate(places):
                names[place] = f"{self.parameters[place]}_part"
                lines.append(f"{names[place]} = {base}[{index + 1}]")
        return [*lines, f"result = {self.call(names)}", f"return {', '.join(['result', *bases])}"]

    def written(self) -> list[str]:
        """Write the results afterwards: whoever shares their memory sees it."""
        left = ", ".join(f"result_{index}" for index in self.kept)
        left += "," if self.is_one_of_several() else ""
        lines = [f"{left} = {self.call(self.parameters)}"]
        lines += [f"result_{index}.add_(1)" for index in self.results]
        return [*lines, f"return {left}"]

    def between(self) -> list[str]:
        """Call the operator between copying what it is given and what it returns."""
        lines, names = [], dict(self.parameters)
        for place in self.tensors():
            names[place] = f"{self.parameters[place]}_copy"
            lines.append(f"{names[place]} = {self.parameters[place]}.clone()")
        copies = [names[place] for place in self.written_tensors()]
        behind = "torch.utils._pytree.tree_map_only(torch.Tensor, torch.clone, result)"
        lines += [f"result = {self.call(names)}", f"result = {behind}"]
        return [*lines, f"return {', '.join(['result', *copies])}"]

    def twice(self) -> list[str]:
        """Call the operator with one tensor for two arguments."""
        one, other = self.pair()
        names = {**self.parameters, other: self.parameters[one]}
        return [f"return {self.call(names)}, {self.parameters[one]}"]

    def copied(self) -> list[str]:
        """Call the operator with a tensor and a copy of it."""
        one, other = self.pair()
        names = {**self.parameters, other: f"{self.parameters[one]}.clone()"}
        return [f"return {self.call(names)}, {self.parameters[one]}"]

    def pair(self) -> tuple[tuple[str, int | None], tuple[str, int | None]]:
        """Return two parameters that may be one tensor, the written one first."""
        return next(self.pairs())

    def pairs(self) -> Iterator[tuple[tuple[str, int | None], tuple[str, int | None]]]:
        """Yield such pairs."""
        written = self.written_tensors()
        places = sorted(self.tensors(), key=lambda place: place not in written)
        for one, other in combinations(places, 2):
            left, right = self.tensor(one), self.tensor(other)
            is_alike = left.dtype == right.dtype and left.shape == right.shape
            if is_alike and other not in written:
                yield one, other

    def tensors(self) -> list[tuple[str, int | None]]:
        """Return the parameters that are tensors."""
        return [place for place in self.parameters if isinstance(self.value(place), torch.Tensor)]

    def written_tensors(self) -> list[tuple[str, int | None]]:
        """Return the parameters that the operator writes."""
        names = {argument.name for argument in self.subject.schema.mutated}
        return [place for place in self.parameters if place[0] in names]

    def value(self, place: tuple[str, int | None]) -> Any:  # noqa: ANN401 - any argument
        """Return what a parameter stands for."""
        name, index = place
        return self.values[name] if index is None else self.values[name][index]

    def tensor(self, place: tuple[str, int | None]) -> torch.Tensor:
        """Return the tensor that a parameter stands for."""
        found = self.value(place)
        assert isinstance(found, torch.Tensor)
        return found


def is_parameter(argument: Argument, value: Any) -> bool:  # noqa: ANN401 - any argument
    """Return whether a value is given to the function: a tensor, or a size that may be a symbol."""
    if isinstance(value, torch.Tensor):
        return True
    is_size = argument.type.base is Base.SYMINT and isinstance(value, int)
    return is_size and value > 1


def literal(value: object) -> str:
    """Return a constant as Python."""
    if isinstance(value, torch.device):
        return f"torch.device({str(value)!r})"
    if isinstance(value, float) and value - value != 0:  # inf or NaN
        return f"float({str(value)!r})"
    return repr(value)
