"""Read files, put them together, run rules, silence what comments silence."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from opwright.lint import yaml_reader
from opwright.lint.cpp import reader as cpp
from opwright.lint.definitions import FileFacts, Language, Place, Site
from opwright.lint.errors import LintPathError, UnknownRuleError
from opwright.lint.files import CPP, PYTHON, find_files
from opwright.lint.finding import Finding, Problem, Rule, Severity
from opwright.lint.libraries import build_project
from opwright.lint.python import reader as python
from opwright.lint.rules.table import RULES, SUPPRESSION_RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from opwright.lint.definitions import Suppression
    from opwright.lint.libraries import Project

__all__ = ["Report", "choose_rules", "lint", "lint_facts", "read_bytes", "read_file"]

WORD = re.compile(rb"[A-Za-z_]\w*")
IS_LIBRARY = re.compile(rb"\bLibrary\(")


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The findings of a run.

    Parameters
    ----------
    silenced
        Findings with a suppression.
    unread
        Files, or parts of them, that could not be read, and registrations that are not plain.
    """

    findings: tuple[Finding, ...]
    silenced: tuple[Finding, ...]
    rules: tuple[Rule, ...]
    files: int
    unread: tuple[tuple[Place, str], ...]
    skipped: tuple[tuple[str, str], ...]
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def has_failed(self) -> bool:
        """Whether there is anything worse than a note."""
        return any(each.rule.severity is not Severity.NOTE for each in self.findings)

    def per_rule(self) -> dict[str, int]:
        """Return how many findings each rule has, those with any."""
        counted = Counter(each.rule.id for each in self.findings)
        return {each.id: counted[each.id] for each in self.rules if counted[each.id]}


def choose_rules(select: Sequence[str], ignore: Sequence[str]) -> tuple[Rule, ...]:
    """Return the rules to run.

    Raises
    ------
    UnknownRuleError
        OPW-C061.
    """
    known = {each.id: each for each in (*RULES, *SUPPRESSION_RULES)}
    for option, names in (("--select", select), ("--ignore", ignore)):
        for name in names:
            if name not in known:
                raise UnknownRuleError(
                    where=f"opwright lint, {option}",
                    got=repr(name),
                    allowed=known,
                    near=name,
                )
    wanted = set(select or known) - set(ignore)
    return tuple(each for each in known.values() if each.id in wanted)


def lint(
    paths: Sequence[Path],
    *,
    rules: tuple[Rule, ...] = (*RULES, *SUPPRESSION_RULES),
    exclude: Sequence[str] = (),
    tests: bool = False,
    step: Callable[[int, int], None] = lambda _done, _all: None,
) -> Report:
    """Lint all sources below paths.

    Parameters
    ----------
    step
        Called with the number of files that are read, and of all.
    """
    found = find_files(paths, exclude=exclude, tests=tests)
    shared = {}
    facts: list[FileFacts] = []
    total = len(found.files)
    datas: dict[str, bytes] = {}
    for name, path in found.files:
        if path.suffix.lower() in PYTHON:
            data = read_bytes(path)
            datas[name] = data
            if IS_LIBRARY.search(data):
                shared.update(python.module_libraries(name, data))
    for done, (name, path) in enumerate(found.files):
        step(done, total)
        data = datas.pop(name) if name in datas else read_bytes(path)
        each = read_file(name, path.suffix.lower(), data, shared)
        if each is not None:
            facts.append(each)
    step(total, total)
    sources = [path for _, path in found.files if path.suffix.lower() in CPP]
    report = lint_facts(facts, rules=rules, mentions=lambda names: find_mentioned(sources, names))
    return Report(
        findings=report.findings,
        silenced=report.silenced,
        rules=rules,
        files=total,
        unread=report.unread,
        skipped=found.skipped,
        counts=report.counts,
    )


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes.

    Raises
    ------
    LintPathError
        OPW-C060.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise LintPathError(
            where=str(path), got=str(error), fix="make it readable, or --exclude it"
        ) from error


def read_file(
    name: str,
    suffix: str,
    data: bytes,
    shared: Mapping[tuple[str, str], python.LibraryVariable] | None = None,
) -> FileFacts | None:
    """Return the facts of a file; None if it says nothing about operators."""
    if is_wide(data):
        problem = Site(Place(name, 1), "a text in UTF-16 or UTF-32: nothing of it is read")
        return FileFacts(path=name, problems=(problem,))
    try:
        if suffix in CPP:
            return cpp.read_cpp(name, data) if cpp.is_relevant(data) else None
        if suffix in PYTHON:
            relevant = python.is_relevant(data)
            return python.read_python(name, data, shared or {}) if relevant else None
        return yaml_reader.read_yaml(name, data) if yaml_reader.is_relevant(data) else None
    except RecursionError:  # a table of a generator: one expression of thousands of terms
        problem = Site(Place(name, 1), "an expression nests too deep to be read")
        return FileFacts(path=name, problems=(problem,))


