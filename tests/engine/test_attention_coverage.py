"""Every attention and cache operator that has a kernel in eager has one in graphs."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from opwright.engine import kernels, table
from opwright.engine.loading import load_kernels
from opwright.engine.prototypes import of_torchair

pytestmark = pytest.mark.twin

FAMILIES = Path(__file__).parents[2] / "native/opapi/ops"
CONVERTERS = "dynamo/torchair/_ge_concrete_graph/ge_converter"
EMITTED = re.compile(r'\bge\.([A-Z]\w+)\(|(?:op_type=|custom_op\(\s*)"(\w+)"')
FUNCTION = re.compile(r"^ACLNN\(\s*(\w+)", re.MULTILINE)
VERSION = re.compile(r"(V\d+)?(WeightNz)?$")
# The first version of this function is none of the twin's; torch_npu's eager form of it is refused.
ABSENT = {"MlaProlog"}

load_kernels(kernels)


def served() -> set[str]:
    """Return what libopapi has of attention and caches, without versions."""
    files = (path for name in ("attention", "kv_cache") for path in (FAMILIES / name).glob("*.cpp"))
    return {VERSION.sub("", name) for path in files for name in FUNCTION.findall(path.read_text())}


def emitted() -> set[str]:
    """Return the GE types that TorchAir's converters make."""
    spec = importlib.util.find_spec("torch_npu")
    assert spec is not None
    places = [Path(place) / CONVERTERS for place in spec.submodule_search_locations or ()]
    texts = [path.read_text(encoding="utf-8") for place in places for path in place.rglob("*.py")]
    return {name for text in texts for pair in EMITTED.findall(text) for name in pair if name}


def test_no_type_of_a_converter_lacks_what_eager_has() -> None:
    both = served() & {VERSION.sub("", name) for name in emitted()}
    assert len(both) > 15
    lacking = {
        name for name in emitted() if VERSION.sub("", name) in both and table.find(name) is None
    }
    assert lacking == ABSENT


def test_no_type_of_cann_lacks_what_eager_has() -> None:
    known = {name for name in served() if of_torchair(name) is not None}
    assert len(known) > 15
    assert {name for name in known if table.find(name) is None} == ABSENT
