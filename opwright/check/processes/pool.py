"""Cells -> outcomes, in several workers at a time.

An operator's cells are examined in order, in one worker; cells that need a process of another kind
in one of that kind. A worker that is lost costs its cell; the next cell has a new worker.
"""

from __future__ import annotations

import contextlib
import dataclasses
import selectors
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from opwright.check.as_json import outcome_from_json
from opwright.check.errors import ImportFailedError, LoadEndedError, NotRunError, OperatorEndedError
from opwright.check.outcome import Outcome
from opwright.check.processes.channel import BrokenChannelError
from opwright.check.processes.client import Server, WorkerProcess
from opwright.check.processes.ended import LOST_SERVER, describe_exit, is_out_of_time
from opwright.check.processes.limits import MOST_PROCESSES, Family, limit_processor_time
from opwright.check.processes.lost import (
    Cell,
    Traces,
    is_at,
    judge_lost,
    last_line,
    names_in,
    where,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from opwright.check.outcome import Status
    from opwright.check.processes.channel import Message
    from opwright.check.request import Request

__all__ = ["Finished", "Limits", "Pool", "RefusedError", "Started"]

TICK = 0.05  # seconds between looks at time and memory
LOADING = 120.0  # seconds for loading a target, at least: kernels may be compiled
STACK_TIME = 20.0  # seconds for a process that hangs to print its stacks,
GROWING_STACK_TIME = 2.0  # and for one that goes on to take memory or to start others
MOST_LOST = 4  # workers that one operator may cost
MOST_HUNG = 2
GIB = 1 << 30
Phase: TypeAlias = Literal["idle", "waiting", "loading", "running"]


class RefusedError(Exception):
    """The target cannot be loaded; the text is for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of a cell.

    Parameters
    ----------
    seconds
        Of wall-clock time.
    memory
        Bytes by which its process may grow.
    """

    seconds: float
    memory: int


@dataclass(frozen=True, slots=True)
class Started:
    """A cell is being examined."""

    cell: Cell


@dataclass(frozen=True, slots=True)
class Finished:
    """A cell has an outcome."""

    cell: Cell
    outcome: Outcome


@dataclass
class Slot:
    """One operator at a time, with the workers that it needs."""

    cells: deque[Cell] = field(default_factory=deque)
    workers: dict[str, WorkerProcess] = field(default_factory=dict)
    phase: Phase = "idle"
    since: float = 0.0
    family: Family | None = None
    lost: int = 0
    hung: int = 0
    again: Cell | None = None  # is examined a second time

    @property
    def worker(self) -> WorkerProcess | None:
        """The worker of the cell that is next."""
        return self.workers.get(self.cells[0].process if self.cells else "plain")

    def enter(self, phase: Phase, seconds: float) -> None:
        """Begin a phase of so many seconds: time and memory count from now."""
        assert self.worker is not None
        self.phase = phase
        self.since = time.monotonic()
        self.family = Family(self.worker.pid)
        limit_processor_time(self.worker.pid, seconds)


class Pool:
    """Workers and what they do.

    Parameters
    ----------
    server
        The process that workers are forked from; it is ready.
    """

    def __init__(self, server: Server, request: Request, limits: Limits) -> None:
        self.server = server
        self.request = request
        self.limits = limits
        self.facts: dict[str, Any] = {}
        self.first = Slot()

    def load(self) -> dict[str, Any]:
        """Load the target in a first worker; return what it is.

        Raises
        ------
        LoadEndedError
            OPW-C005.
        RefusedError
            It is not to be loaded.
        """
        self.start_worker(self.first, "plain")
        while self.first.phase != "idle":
            self.wait([self.first])
            list(self.attend(self.first))
        return self.facts

    def applies(self) -> list[list[str | None]]:
        """Return operator, row, and why the row does not apply to it.

        Raises
        ------
        OperatorEndedError
            OPW-C013.
        """
        worker = self.first.workers["plain"]
        answer = None
        with contextlib.suppress(OSError, BrokenChannelError):
            worker.channel.send({"applies": True})
            answer = worker.channel.receive()
        if answer is None:
            worker.kill()
            status = self.server.wait_for(worker)
            parts = (describe_exit(status), where(worker.stack_text()))
            raise OperatorEndedError(
                where=names_in(worker.note.read()) or self.request.target,
                got="\n".join(filter(None, parts)),
            )
        found: list[list[str | None]] = answer["applies"]
        return found

    def run(
        self, operators: Sequence[Sequence[Cell]], workers: int
    ) -> Iterator[Started | Finished]:
        """Examine the cells of each operator; `load` came before.

        Raises
        ------
        NotRunError
            OPW-C014.
        """
        missing = {cell: None for cells in operators for cell in cells}
        try:
            for event in self.events(operators, workers):
                if isinstance(event, Finished):
                    missing.pop(event.cell, None)
                yield event
        except Exception:
            self.first = Slot()  # another run may come, as under pytest
            raise
        if missing:
            cell = next(iter(missing))
            name = f"{cell.operator}, row {cell.row}, column {cell.column}"
            raise NotRunError(where=name, got=f"{len(missing)} cells have no outcome")

    def events(
        self, operators: Sequence[Sequence[Cell]], workers: int
    ) -> Iterator[Started | Finished]:
        """Give slots their cells until there are none."""
        queue = deque(operators)
        slots = [self.first, *(Slot() for _ in range(workers - 1))]
        while True:
            for slot in slots:
                if slot.phase == "idle":
                    yield from self.next(slot, queue)
            busy = [slot for slot in slots if slot.phase != "idle"]
            if not busy:
                return
            self.wait(busy)
            for slot in busy:
                yield from self.attend(slot)

    def next(self, slot: Slot, queue: deque[Sequence[Cell]]) -> Iterator[Started | Finished]:
        """Give an idle slot its next cell."""
        if slot.cells and (slot.lost >= MOST_LOST or slot.hung >= MOST_HUNG):
            yield from give_up(slot)
        if not slot.cells:
            if not queue:
                return
            slot.cells.extend(queue.popleft())
            slot.lost = slot.hung = 0
        cell = slot.cells[0]
        if slot.worker is None:
            self.start_worker(slot, cell.process)
        else:
            yield from self.send_cell(slot)

    def start_worker(self, slot: Slot, kind: str) -> None:
        """Fork a worker and have it load the target."""
        if self.server.facts is None:
            slot.phase = "waiting"
            return
        slot.workers[kind] = worker = self.server.fork(kind)
        slot.enter("loading", self.timeout_for("loading"))
        with contextlib.suppress(OSError):  # it is gone, which `attend` sees
            worker.channel.send({"load": self.request.as_json()})

    def send_cell(self, slot: Slot) -> Iterator[Started | Finished]:
        """Have the worker examine the cell, or a new one if it is gone."""
        worker = slot.worker
        assert worker is not None
        cell = slot.cells[0]
        worker.read_output()
        worker.printed.take()
        slot.enter("running", self.timeout_for("running"))
        try:
            worker.channel.send({"cell": [cell.operator, cell.row, cell.column]})
        except OSError:
            slot.lost += 1
            self.drop(slot, worker)
            if slot.lost < MOST_LOST:
                self.start_worker(slot, cell.process)
            else:
                yield from give_up(slot)
            return
        yield Started(cell)

    def wait(self, slots: Iterable[Slot]) -> None:
        """Wait until something happened, or a tick; take what was printed."""
        workers = [slot.worker for slot in slots if slot.worker is not None]
        with selectors.DefaultSelector() as poll:
            poll.register(self.server.control, selectors.EVENT_READ, self.server)
            for each in workers:
                poll.register(each.channel.end, selectors.EVENT_READ)
                poll.register(each.output, selectors.EVENT_READ, each)
            for key, _ in poll.select(TICK):
                match key.data:
                    case Server():
                        key.data.receive()
                    case WorkerProcess():
                        key.data.read_output()

    def attend(self, slot: Slot) -> Iterator[Started | Finished]:
        """See what became of a slot's cell, or of its loading."""
        if slot.phase == "waiting":
            self.start_worker(slot, slot.cells[0].process)
            return
        worker = slot.worker
        assert worker is not None
        ended = self.server.ended
        is_gone = worker.number in ended  # asked first: what it sent is there then
        try:
            messages = worker.channel.arrived()
        except BrokenChannelError as error:
            how = f"something was written to the descriptors of the process: {error}"
            yield from self.lose(slot, "crashed", how)
            return
        for message in messages:
            yield from self.answered(slot, message)
        if slot.phase == "idle" or slot.worker is not worker:
            return
        if is_gone:
            yield from self.lose(slot, *self.exit_reason(slot, ended[worker.number]))
        elif (over := self.over_limits(slot)) is not None:
            status, how = over
            seconds = STACK_TIME if status == "hung" else GROWING_STACK_TIME
            yield from self.lose(slot, status, how, stacks=worker.ask_for_stacks(seconds))

    def exit_reason(self, slot: Slot, status: int) -> tuple[Status, str]:
        """Return what became of a cell whose process has ended."""
        if is_out_of_time(status):
            return "hung", self.late(slot)
        return "crashed", describe_exit(status)

    def late(self, slot: Slot) -> str:
        """Say that a cell had its time."""
        return f"it was not done within {self.timeout_for(slot.phase):g} s"

    def over_limits(self, slot: Slot) -> tuple[Status, str] | None:
        """Return what a cell takes too much of."""
        if time.monotonic() - slot.since > self.timeout_for(slot.phase):
            return "hung", self.late(slot)
        assert slot.family is not None
        grown = slot.family.grown()
        if grown > self.limits.memory:
            sizes = f"{grown / GIB:.1f} GiB, over {self.limits.memory / GIB:g} GiB"
            return "out of memory", f"its process grew by {sizes}"
        if slot.family.size > MOST_PROCESSES:
            return "crashed", f"it started more than {MOST_PROCESSES} processes"
        return None

    def timeout_for(self, phase: Phase) -> float:
        """Return the seconds for a phase."""
        return max(self.limits.seconds, LOADING) if phase == "loading" else self.limits.seconds

    def answered(self, slot: Slot, message: Message) -> Iterator[Started | Finished]:
        """Take an answer of a worker."""
        match message:
            case {"refused": text}:
                raise RefusedError(text)
            case {"raised": text, "place": place}:
                raise ImportFailedError(where=f"{self.request.target}, {place}", got=text)
            case {"loaded": facts, "seconds": seconds}:
                self.facts = {**facts, "seconds": seconds}
                if slot.cells:
                    yield from self.send_cell(slot)
                else:
                    slot.phase = "idle"
            case {"outcome": document, "retire": retire}:
                yield from self.finish(slot, document, retire)

    def finish(
        self, slot: Slot, document: dict[str, Any], retire: str | None
    ) -> Iterator[Finished]:
        """Take the outcome of a cell."""
        worker = slot.worker
        assert worker is not None
        worker.read_output()
        printed = worker.printed.take()
        outcome = outcome_from_json(document)
        extra = {}
        if printed.strip() and outcome.status not in {"passed", "not applicable"}:
            extra["output"] = printed
        if retire is not None:
            extra["process"] = f"replaced after this cell: {retire}"
            self.drop(slot, worker)
        cell = slot.cells.popleft()
        slot.phase = "idle"
        yield Finished(cell, dataclasses.replace(outcome, details={**outcome.details, **extra}))

    def lose(self, slot: Slot, status: Status, how: str, *, stacks: str = "") -> Iterator[Finished]:
        """Give up a worker, and the cell that it was at."""
        worker = slot.worker
        assert worker is not None
        seconds = time.monotonic() - slot.since
        worker.kill()
        ended = self.server.wait_for(worker)
        worker.read_output()
        stacks = stacks or worker.stack_text()
        if ended == LOST_SERVER and slot.cells and not self.is_second_time(slot):
            slot.lost += 1
            self.drop(slot, worker)
            return
        if slot.phase == "loading":
            text = "\n".join(filter(None, [how, where(stacks), last_line(worker.printed.text())]))
            raise LoadEndedError(where=self.request.target, got=text)
        cell = slot.cells[0]
        if is_at(worker.note.read(), cell):
            slot.cells.popleft()
            slot.lost += 1
            slot.hung += status == "hung"
            traces = Traces(note=worker.note.read(), printed=worker.printed.take(), stacks=stacks)
            outcome = judge_lost(cell, status, how, traces, seconds=seconds)
            self.drop(slot, worker)
            yield Finished(cell, outcome)
        else:  # it ended before it began: what the cell before left behind
            slot.lost += 1
            self.drop(slot, worker)

    def is_second_time(self, slot: Slot) -> bool:
        """Return whether the cell lost its parent before: the first time, others may do that."""
        if slot.phase == "loading":
            return False
        cell = slot.cells[0]
        before, slot.again = slot.again, cell
        return before == cell

    def drop(self, slot: Slot, worker: WorkerProcess) -> None:
        """Let go of a worker of the slot; the next cell of its kind has a new one."""
        del slot.workers[worker.kind]
        self.server.forget(worker)
        slot.phase = "idle"


def give_up(slot: Slot) -> Iterator[Finished]:
    """Yield the outcomes of cells that are left out, since they would cost a worker each."""
    many = f"{slot.hung} hung" if slot.hung >= MOST_HUNG else f"{slot.lost} ended the process"
    reason = f"not run: of the cells before it, {many}"
    while slot.cells:
        cell = slot.cells.popleft()
        yield Finished(
            cell,
            Outcome(
                operator=cell.operator,
                row=cell.row,
                column=cell.column,
                status="blocked",
                reason=reason,
            ),
        )
