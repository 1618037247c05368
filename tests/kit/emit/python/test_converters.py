"""The text of emitted converters, as far as the golden files do not have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.kit.emit.options import EmitOptions
from opwright.kit.emit.python.converters import emit_converters
from tests.kit.emit.facts import facts_of_text

if TYPE_CHECKING:
    from pathlib import Path


def test_an_argument_may_be_called_like_the_result_of_the_node(tmp_path: Path) -> None:
    facts = facts_of_text(
        tmp_path, "ops.declare('f(Tensor result, *, Tensor(a!) out) -> Tensor(a!)')\n"
    )
    text = emit_converters(facts, {}, EmitOptions(package="declared", torch="2.13"))
    assert "    result_ = ge.f(result)\n    out = assigned(out, result_, result)\n" in text
