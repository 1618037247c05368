"""Functional twins and graph forms: what is derived, and that packages register the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import opwright.twin  # before torch, which loads torch_npu

# isort: split
import pytest
import torch

import opwright as ow
from opwright.kit.derive import derive
from opwright.kit.derive.functional import TAKEN_NAMES, graph_form, has_graph_form, only_observes
from opwright.kit.shipped import graphs
from opwright.kit.shipped.runtime import results_of

if TYPE_CHECKING:
    from opwright.kit.derive.facts import OperatorFacts

pytestmark = pytest.mark.twin


def facts_of(schema: str, **fields: object) -> OperatorFacts:
    """Return the facts of the first operator of a set."""
    ops = ow.OperatorSet("opwright_forms")
    ops.declare(schema, **fields)  # type: ignore[arg-type]  # as an author passes them
    return derive(ops.freeze()).operators[0]


@pytest.mark.parametrize(
    ("schema", "wanted"),
    [
        ("f_(Tensor(a!) x) -> Tensor(a!)", "_mutate_f_(Tensor(a!) x) -> ()"),
        ("f(Tensor(a!) x, Tensor y) -> Tensor", "_mutate_f(Tensor(a!) x, Tensor y) -> Tensor"),
        (
            "f(Tensor z, Tensor(a!)? x, *, Tensor(b!)[] y) -> (Tensor(b!)[], Tensor, Tensor)",
            "_mutate_f(Tensor z, Tensor(a!)? x, *, Tensor(b!)[] y) -> (Tensor, Tensor)",
        ),
        (
            "f.out(Tensor x, *, str mode='mode=2, ) -> ', Tensor(a!) out) -> Tensor(a!)",
            "_mutate_f.out(Tensor x, *, str mode_argument='mode=2, ) -> ', Tensor(a!) out) -> ()",
        ),
    ],
)
def test_the_graph_form_returns_new_tensors_only(schema: str, wanted: str) -> None:
    facts = facts_of(schema)
    assert has_graph_form(facts)
    assert str(graph_form(facts).schema) == wanted


@pytest.mark.parametrize(
    "schema",
    [
        "f_(Tensor(a!) x) -> Tensor(a!)",
        "g(Tensor x, Tensor(b!)[] xs, Tensor(c!)? y=None) -> (Tensor(b!)[], Tensor[])",
        "h(Tensor(a!) x, Tensor match, str mode='match=1', *, int ctx=1) -> (Tensor(a!), Tensor)",
        "k.out(Tensor x, *, float[] s=[1.0, 2.5], Tensor(a!) out) -> Tensor(a!)",
    ],
)
def test_packages_register_the_form_that_is_derived(schema: str) -> None:
    facts = facts_of(schema)
    library = torch.library.Library("opwright_form", "FRAGMENT")  # type: ignore[no-untyped-call]
    library.define(schema)  # type: ignore[no-untyped-call]
    packet = getattr(torch.ops.opwright_form, facts.schema.name)
    operator = getattr(packet, facts.schema.overload or "default")
    aliased = [facts.schema.aliased_argument(result) for result in facts.schema.results]
    results = [None if argument is None else argument.name for argument in aliased]
    assert results_of(str(operator._schema)) == results  # noqa: SLF001 - it has no public name
    name = graph_form(facts).schema.full_name
    found = torch._C.parse_schema(f"{name}{graphs.form_signature(operator, results)}")  # noqa: SLF001 - it has no public name
    assert found == torch._C.parse_schema(str(graph_form(facts).schema))  # noqa: SLF001
    library._destroy()  # type: ignore[no-untyped-call]  # noqa: SLF001 - a Library has no public end


def test_names_that_torch_takes_are_the_same_in_packages() -> None:
    assert graphs.TAKEN_NAMES == TAKEN_NAMES


def test_what_is_made_of_others_or_writes_nothing_has_no_graph_form() -> None:
    assert not has_graph_form(facts_of("f_(Tensor(a!) x) -> Tensor(a!)", aclnn=False))
    assert not has_graph_form(facts_of("f(Tensor x) -> Tensor"))


def test_what_only_observes() -> None:
    assert only_observes(facts_of("f(Tensor x) -> ()"))
    assert not only_observes(facts_of("f(Tensor(a!) x) -> ()"))
    assert not only_observes(facts_of("f(Tensor x) -> Tensor"))


def test_tags_about_the_schema_are_the_operators_own() -> None:
    ops = ow.OperatorSet("opwright_forms")
    schema = "f_(Tensor(a!) x) -> Tensor(a!)"
    ops.declare(schema, tags=("inplace", "core"), deterministic=False)
    own, twin = derive(ops.freeze()).operators
    assert own.tags == ("pt2_compliant_tag", "inplace", "core", "nondeterministic_bitwise")
    assert twin.tags == ("pt2_compliant_tag", "core", "nondeterministic_bitwise")
