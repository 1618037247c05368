"""Guarded memory as a program sees it: `opwright run --guard`."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path

import pytest

from opwright.twin.guard import PlainFault
from tests.twin import on_twin

pytestmark = pytest.mark.twin

NATIVE = Path(__file__).parents[2] / "native/runtime/memory/guard"

KERNELS = """
    from opwright.twin import guard, kernel

    library = torch.library.Library("guarded", "DEF")
    for name in ("peek", "keep", "sound"):
        library.define(f"{name}(Tensor x) -> Tensor")

    import opwright as ow
    ops = ow.OperatorSet("guarded_ops")
    kept = []

    def one(name):
        return ops.operator(f"{name}(Tensor x) -> Tensor", samples=[])(lambda x: x * 2)

    peek, keep, sound = map(one, ("peek", "keep", "sound"))

    @kernel("aclnnPeek(const aclTensor *x, aclTensor *out)")
    def peek_kernel(x, out):
        # A wrong stride reaches the elements behind those of the view.
        import ctypes
        first = ctypes.c_float.from_address(x.data_ptr() + 4 * x.numel()).value
        out.copy_(x * 2)

    @kernel("aclnnKeep(const aclTensor *x, aclTensor *out)")
    def keep_kernel(x, out):
        out.copy_(x + kept[0].sum() if kept else x)
        kept.append(x)

    ops.load()
"""


def test_a_task_that_leaves_its_operands_fails_and_tells_where() -> None:
    script = (
        KERNELS
        + """
    x = torch.ones(4).npu()[:3]
    torch.testing.assert_close(sound(x).cpu(), torch.full((3,), 2.0))
    try:
        y = peek(x)
        torch.npu.synchronize()
    except RuntimeError as error:
        assert "aclnnPeek: it read just behind the end of x (12 bytes)" in str(error), error
    else:
        raise AssertionError("nothing was found")
    torch.testing.assert_close(y.cpu(), torch.full((3,), 2.0))
    (fault,) = guard.take_faults()
    assert (fault.what, fault.access, fault.offset, fault.size) == ("outside", "read", 12, 12)
    assert (fault.function, fault.operand) == ("aclnnPeek", "x")
    assert not guard.take_faults()

    keep(x)
    torch.npu.synchronize()
    try:
        keep(x)
        torch.npu.synchronize()
    except RuntimeError as error:
        assert "memory that it was not given, where x of an earlier call of aclnnKeep was" in str(
            error
        ), error
    (fault,) = guard.take_faults()
    assert (fault.what, fault.offset, fault.size) == ("stale", 0, 12)
    torch.testing.assert_close(sound(x).cpu(), torch.full((3,), 2.0))
    print("done")
    """
    )
    assert "done" in on_twin.output(script, OPWRIGHT_GUARD="1")


def test_modes_are_changed_while_a_program_runs() -> None:
    script = """
    from opwright.twin import guard

    assert guard.is_guarded()
    words = []
    for mode in guard.MODES:
        guard.set_mode(mode)
        torch.npu.empty_cache()
        words.append(torch.empty(1, dtype=torch.int16, device="npu").item() & 0xFFFF)
    assert words == [0xFFF5, 0x412B], words

    def refusal(function, *arguments):
        try:
            function(*arguments)
        except guard.OpwrightError as error:
            return error.id

    assert refusal(guard.set_mode, 3) == "OPW-T041"
    assert refusal(guard.fill, 16, 4) == "OPW-T042"
    print("done")
    """
    assert "done" in on_twin.output(script, OPWRIGHT_GUARD="1")


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


def test_a_value_that_is_no_mode_is_refused() -> None:
    done = on_twin.run("torch.ones(1).npu()", OPWRIGHT_GUARD="3")
    assert done.returncode != 0
    assert "OPWRIGHT_GUARD='3'" in done.stderr + done.stdout


def test_without_it_memory_is_not_guarded() -> None:
    script = """
    from opwright.twin import guard

    torch.ones(1).npu()
    assert not guard.is_guarded()
    for call in (lambda: guard.set_mode(1), lambda: guard.fill(16, 4)):
        try:
            call()
        except guard.NotGuardedError as error:
            assert "OPWRIGHT_GUARD=1" in str(error), error
        else:
            raise AssertionError("it was not refused")
    print("done")
    """
    assert "done" in on_twin.output(script)
