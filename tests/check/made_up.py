"""A run that is made up, with all that a report can show."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

from opwright.check.finding import Finding, Kind
from opwright.check.outcome import Outcome
from opwright.check.record import CheckedOperator, CheckedRow, KnownFailure, Record
from opwright.kit.declare.sample import sample, tensor

__all__ = ["ROWS", "made_up_run"]

ROWS = tuple(
    CheckedRow(name=name, title=title, columns=tuple(columns.split()) or ("eager",))
    for name, title, columns in (
        ("schema", "the schema is well-formed and compatible with the last released one", ""),
        ("registration", "every dispatch key has what it needs", ""),
        ("mutation", "what is written is what the schema says", ""),
        ("aliasing", "results share memory as the schema says", ""),
        ("numerics", "results are those of the reference", ""),
        ("layouts", "strides and offsets change nothing", ""),
        ("edges", "empty, 0-d and broadcast inputs", ""),
        ("meta", "Meta says what the kernel returns", "meta fake"),
        ("symbolic", "no size is specialised", "fake"),
        ("functionalization", "functionalized equals eager", ""),
        ("compiled", "compiled equals eager", "aot_eager reduce-overhead max-autotune npugraph_ex"),
        ("export", "export and load give the same", ""),
        ("graph_breaks", "no graph breaks, no recompiles", ""),
        ("gradients", "gradients are those of the reference", "gradcheck device"),
        ("vmap", "vmap equals a loop", ""),
        ("autocast", "autocast does as declared", ""),
        ("determinism", "equal calls, equal bits", ""),
        ("serialization", "a saved program gives the same", ""),
        ("errors", "what must be refused is refused alike", "kernel meta"),
        ("converter", "the converter fits schema and prototype", ""),
        ("concurrency", "two streams and eight threads", "streams threads"),
        ("leaks", "1,000 calls leave nothing behind", ""),
        ("bounds", "no access outside of the arguments", ""),
        ("cost", "a call costs what the declaration allows", ""),
    )
)
WRONG = Kind("wrong-values", "the operator computes something else than the reference", "mend it")
GRAPH = "graph():\n    %x : [num_users=1] = placeholder[target=x]\n    return (x,)\n" * 4


def made_up_run(operators: int, *, seed: int = 0) -> Record:
    """Return a run of this many operators, with a failure here and there."""
    chance = random.Random(seed)  # noqa: S311 - which cells fail
    names = [f"my_ops::operator_{number:03}" for number in range(operators)]
    outcomes = tuple(
        made_up_cell(name, row.name, column, chance)
        for name in names
        for row in ROWS
        for column in row.columns
    )
    failing = [each for each in outcomes if each.status == "failed"]
    known = tuple(
        KnownFailure(
            operator=each.operator,
            row=each.row,
            column=each.column,
            kind="wrong-values",
            reason="rounds to zero until CANN 9",
            issue="https://example.org/issues/17",
        )
        for each in failing[::4]
    )
    return Record(
        target="operators.py",
        versions={"opwright": "0.1", "torch": "2.13.0+cpu", "torch_npu": "2.13.0"},
        seed=seed,
        seconds=12.25,
        operators=tuple(
            CheckedOperator(
                name=name,
                schema=f"{name[8:]}(Tensor x, Tensor? bias=None, *, float eps=1e-6) -> Tensor",
                place=f"{Path(__file__)}:12",
            )
            for name in names
        ),
        rows=ROWS,
        outcomes=outcomes,
        known=known,
        unexpected=("check.toml:3: my_ops::old numerics: is known to fail, but passes",),
    )


def made_up_cell(operator: str, row: str, column: str, chance: random.Random) -> Outcome:
    """Return a cell."""
    drawn = chance.random()
    cell = Outcome(operator=operator, row=row, column=column, status="passed")
    samples = ("sample(x=tensor(2, 3, dtype='float16'))", "sample(x=tensor(0, 3))")
    if drawn < 0.1:
        return replace(cell, status="not applicable", reason="the operator has no backward")
    if drawn < 0.105:
        reason = "signal SIGSEGV\nin sample(x=tensor(2, 3))\nscale.cpp:17 in scale_kernel"
        return replace(cell, status="crashed", reason=reason, seconds=0.5)
    if drawn < 0.11:
        return replace(cell, status="hung", reason="it was not done within 120 s")
    if drawn < 0.13:
        return replace(
            cell,
            status="failed",
            samples=samples,
            calls=3,
            seconds=0.25,
            findings=(
                Finding(
                    kind=WRONG,
                    expected="out of the reference",
                    got="6 of 6 elements differ, the greatest absolute difference is 0.5 at (0, 1)",
                    place=f"{Path(__file__)}:16",
                    fix="correct the kernel or the reference",
                    sample=sample(x=tensor(2, 3, dtype="float16", layout="sliced"), eps=1e-6),
                    script=("out = operator(**arguments('npu'))", "assert out.sum() == 0"),
                    trace='Traceback (most recent call last):\n  File "x.py", line 3, in f\n',
                ),
            ),
        )
    details = {"graph": GRAPH, "timings": "compile 1.2 s"} if row == "compiled" else {}
    return replace(cell, samples=samples, calls=40, seconds=0.125, details=details)
