"""Operators that run in eager mode run in max-autotune's graphs, and the reverse.

only_one_way.toml holds those of which it is not so, with reasons. One that is not in it fails the
test, and so does one that is in it and runs both ways.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import tomli

from opwright.coverage.converters import Converter, converters, read_converters
from opwright.coverage.graphs import (
    SUFFIXES,
    Difference,
    compare,
    eager_calls,
    measure_graphs,
)
from opwright.coverage.needed import needs
from opwright.graph_engine import kernels, lookup
from opwright.graph_engine.prototypes import cann
from opwright.graph_engine.prototypes.cann import of_torchair
from opwright.graph_engine.table import load_kernels

LEDGER = Path(__file__).parent / "only_one_way.toml"
FAMILIES = Path(__file__).parents[2] / "native/opapi/ops"
FUNCTION = re.compile(r"^ACLNN\(\s*(\w+)", re.MULTILINE)
VERSION = re.compile(r"(V\d+)?(WeightNz)?$")
# Text: the source of converters, which is read without being run.
SOURCE = """
@register_fx_node_ge_converter(torch.ops.aten.relu.default)
def convert_relu(x):
    return clip(x) if x.rank else custom_op("Relu", inputs={"x": x}, outputs=["y"])

def clip(x):
    return ge.ClipByValue(ge.Identity(x), 0, 1)

def convert_both(x):
    raise RuntimeError("not supported")

register_fx_node_ge_converter(torch.ops.aten.abs.default)(convert_both)

@unrelated(torch.ops.aten.neg.default)
def convert_neg(x):
    return ge.Neg(x)
"""


def test_operators_run_both_ways_or_the_ledger_says_why() -> None:
    groups = tomli.loads(LEDGER.read_text(encoding="utf-8"))
    expected = {
        (way, name)
        for way in ("eager", "graph")
        for group in groups.get(way, [])
        for name in group["operators"]
    }
    found = {(each.runs, each.operator): each.missing for each in measure_graphs()}
    unexpected = [
        f"{name} runs in {way} only: no {', '.join(found[way, name])}"
        for way, name in sorted(found.keys() - expected)
    ]
    settled = [
        f"{name}: the ledger says that it runs in {way} only"
        for way, name in sorted(expected - found.keys())
    ]
    assert not unexpected + settled, "\n".join(unexpected + settled)


def test_the_table_of_eager_calls_names_functions_of_the_installed_torch_npu() -> None:
    called = {function for functions in eager_calls().values() for function in functions}
    assert sorted(called - {need.name for need in needs()}) == []


def test_the_table_of_eager_calls_names_operators_that_torchair_converts() -> None:
    names = {each.operator.split(".")[1] for each in converters(cann.types())}
    names |= {name.removesuffix(suffix) for name in names for suffix in SUFFIXES}
    assert sorted(eager_calls().keys() - names) == []


def test_converters_make_the_types_of_the_functions_that_they_call() -> None:
    found = read_converters([ast.parse(SOURCE)], {"ClipByValue", "Identity", "Neg", "Relu"})
    assert found == (
        Converter(operator="aten.abs.default", types=()),
        Converter(operator="aten.relu.default", types=("ClipByValue", "Identity", "Relu")),
    )


def converter(name: str, *types: str) -> Converter:
    return Converter(operator=name, types=types)


def test_both_ways_are_compared() -> None:
    found = [
        converter("npu.both.default", "A", "Data"),
        converter("npu.eager_.default", "A", "B"),
        converter("npu.graph_functional.default", "A"),
        converter("npu.none.default", "B"),
        converter("npu.composite.default", "B"),
        converter("npu.refused.default"),
    ]
    found.append(converter("npu.npu_mla_prolog.default", "MlaProlog"))  # runs in neither
    calls = {"both": ("f", "g"), "eager": ("f",), "graph": ("g",), "none": ("g",)}
    assert list(compare(found, calls, computed={"A"}, implemented={"f"})) == [
        Difference(operator="npu.eager_.default", runs="eager", missing=("B",)),
        Difference(operator="npu.graph_functional.default", runs="graph", missing=("g",)),
        Difference(operator="npu.composite.default", runs="eager", missing=("B",)),
    ]


def test_the_table_of_eager_calls_has_functions_of_cann() -> None:
    calls = eager_calls()
    assert calls["add"] == ("aclnnAdd", "aclnnAddV3", "aclnnAdds")
    assert all(name.startswith("aclnn") for functions in calls.values() for name in functions)


def test_no_type_of_attention_or_caches_lacks_what_eager_has() -> None:
    """Also those that no converter makes; without versions."""
    load_kernels(kernels)
    files = [path for name in ("attention", "kv_cache") for path in (FAMILIES / name).glob("*.cpp")]
    served = {VERSION.sub("", n) for path in files for n in FUNCTION.findall(path.read_text())}
    known = {name for name in served if of_torchair(name) is not None}
    assert len(known) > 15
    # The first version of this function is none of the twin's, and eager's legacy form is refused.
    assert {name for name in known if lookup.find_kernel(name) is None} == {"MlaProlog"}
