"""How many faults `opwright check` finds: mutants of examples, templates and emitted sources.

    python benchmarks/check_mutants.py [--limit N --seed S] [--jobs N] [--target TEXT] [--again]

Each mutant changes one place of what implements an operator: a reference, a kernel, a rule that
the emitted code has, a formula of the backward, a converter, C++. The declaration stays. The whole
matrix runs on it until a row finds something. Results are kept in a log; what it has is not run
again. Survivors are explained in mutants/explanations.tsv: equivalent, or missed.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from mutants.checking import BaselineError, Session
from mutants.log import Log, Result, read_explanations
from mutants.targets import all_targets
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mutants.log import Explanation
    from mutants.mutant import Mutant
    from mutants.targets import Target

ROOT = Path(__file__).parents[1]
LOG = ROOT / "build" / "check_mutants.tsv"
WIDTH = 140  # of the tables: names of targets are long
EXPLANATIONS = Path(__file__).parent / "mutants" / "explanations.tsv"


def main() -> None:
    """Run the mutants that the log does not have, and print what became of all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--target", action="append", default=[], help="only those with this text")
    parser.add_argument("--kind", action="append", default=[], help="only mutants of this kind")
    parser.add_argument("--limit", type=int, help="so many mutants, drawn from all")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--jobs", type=int, default=1, help="servers at a time")
    parser.add_argument("--log", type=Path, default=LOG, help=f"the results (default: {LOG})")
    parser.add_argument("--again", action="store_true", help="run only survivors, not equivalent")
    parser.add_argument("--list", action="store_true", help="print how many there are, run nothing")
    parser.add_argument("--report", action="store_true", help="print the log, run nothing")
    options = parser.parse_args()
    chosen = choose(all_targets(), options)
    if options.list:
        print_counts(chosen)
        return
    log = Log(options.log)
    if not options.report:
        for target, mutants in keep_survivors(chosen, log) if options.again else chosen:
            run_target(target, mutants, log, jobs=options.jobs)
    wanted = {
        (target.name, each.identity(target.file, target.source))
        for target, mutants in chosen
        for each in mutants
    }
    report([log.results[key] for key in log.results if key in wanted])


def choose(
    targets: Iterable[Target], options: argparse.Namespace
) -> list[tuple[Target, list[Mutant]]]:
    """Return the mutants to run, of each target."""
    pairs = [
        (target, each)
        for target in targets
        if not options.target or any(text in target.name for text in options.target)
        for each in target.mutants
        if not options.kind or each.kind in options.kind
    ]
    if options.limit is not None and options.limit < len(pairs):
        drawn = random.Random(options.seed).sample(range(len(pairs)), options.limit)  # noqa: S311 - which ones
        pairs = [pairs[index] for index in sorted(drawn)]
    found: dict[str, tuple[Target, list[Mutant]]] = {}
    for target, each in pairs:
        found.setdefault(target.name, (target, []))[1].append(each)
    return list(found.values())


def keep_survivors(
    chosen: Iterable[tuple[Target, list[Mutant]]], log: Log
) -> list[tuple[Target, list[Mutant]]]:
    """Return the mutants that survived and are not explained as equivalent; the log forgets them.

    Its file keeps the old results until new ones follow them.
    """
    explanations = read_explanations(EXPLANATIONS)
    found = []
    for target, mutants in chosen:
        kept = []
        for each in mutants:
            result = log.results.get((target.name, each.identity(target.file, target.source)))
            if result is None or result.verdict != "survived":
                continue
            explanation = explain(result, explanations)
            if explanation is None or not explanation.is_equivalent:
                kept.append(each)
        found.append((target, kept))
    for target, mutants in found:
        for each in mutants:
            log.results.pop((target.name, each.identity(target.file, target.source)), None)
    return found


def print_counts(chosen: Sequence[tuple[Target, list[Mutant]]]) -> None:
    """Print how many mutants each target has."""
    for target, mutants in chosen:
        kinds = Counter(each.kind for each in mutants)
        print(f"{target.name}: {len(mutants)}", dict(kinds.most_common()))
    print(sum(len(mutants) for _, mutants in chosen))


