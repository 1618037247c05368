"""How many programs of legacy operators a process keeps: native/op_compiler/legacy_engine.cpp."""

from __future__ import annotations

from opwright.graph_engine import legacy_bridge
from tests.twin import acl
from tests.twin.legacy.test_views import OK, Operands, buffer, call, describe

MOST = 4096


def negate(source: int, target: int, count: int) -> None:
    sides = []
    for address in (source, target):
        side = Operands()
        side.descriptors.append(describe(acl.FLOAT, [count]))
        side.buffers.append(buffer(address, 4 * count))
        sides.append(side)
    assert call("Neg", sides[0], sides[1]) == OK, acl.ascendcl.aclGetRecentErrMsg()


def test_what_was_not_used_for_long_is_forgotten() -> None:
    """Sequences of all lengths do not fill the memory; what is forgotten is made again."""
    assert acl.ascendcl.aclrtSetDevice(0) == OK
    source, target = acl.malloc(4 * 2 * MOST), acl.malloc(4 * 2 * MOST)
    for count in range(1, MOST + 100):
        negate(source, target, count)
    negate(source, target, 1)
    assert acl.ascendcl.aclrtSynchronizeDevice() == OK
    assert len(legacy_bridge.operators) == MOST
    acl.free(source)
    acl.free(target)