def is_wide(data: bytes) -> bool:
    """Return whether a text has two or four bytes for each letter."""
    head = data[:64]
    return data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or (
        head.count(0) * 3 > len(head) and head.isascii()
    )


def find_mentioned(sources: Iterable[Path], names: frozenset[str]) -> frozenset[str]:
    """Return which names stand in a file, other than in a registration."""
    wanted = {name.encode(): name for name in names}
    found: set[str] = set()
    for path in sources:
        data = read_bytes(path)
        if b"TORCH_LIBRARY" in data:
            continue
        present = [each for each in wanted if each in data]
        if present:
            words = set(WORD.findall(data))
            found |= {wanted[each] for each in present if each in words}
    return frozenset(found)


def lint_facts(
    facts: Sequence[FileFacts],
    *,
    rules: Sequence[Rule] = (*RULES, *SUPPRESSION_RULES),
    mentions: Callable[[frozenset[str]], frozenset[str]] = lambda _: frozenset(),
) -> Report:
    """Run rules on facts."""
    project = build_project(facts)
    project.mentioned = mentions(find_unresolved(project))
    found = [Finding(rule=rule, problem=problem) for rule in rules for problem in rule.run(project)]
    found = [*dict.fromkeys(found)]
    kept, silenced, used = [], [], set()
    by_line: dict[tuple[str, int], list[Suppression]] = {}
    for each in facts:
        for one in each.suppressions:
            by_line.setdefault((one.place.file, one.line), []).append(one)
    for finding in found:
        place = finding.problem.place
        match = next(
            (
                one
                for one in by_line.get((place.file, place.line), ())
                if finding.rule.id in one.rules and one.reason
            ),
            None,
        )
        if match is None:
            kept.append(finding)
        else:
            silenced.append(finding)
            used.add(match.place)
    if rule := next((each for each in rules if each.id == "suppression"), None):
        active = {each.id for each in rules}
        kept += [
            Finding(rule=rule, problem=problem)
            for each in facts
            for problem in bad_suppressions(each.suppressions, used, active)
        ]
    unread = [(site.place, site.text) for each in facts for site in each.problems]
    unread += [(one.place, f"not readable: {one.what}") for each in facts for one in each.opens]
    return Report(
        findings=tuple(sorted(kept, key=lambda each: each.order)),
        silenced=tuple(sorted(silenced, key=lambda each: each.order)),
        rules=tuple(rules),
        files=len(facts),
        unread=tuple(dict.fromkeys(unread)),
        skipped=(),
        counts=counts_of(project),
    )


def find_unresolved(project: Project) -> frozenset[str]:
    """Return the names of registered C++ functions that no file that was read has."""
    return frozenset(
        bare
        for each in project.files
        for one in each.implementations
        if one.language is Language.CPP and one.kernel.name
        if (bare := one.kernel.name.rpartition("::")[2]) not in project.functions
    )


def bad_suppressions(
    suppressions: Iterable[Suppression], used: set[Place], active: set[str]
) -> Iterable[Problem]:
    """Yield suppressions that name no rule, no known rule, no reason, or silence nothing."""
    known = {each.id for each in (*RULES, *SUPPRESSION_RULES)}
    for each in suppressions:
        unknown = [name for name in each.rules if name not in known]
        if not each.rules:
            message = "the suppression names no rule"
        elif unknown:
            message = f"the suppression names a rule that does not exist: {', '.join(unknown)}"
        elif not each.reason:
            message = "the suppression has no reason, so it does not count"
        elif each.place not in used and set(each.rules) <= active:
            message = f"nothing is found here for {', '.join(each.rules)}"
        else:
            continue
        yield Problem(place=each.place, operator="", message=message)


def counts_of(project: Project) -> dict[str, int]:
    """Return what was read, for --statistics."""
    files = project.files
    return {
        "definitions": sum(len(each.definitions) for each in files),
        "implementations": sum(len(each.implementations) for each in files),
        "metas": sum(one.key == "Meta" for each in files for one in each.implementations),
        "converters": sum(len(each.converters) for each in files),
        "aclnn prototypes": sum(len(each.aclnn) for each in files),
    }