def run_target(target: Target, mutants: list[Mutant], log: Log, *, jobs: int) -> None:
    """Run the mutants of a target that the log does not have."""
    names = {each.identity(target.file, target.source): each for each in mutants}
    left = [each for name, each in names.items() if (target.name, name) not in log.results]
    if not left:
        return
    print(f"{target.name}: {len(left)} mutants", flush=True)
    shards = [left[index::jobs] for index in range(min(jobs, len(left)))]
    if jobs == 1:  # in the main thread, which Ctrl-C ends at once
        run_shard(target, left, log)
        return
    with ThreadPoolExecutor(len(shards)) as threads:
        list(threads.map(lambda shard: run_shard(target, shard, log), shards))


def run_shard(target: Target, mutants: Sequence[Mutant], log: Log) -> None:
    """Run mutants one after the other, with a server of their own."""
    with (
        tempfile.TemporaryDirectory(prefix="opwright-mutants-") as folder,
        closing(Session(target, Path(folder))) as session,
    ):
        try:
            session.measure_original()
        except BaselineError as error:
            print(f"  not checked: {error}", flush=True)
            return
        for each in mutants:
            log.add(run_mutant(session, each))


def run_mutant(session: Session, mutant: Mutant) -> Result:
    """Run one mutant."""
    target = session.target
    line = mutant.line(target.source)
    source = mutant.apply(target.source)
    verdict, by, seconds = session.examine(mutant.kind, source, line)
    before, after = mutant.lines(target.source)
    print(f"  {verdict} {seconds:.1f} s {mutant.kind} {line}: {after[:90]}  {by[:60]}", flush=True)
    return Result(
        identity=mutant.identity(target.file, target.source),
        target=target.name,
        kind=mutant.kind,
        file=target.file,
        line=line,
        before=before,
        after=after,
        verdict=verdict,
        by=by,
        seconds=round(seconds, 2),
    )


def report(results: Sequence[Result]) -> None:
    """Print the share that was found, of each kind and target, by which row, and the survivors."""
    explanations = read_explanations(EXPLANATIONS)
    console = Console(width=WIDTH)
    console.print(shares("kind", results, explanations, lambda each: each.kind))
    console.print(shares("target", results, explanations, lambda each: each.target))
    rows = Counter(each.by.partition("/")[0] for each in results if each.verdict == "found")
    print("found by:", ", ".join(f"{name} {count}" for name, count in rows.most_common()))
    seconds = sorted(each.seconds for each in results if each.verdict == "found")
    if seconds:
        print(f"a fault is found after {seconds[len(seconds) // 2]:.1f} s (median)")
    for each in sorted(results, key=lambda result: (result.file, result.line)):
        if each.verdict == "survived":
            reason = explain(each, explanations)
            text = "unexplained" if reason is None else label(reason)
            print(f"\n{each.file}:{each.line}: {each.kind} ({each.target}): {text}")
            print(f"  - {each.before}\n  + {each.after}")


def label(explanation: Explanation) -> str:
    """Return an explanation as text."""
    return f"{'equivalent' if explanation.is_equivalent else 'missed'}: {explanation.reason}"


def explain(result: Result, explanations: Iterable[Explanation]) -> Explanation | None:
    """Return the first explanation of a survivor."""
    return next((each for each in explanations if each.fits(result)), None)


def shares(
    title: str,
    results: Sequence[Result],
    explanations: Sequence[Explanation],
    key: Callable[[Result], str],
) -> Table:
    """Return the table of counts for each value of a key, and for all."""
    table = Table(
        title, "mutants", "refused", "equivalent", "found", "survived", "found of the rest"
    )
    groups: dict[str, list[Result]] = {}
    for each in results:
        groups.setdefault(key(each), []).append(each)
    for name in sorted(groups, key=lambda each: -len(groups[each])):
        table.add_row(name, *counts(groups[name], explanations))
    table.add_row("all", *counts(results, explanations), style="bold")
    return table


def counts(results: Sequence[Result], explanations: Sequence[Explanation]) -> tuple[str, ...]:
    """Return the numbers of a row of a table; the last is a share in percent."""
    refused = sum(each.verdict == "refused" for each in results)
    found = sum(each.verdict == "found" for each in results)
    survivors = [explain(each, explanations) for each in results if each.verdict == "survived"]
    equivalent = sum(each is not None and each.is_equivalent for each in survivors)
    rest = found + len(survivors) - equivalent
    share = f"{100 * found / rest:.1f} %" if rest else ""
    numbers = (len(results), refused, equivalent, found, len(survivors) - equivalent)
    return *map(str, numbers), share


if __name__ == "__main__":
    main()
