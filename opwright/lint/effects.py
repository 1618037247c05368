"""A function's effect on an argument, through all functions of the sources that it calls."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from opwright.lint.definitions import Language, UseKind

if TYPE_CHECKING:
    from opwright.lint.definitions import Call, Function, Place, Use
    from opwright.lint.libraries import Project

__all__ = ["Effect", "Verdict", "effect_on", "find_freezing", "inner_functions"]

DEEPEST = 5  # calls from a kernel to a function that writes


class Verdict(Enum):
    """Facts about an argument."""

    WRITTEN = "written"
    READ = "read"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Effect:
    """A verdict; for a write where the function makes it, what it is, and where it really is."""

    verdict: Verdict
    place: Place | None = None
    text: str = ""
    origin: Place | None = None


READ = Effect(Verdict.READ)
UNKNOWN = Effect(Verdict.UNKNOWN)


def effect_on(
    project: Project,
    function: Function,
    parameter: str,
    seen: frozenset[tuple[Place, str]] = frozenset(),
) -> Effect:
    """Return what a function does to a parameter."""
    key = (function.place, parameter)
    if key in seen or len(seen) > DEEPEST:
        return UNKNOWN
    found = READ
    for use in function.uses:
        if use.parameter != parameter:
            continue
        effect = effect_of(project, function, use, seen | {key})
        if effect.verdict is Verdict.WRITTEN:
            return effect
        if effect.verdict is Verdict.UNKNOWN:
            found = UNKNOWN
    return found


def effect_of(
    project: Project, function: Function, use: Use, seen: frozenset[tuple[Place, str]]
) -> Effect:
    """Return what one use does."""
    if use.kind is UseKind.WRITE:
        return Effect(Verdict.WRITTEN, use.place, use.text, use.place)
    if use.kind in {UseKind.READ, UseKind.RETURN}:
        return READ
    call = use.call
    if use.kind is not UseKind.CALL or call is None:
        return UNKNOWN
    if call.is_aclnn:
        return effect_in_aclnn(project, use)
    if call.is_launch:
        return effect_of_launch(project, use, call)
    if function.language is Language.PYTHON:
        inner = project.python.get((function.place.file, call.function))
        candidates = [] if inner is None else [inner]
    else:
        candidates = project.named(call.function, near=use.place)
    effects = []
    for each in candidates:
        name = parameter_at(each, call.position, call.count)
        if name is None:
            continue
        effects.append(effect_on(project, each, name, seen))
    if not effects:
        return UNKNOWN
    # Of overloads, only what all of them do is certain.
    if all(each.verdict is Verdict.WRITTEN for each in effects):
        return Effect(Verdict.WRITTEN, use.place, effects[0].text, effects[0].origin)
    return READ if all(each.verdict is Verdict.READ for each in effects) else UNKNOWN


def effect_of_launch(project: Project, use: Use, call: Call) -> Effect:
    """Return what a kernel does that the host starts by its name."""
    if not isinstance(call.position, int) or call.position < 0:
        return UNKNOWN
    site = project.device_write(call.function, call.position, call.count)
    if site is None:
        return UNKNOWN
    text = f"the kernel {call.function} does {site.text}"
    return Effect(Verdict.WRITTEN, use.place, text, site.place)


def parameter_at(function: Function, position: int | str, count: int) -> str | None:
    """Return the parameter that an argument is for."""
    if isinstance(position, str):
        return next((each.name for each in function.parameters if each.name == position), None)
    if not 0 <= position < len(function.parameters) or count > len(function.parameters):
        return None
    return function.parameters[position].name or None


def effect_in_aclnn(project: Project, use: Use) -> Effect:
    """Return what an aclnn function does to what it is given."""
    call = use.call
    if call is None or not isinstance(call.position, int):
        return UNKNOWN
    prototype = project.aclnn_function(call.function, call.count, use.place)
    if prototype is None:
        return UNKNOWN
    given = prototype.parameters[call.position]
    if not given.is_written and call.position < prototype.inputs:
        site = project.device_write(prototype.name.removeprefix("aclnn"), call.position, None)
        if site is not None:
            text = f"the kernel of {call.function} does {site.text}"
            return Effect(Verdict.WRITTEN, use.place, text, site.place)
    if given.is_written is None:
        return UNKNOWN
    if given.is_written:
        text = f"{call.function} writes {given.name}"
        return Effect(Verdict.WRITTEN, use.place, text, use.place)
    return READ


def find_freezing(
    project: Project, function: Function, seen: frozenset[Place] = frozenset()
) -> list[tuple[Function, int]]:
    """Return functions that a Meta runs, itself first, and the numbers of their frozen sizes."""
    if function.place in seen or len(seen) > DEEPEST:
        return []
    found = [(function, at) for at in range(len(function.frozen))]
    for name in sorted(function.calls):
        for inner in inner_functions(project, function, name):
            found += find_freezing(project, inner, seen | {function.place})
    return found


def inner_functions(project: Project, function: Function, name: str) -> list[Function]:
    """Return the functions of the sources that a call can mean."""
    if function.language is Language.PYTHON:
        inner = project.python.get((function.place.file, name))
        return [] if inner is None else [inner]
    scope = name.rpartition("::")[0]
    if scope in {"at", "torch", "std", "c10"}:
        return []
    found = project.named(name, near=function.place)
    return found if len(found) == 1 else []
