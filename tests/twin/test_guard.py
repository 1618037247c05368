"""Guarded memory as a program sees it: `opwright run --guard`."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import opwright as ow
import opwright.twin  # before torch_npu

import torch  # isort: skip
import torch_npu  # isort: skip

from opwright.twin import guard
from opwright.twin.guard import PlainFault
from tests.twin import on_twin

if TYPE_CHECKING:
    from collections.abc import Callable

    Operator = Callable[[torch.Tensor], torch.Tensor]

pytestmark = pytest.mark.twin

NATIVE = Path(__file__).parents[2] / "native/runtime/memory/guard"

guarded = pytest.mark.isolated(OPWRIGHT_GUARD="1")


def twice(x: torch.Tensor) -> torch.Tensor:
    """Return double the values, as each operator of these tests does on an NPU without faults."""
    return x * 2


def load_operators(*names: str) -> list[Operator]:
    """Register operators of these names, each of which doubles its operand."""
    ops = ow.OperatorSet("guarded_ops")
    made = [ops.operator(f"{name}(Tensor x) -> Tensor", samples=[])(twice) for name in names]
    ops.load()
    return [*made]


def check_twice(operator: Operator, x: torch.Tensor) -> None:
    torch.testing.assert_close(operator(x).cpu(), torch.full((3,), 2.0))


def three_ones() -> torch.Tensor:
    """Return a view: behind it lies an element that is not its own."""
    return torch.ones(4).to("npu")[:3]


@guarded
def test_a_task_that_leaves_its_operands_fails_and_tells_where() -> None:
    @opwright.twin.kernel("aclnnPeek(const aclTensor *x, aclTensor *out)")
    def peek_kernel(x: torch.Tensor, out: torch.Tensor) -> None:
        # A wrong stride reaches the elements behind those of the view.
        ctypes.c_float.from_address(x.data_ptr() + 4 * x.numel()).value  # noqa: B018 - it is read
        out.copy_(x * 2)

    peek, sound = load_operators("peek", "sound")
    x = three_ones()
    check_twice(sound, x)
    y = peek(x)
    with pytest.raises(RuntimeError, match=r"aclnnPeek: it read just behind the end of x \(12 by"):
        torch_npu.npu.synchronize()
    torch.testing.assert_close(y.cpu(), torch.full((3,), 2.0))
    (fault,) = guard.take_faults()
    assert (fault.what, fault.access, fault.offset, fault.size) == ("outside", "read", 12, 12)
    assert (fault.function, fault.operand) == ("aclnnPeek", "x")
    assert not guard.take_faults()
    check_twice(sound, x)


@guarded
def test_a_task_that_reads_an_operand_of_an_earlier_call_fails() -> None:
    kept: list[torch.Tensor] = []

    @opwright.twin.kernel("aclnnKeep(const aclTensor *x, aclTensor *out)")
    def keep_kernel(x: torch.Tensor, out: torch.Tensor) -> None:
        out.copy_(x + kept[0].sum() if kept else x)
        kept.append(x)

    keep, sound = load_operators("keep", "sound")
    x = three_ones()
    keep(x)
    torch_npu.npu.synchronize()
    keep(x)
    reason = "memory that it was not given, where x of an earlier call of aclnnKeep was"
    with pytest.raises(RuntimeError, match=reason):
        torch_npu.npu.synchronize()
    (fault,) = guard.take_faults()
    assert (fault.what, fault.offset, fault.size) == ("stale", 0, 12)
    check_twice(sound, x)


@guarded
def test_modes_are_changed_while_a_program_runs() -> None:
    assert guard.is_guarded()
    words = []
    for mode in guard.MODES:
        guard.set_mode(mode)
        torch_npu.npu.empty_cache()
        word = torch.empty(1, dtype=torch.int16, device="npu").item()
        words.append(int(word) & 0xFFFF)
    assert words == [0xFFF5, 0x412B]


@guarded
def test_modes_and_memory_that_there_are_not_are_refused() -> None:
    torch.ones(1).to("npu")
    with pytest.raises(guard.GuardModeError) as mode:
        guard.set_mode(3)
    assert mode.value.id == "OPW-T041"
    with pytest.raises(guard.NoDeviceMemoryError) as memory:
        guard.fill(16, 4)
    assert memory.value.id == "OPW-T042"


def test_faults_have_the_form_of_the_native_side(tmp_path: Path) -> None:
    source = (NATIVE / "report.cpp").read_text(encoding="utf-8")
    struct = re.search(r"^struct opwright_guard_fault \{.*?^\};", source, re.DOTALL | re.MULTILINE)
    assert struct is not None
    names = [name for name, *_ in PlainFault._fields_]
    offsets = "".join(f", offsetof(opwright_guard_fault, {name})" for name in names)
    program = tmp_path / "layout.cpp"
    program.write_text(
        "#include <cstddef>\n#include <cstdint>\n#include <cstdio>\n"
        f"{struct[0]}\n"
        f"const std::size_t layout[] = {{sizeof(opwright_guard_fault){offsets}}};\n"
        'int main() { for (auto each : layout) std::printf("%zu ", each); }\n',
        encoding="utf-8",
    )
    compiled = tmp_path / "layout"
    subprocess.run(["g++", str(program), "-o", str(compiled)], check=True)
    printed = subprocess.run([str(compiled)], check=True, capture_output=True, text=True).stdout
    got = [ctypes.sizeof(PlainFault), *(getattr(PlainFault, name).offset for name in names)]
    assert got == list(map(int, printed.split()))


def use_the_device() -> None:
    torch.ones(1).to("npu")


def test_a_value_that_is_no_mode_is_refused() -> None:
    done = on_twin.run(use_the_device, OPWRIGHT_GUARD="3")
    assert done.returncode != 0
    assert "OPWRIGHT_GUARD='3'" in done.stderr + done.stdout


@pytest.mark.isolated
def test_without_it_memory_is_not_guarded() -> None:
    use_the_device()
    assert not guard.is_guarded()
    with pytest.raises(guard.NotGuardedError, match="OPWRIGHT_GUARD=1"):
        guard.set_mode(1)
    with pytest.raises(guard.NotGuardedError, match="OPWRIGHT_GUARD=1"):
        guard.fill(16, 4)
