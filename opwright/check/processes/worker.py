"""The process that examines: it loads the target once and serves many operators.

Orders are {"load": request}, {"cell": [operator, row, column]}, {"applies": true}; each has one
answer. What user code prints goes to a pipe, stacks of a crash to a memory file, and the sample in
progress to the note; the command has the other ends.
"""

from __future__ import annotations

import faulthandler
import fcntl
import gc
import json
import os
import signal
import socket
import sys
import tempfile
import time
import traceback
from typing import TYPE_CHECKING, Any

from hypothesis.configuration import set_hypothesis_home_dir

from opwright.check.as_json import outcome_as_json, sample_as_json
from opwright.check.examine import examine_cell
from opwright.check.processes.channel import Channel, Message
from opwright.check.processes.clean import Clean, identity
from opwright.check.processes.ended import LOST_CHANNEL
from opwright.check.processes.lost import Cell, Traces, judge_lost, mark, stack_of
from opwright.check.processes.note import Note
from opwright.check.processes.system import OWN_FOLDER, STACK_SIGNAL
from opwright.check.record import list_checked_operators
from opwright.check.request import Request
from opwright.check.rows import ROWS, row
from opwright.check.samples import Samples
from opwright.check.target import Target, read_target
from opwright.errors import OpwrightError
from opwright.internals import modules

if TYPE_CHECKING:
    from opwright.check.processes.system import Descriptors
    from opwright.check.subject import Subject
    from opwright.kit.declare.sample import Sample

__all__ = ["work"]


def work(descriptors: Descriptors) -> None:
    """Do what the command says until it has enough."""
    own = os.open(tempfile.mkdtemp(), os.O_PATH)
    os.dup2(own, OWN_FOLDER)
    os.close(own)
    set_hypothesis_home_dir(f"/proc/self/fd/{OWN_FOLDER}/hypothesis")  # not the user's folder
    take_streams(descriptors.output)
    stacks = out_of_the_way(descriptors.stacks)
    faulthandler.enable(stacks)
    faulthandler.register(STACK_SIGNAL, stacks)
    faulthandler.register(signal.SIGXCPU, stacks, chain=True)  # see limit_processor_time
    note = Note(descriptors.note)
    os.close(descriptors.note)
    Worker(out_of_the_way(descriptors.channel), note).serve()


def take_streams(output: int) -> None:
    """Read nothing, and write to the command what is printed, in lines."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    os.close(nothing)
    os.close(output)
    sys.stdout = open(1, "w", buffering=1, closefd=False, errors="replace")  # noqa: SIM115 - as long as the process
    sys.stderr = open(2, "w", buffering=1, closefd=False, errors="replace")  # noqa: SIM115


def out_of_the_way(descriptor: int) -> int:
    """Move a descriptor to where user code does not close it by mistake."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, OWN_FOLDER + 1)
    os.close(descriptor)
    return moved


class Worker:
    """The loaded target, and the connection to the command."""

    def __init__(self, channel: int, note: Note) -> None:
        self.process = os.getpid()
        self.descriptor = channel
        self.identity = identity(channel)
        self.channel = Channel(socket.socket(fileno=channel))
        self.note = note
        self.subjects: dict[str, Subject] = {}
        self.samples: Samples | None = None
        self.seed = 0
        self.is_quick = False
        self.clean: Clean | None = None

    def serve(self) -> None:
        """Answer orders until there are none."""
        while (order := self.channel.receive()) is not None:
            match order:
                case {"load": request}:
                    self.send(self.load(Request.from_json(request)))
                case {"cell": [operator, row_name, column]}:
                    self.send(self.cell(operator, row_name, column))
                case {"applies": _}:
                    self.send({"applies": self.applies()})

    def send(self, message: Message) -> None:
        """Answer, if this is still the worker, and connected to the command."""
        if os.getpid() != self.process:  # user code forked, and the child came here
            os._exit(0)
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and not stream.closed:
                stream.flush()
        if identity(self.descriptor) != self.identity:
            os._exit(LOST_CHANNEL)
        self.channel.send(message)

    def load(self, request: Request) -> Message:
        """Load the target."""
        self.seed, self.is_quick = request.seed, request.quick
        sys.path.insert(0, os.getcwd())  # noqa: PTH109 - as Python does for -m
        start = time.perf_counter()
        try:
            target = read_target(request)
        except OpwrightError as error:
            return {"refused": str(error)}
        except BaseException as error:  # noqa: BLE001 - of user code, which runs here
            last = traceback.extract_tb(error.__traceback__)[-1]
            text = f"{type(error).__name__}: {error}"
            return {"raised": text, "place": f"{last.filename}:{last.lineno}"}
        self.subjects = {each.name: each for each in target.subjects}
        self.clean = Clean(self.descriptor, OWN_FOLDER, seed=self.seed)
        return {"loaded": facts_of(target), "seconds": time.perf_counter() - start}

    def applies(self) -> list[list[str | None]]:
        """Return operator, row, and why the row does not apply."""
        found: list[list[str | None]] = []
        for name, subject in self.subjects.items():
            for each in ROWS:
                self.note.write(mark(name, each.name, ""))
                found.append([name, each.name, each.needs(subject)])
        return found

    def cell(self, operator: str, row_name: str, column: str) -> Message:
        """Examine a cell and clean up behind it."""
        assert self.clean is not None
        place = mark(operator, row_name, column)
        self.note.write(place)

        def watch(sample: Sample) -> None:
            self.note.write(place + json.dumps(sample_as_json(sample)))

        subject = self.subjects[operator]
        if self.samples is None or self.samples.subject is not subject:
            forget()
            self.samples = Samples(subject, seed=self.seed, is_quick=self.is_quick)
        start = time.perf_counter()
        try:
            outcome = examine_cell(
                subject, row(row_name), column, samples=self.samples, watch=watch
            )
        except BaseException as error:  # noqa: BLE001 - SystemExit and the like, out of user code
            seconds = time.perf_counter() - start
            cell = Cell(operator=operator, row=row_name, column=column, place=subject.place)
            how = f"{type(error).__name__}({error}) was raised, which ends a program"
            traces = Traces(note=self.note.read(), printed="", stacks=stack_of(error))
            outcome = judge_lost(cell, "crashed", how, traces, seconds=seconds)
        if os.getpid() != self.process:
            os._exit(0)
        retire = self.clean.restore()
        return {"outcome": outcome_as_json(outcome), "retire": retire}


def forget() -> None:
    """Free what torch keeps of the operator before."""
    dynamo = sys.modules.get(modules.DYNAMO)
    if dynamo is not None:
        dynamo.reset()
    gc.collect()


def facts_of(target: Target) -> dict[str, Any]:
    """Return what the command wants to know of the target."""
    return {
        "operators": [
            {"name": each.name, "schema": each.schema, "place": each.place}
            for each in list_checked_operators(target.subjects)
        ],
        "unreadable": [list(each) for each in target.unreadable],
    }
