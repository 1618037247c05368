"""Processes that are lost: each cell still has an outcome. No torch: threads stand for workers."""

from __future__ import annotations

import json
import os
import socket
import threading
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from opwright.check.as_json import outcome_as_json
from opwright.check.errors import NotRunError, OperatorEndedError
from opwright.check.outcome import Outcome
from opwright.check.processes.channel import Channel
from opwright.check.processes.ended import LOST_SERVER, describe_exit
from opwright.check.processes.lost import Cell, mark, names_in
from opwright.check.processes.pool import MOST_LOST, Finished, Limits, Pool
from opwright.check.request import Request
from tests.check.commands import check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from opwright.check.processes.client import Server

EXITED = 3 << 8
LIMITS = Limits(seconds=20.0, memory=4 << 30)


class FakeWorker:
    """A thread that answers as a worker does, until it meets a cell that ends it."""

    def __init__(self, number: int, kind: str, server: FakeServer) -> None:
        self.number = number
        self.kind = kind
        self.pid = 1 << 30  # of no process
        ours, theirs = socket.socketpair()
        self.channel = Channel(ours)
        self.theirs = Channel(theirs)
        self.server = server
        self.output = ours.dup().detach()
        self.text = ""
        self.note = SimpleNamespace(read=lambda: self.text)
        self.printed = SimpleNamespace(take=str, text=str)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self) -> None:
        with suppress(OSError):
            while (order := self.theirs.receive()) is not None and self.answer(order):
                pass
        self.theirs.close()

    def answer(self, order: dict[str, Any]) -> bool:
        match order:
            case {"cell": [operator, row, column]}:
                self.text = mark(operator, row, column)
                if self.server.ends(self, operator):
                    return False
                done = Outcome(operator=operator, row=row, column=column, status="passed")
                self.theirs.send({"outcome": outcome_as_json(done), "retire": None})
                return not self.server.ends_after(self, operator)
            case {"load": _}:
                self.theirs.send({"loaded": {}, "seconds": 0.0})
                return True
        self.text = mark("of::a", "bounds", "")
        return False

    def read_output(self) -> None: ...

    def stack_text(self) -> str:
        return ""

    def kill(self) -> None:
        with suppress(OSError):
            self.channel.end.shutdown(socket.SHUT_RDWR)

    def finish(self) -> None:
        self.kill()
        self.thread.join(10)
        self.channel.close()
        if self.output >= 0:
            os.close(self.output)
        self.output = -1


SERVERS: list[FakeServer] = []


@pytest.fixture(autouse=True)
def closed_servers() -> Iterator[None]:
    """Close what a test made."""
    yield
    while SERVERS:
        SERVERS.pop().close()


class FakeServer:
    """Makes workers; what ends them is the test's choice."""

    def __init__(
        self,
        ends: Callable[[FakeWorker, str], bool],
        ends_after: Callable[[FakeWorker, str], bool] = lambda *_: False,
        status: int = EXITED,
    ) -> None:
        self.ends = ends
        self.ends_after = ends_after
        self.status = status
        self.facts = object()
        self.control, self.other = socket.socketpair()
        self.all: list[FakeWorker] = []
        self.forgotten: list[int] = []
        SERVERS.append(self)

    def close(self) -> None:
        for each in self.all:
            each.finish()
        self.control.close()
        self.other.close()

    @property
    def ended(self) -> dict[int, int]:
        return {each.number: self.status for each in self.all if not each.thread.is_alive()}

    def fork(self, kind: str) -> FakeWorker:
        worker = FakeWorker(len(self.all) + 1, kind, self)
        self.all.append(worker)
        return worker

    def wait_for(self, worker: FakeWorker) -> int:
        worker.thread.join(10)
        return self.status

    def forget(self, worker: FakeWorker) -> None:
        worker.finish()
        self.forgotten.append(worker.number)

    def receive(self) -> None: ...


def cells_of(operator: str) -> list[Cell]:
    """Return cells that change the kind of their process."""
    kinds = {"schema": "plain", "bounds": "guarded", "numerics": "plain", "leaks": "plain"}
    return [
        Cell(operator=operator, row=row, column="eager", process=kind)
        for row, kind in kinds.items()
    ]


def statuses(pool: Pool, *operators: str) -> dict[str, list[str]]:
    """Return the statuses of the operators' cells."""
    found: dict[str, list[str]] = {each: [] for each in operators}
    for event in pool.run([cells_of(each) for each in operators], 1):
        if isinstance(event, Finished):
            found[event.cell.operator].append(event.outcome.status)
    return found


def never(*_: object) -> bool:
    return False


def pool_of(server: FakeServer) -> Pool:
    """Return a pool that has loaded its target."""
    pool = Pool(cast("Server", server), Request(target="fake.py"), LIMITS)
    pool.load()
    return pool


def test_the_worker_that_is_lost_is_let_go_and_not_that_of_the_next_cell() -> None:
    server = FakeServer(lambda worker, operator: (worker.kind, operator) == ("guarded", "of::b"))
    found = statuses(pool_of(server), "of::a", "of::b", "of::c")
    sound = ["passed"] * 4
    assert found == {
        "of::a": sound,
        "of::b": ["passed", "crashed", "passed", "passed"],
        "of::c": sound,
    }
    assert [server.all[number - 1].kind for number in server.forgotten] == ["guarded"]


def test_a_worker_that_is_gone_before_its_cell_is_replaced() -> None:
    server = FakeServer(never, ends_after=lambda worker, _: worker.number == 1)
    found = statuses(pool_of(server), "of::a", "of::b")
    assert found == {"of::a": ["passed"] * 4, "of::b": ["passed"] * 4}
    assert server.forgotten == [1]


def test_workers_that_always_end_cost_their_operator_not_the_run() -> None:
    server = FakeServer(lambda worker, operator: (worker.kind, operator) == ("plain", "of::a"))
    found = statuses(pool_of(server), "of::a", "of::b")
    assert found["of::a"] == ["crashed", "passed", "crashed", "crashed"]
    assert found["of::b"] == ["passed"] * 4
    assert len(server.forgotten) < MOST_LOST


def test_what_lost_its_parent_is_examined_again() -> None:
    once = FakeServer(lambda worker, _: worker.number == 1, status=LOST_SERVER)
    found = statuses(pool_of(once), "of::a")
    assert found == {"of::a": ["passed"] * 4}
    always = FakeServer(
        lambda worker, operator: (worker.kind, operator) == ("plain", "of::a"), status=LOST_SERVER
    )
    found = statuses(pool_of(always), "of::a", "of::b")
    assert found["of::a"][0] == "crashed"
    assert len(found["of::a"]) == len(found["of::b"]) == 4
    assert "parent" in describe_exit(LOST_SERVER)


def test_a_run_without_all_outcomes_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = pool_of(FakeServer(never))
    monkeypatch.setattr(pool, "events", lambda *_: iter(()))
    with pytest.raises(NotRunError, match=r"of::a, row schema, column eager"):
        statuses(pool, "of::a")


def test_a_worker_that_ends_when_it_is_asked_what_applies_is_reported() -> None:
    pool = pool_of(FakeServer(never))
    with pytest.raises(OperatorEndedError, match=r"of::a, row bounds") as raised:
        pool.applies()
    assert "code 3" in str(raised.value)
    assert names_in("") == ""


KILLER = (Path(__file__).parent / "ending" / "killer.py").read_text(encoding="utf-8")


@pytest.mark.twin
def test_a_parent_that_is_killed_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "killer.py"
    file.write_text(KILLER, encoding="utf-8")
    result = tmp_path / "run.json"
    done = check(str(file), "--row", "numerics/eager", "-n", "2", "--json", str(result))
    assert done.returncode == 1, done.stdout + done.stderr
    outcomes = json.loads(result.read_text(encoding="utf-8"))["outcomes"]
    found = {each["operator"]: each["status"] for each in outcomes}
    assert found["pool_killer::kills"] == "crashed"
    assert set(found) == {"pool_killer::kills", "pool_killer::sound"}


@pytest.mark.twin
def test_kernels_are_collected_once_for_both_kinds_of_workers(tmp_path: Path) -> None:
    file = tmp_path / "operators.py"
    file.write_text(KILLER.replace("end(os.getppid())", "pass"), "utf-8")
    done = check(str(file), "--kernels", str(file), "--row", "bounds", "--op", "sound")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.twin
def test_two_sets_of_one_namespace_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "two.py"
    file.write_text(KILLER + '\nmore = ow.OperatorSet("pool_killer")\n', encoding="utf-8")
    done = check(str(file), "--row", "schema")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "OPW-P004" in done.stderr
    assert "2 operator sets with the namespace 'pool_killer'" in done.stderr
