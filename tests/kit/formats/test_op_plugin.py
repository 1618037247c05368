"""op-plugin's YAML -> declarations -> YAML. The entries are made up; the format is op-plugin's."""

from __future__ import annotations

import dataclasses
import textwrap
import time
from typing import TYPE_CHECKING

import pytest
import yaml  # type: ignore[import-untyped]  # PyYAML ships no types
from hypothesis import given
from hypothesis import strategies as st

from opwright.aclnn.signature import CType
from opwright.errors import OpwrightError
from opwright.kit.declare.backward import BackwardCall, Formula
from opwright.kit.declare.call import Actual, Call, Literal, Named
from opwright.kit.declare.rules import (
    BroadcastOf,
    Cpp,
    Dims,
    DtypeArgument,
    DtypeSet,
    Like,
    Promoted,
    ReducedOf,
    SameDtype,
)
from opwright.kit.formats.op_plugin import read_op_plugin
from opwright.kit.formats.op_plugin_write import op_plugin_files
from opwright.kit.formats.variants import choose

if TYPE_CHECKING:
    from opwright.kit.declare.operator import Operator
    from opwright.kit.formats.imported import Imported

FUNCTIONS = """
all_version: [v2.4, v2.5, v2.6, v2.7]
official:
  - func: lift.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
    acl_op: all_version
    op_api: [v2.4, newest]
    gen_opapi:
      out:
        size: self
        dtype: self
        name: self
      exec: aclnnLift, self, out

  - func: lift(Tensor self) -> Tensor
    op_api: all_version
    gen_opapi:
      structured_inherit: lift.out

  - func: lift_(Tensor(a!) self) -> Tensor(a!)
    op_api: all_version
    gen_opapi:
      structured_inherit: lift.out

  - func: __weave__(Tensor self, int from) -> Tensor
    acl_op: v2.4, v2.6

custom:
  - func: blend(Tensor a, Tensor b, Scalar k, *, float p=0.5, str mode='x') -> (Tensor, Tensor)
    op_api: [v2.5, newest]
    exposed: all_version
    tags: nondeterministic_seeded
    device_check: NoCheck
    gen_opapi:
      new_params:
        p_single: 'static_cast<float>(p)'
        mode_chars: const_cast<char *>(mode.data())
        zero: '(int64_t)0'
      first_out:
        size: broadcast_ops_npu_output_size(a, b)
        dtype: at::native::result_type(a, b)
      second_out:
        size: '{a.size(0), b.size(-1) * 2, 8L}'
        dtype: at::kFloat
      exec: aclnnBlend, a, b, k, p_single, mode_chars, zero, first_out, second_out

  - func: squash(Tensor x, int[] dims, bool keep, *, ScalarType? dtype=None) -> Tensor
    op_api: all_version
    gen_opapi:
      out:
        size: reduce_ops_npu_output_size(x, dims, keep)
        dtype: 'dtype.has_value() ? dtype.value() : x.scalar_type()'
      exec: aclnnSquash, x, dims, keep, out

  - func: twist(Tensor x, int n) -> Tensor
    op_api: all_version
    gen_opapi:
      new_params:
        turns: 'n > 0 ? n : compute_turns(x)'
      out:
        size: twist_output_size(x, n)
        dtype: 'isFloat(x) ? at::kFloat : x.scalar_type()'
      exec: aclnnTwist, x, turns, out

  - func: fold(Tensor x) -> Tensor
    op_api: [v2.4, v2.5]
  - func: fold(Tensor x, int n=2) -> Tensor
    op_api: [v2.6, newest]
    dispatch:
      CompositeExplicitAutograd: fold_all

symint:
  - func: fold(Tensor x, int n=2) -> Tensor
    op_api: [v2.6, newest]

quant:
"""

DERIVATIVES = """
all_version: [v2.4, v2.5, v2.6, v2.7]
backward:
- name: lift(Tensor self) -> Tensor
  self: lift_backward(grad, self)
  result: auto_linear
  version: all_version

- name: blend(Tensor a, Tensor b, Scalar k, *, float p=0.5, str mode='x') -> (Tensor, Tensor)
  output_differentiability: [true, false]
  a, b: blend_backward(grads[0], a, b, result1)
  version: [v2.5, newest]

- name: elsewhere(Tensor x, Tensor index) -> Tensor
  x: grad * 2
  index: non_differentiable
  version: [v2.4, newest]
"""


def read(functions: str = FUNCTIONS, derivatives: str | None = None) -> Imported:
    return read_op_plugin(
        functions, where="functions.yaml", derivatives=derivatives, namespace="my_ops"
    )


def operator(name: str, functions: str = FUNCTIONS, derivatives: str | None = None) -> Operator:
    found = read(functions, derivatives).declarations[0].operator(name)
    assert found is not None
    return found


def one(entry: str) -> Operator:
    """Read a file with one entry."""
    text = textwrap.indent(textwrap.dedent(entry).strip(), "    ").replace("    ", "  - ", 1)
    (only,) = read(f"all_version: [v2.6, v2.7]\ncustom:\n{text}\n").declarations[0].operators
    return only


def content(text: str) -> dict[str, list[object]]:
    """Return what a YAML text says, whatever the order of its entries."""
    loaded = yaml.safe_load(text)
    return {
        key: sorted(value, key=repr) if key != "all_version" else value
        for key, value in loaded.items()
        if value
    }


def test_yaml_is_written_as_it_was_read() -> None:
    imported = read(derivatives=DERIVATIVES)
    files = op_plugin_files(*imported.declarations).files
    assert content(files["op_plugin_functions.yaml"]) == content(FUNCTIONS)
    assert content(files["derivatives.yaml"]) == content(DERIVATIVES)


def test_rules_and_call() -> None:
    blend = operator("blend")
    assert blend.call == Call(
        function="aclnnBlend",
        actuals=(
            *(Actual(source=Named(name)) for name in "abk"),
            Actual(source=Named("p"), ctype=CType.FLOAT),
            Actual(source=Named("mode")),
            Actual(source=Literal(0)),
            Actual(source=Named("out0")),
            Actual(source=Named("out1")),
        ),
    )
    assert blend.shapes == {
        "out0": BroadcastOf(("a", "b")),
        "out1": Dims("a.shape[0], b.shape[-1] * 2, 8"),
    }
    assert blend.dtypes == {"out0": Promoted(("a", "b")), "out1": DtypeSet(("float32",))}
    assert (blend.torch, blend.tags, blend.deterministic) == (
        ">=2.5,<2.8",
        ("nondeterministic_seeded",),
        False,
    )


def test_reduction_and_dtype_argument() -> None:
    squash = operator("squash")
    assert squash.shapes == {"out": ReducedOf("x", "dims", "keep")}
    assert squash.dtypes == {"out": DtypeArgument("dtype", SameDtype("x"))}


def test_what_has_no_exact_translation_stays_cpp_and_is_noted() -> None:
    twist = operator("twist")
    assert twist.call == Call(function="aclnnTwist")
    assert twist.shapes == {"out": Cpp("twist_output_size(x, n)")}
    notes = [note for note in read().notes if note.operator == "twist"]
    assert [(note.subject, note.detail) for note in notes] == [
        ("parameter of the aclnn function is C++", "n > 0 ? n : compute_turns(x)"),
        ("C++ expression kept as cpp()", "twist_output_size(x, n)"),
        ("C++ expression kept as cpp()", "isFloat(x) ? at::kFloat : x.scalar_type()"),
    ]


def test_an_operator_without_gen_opapi_is_noted() -> None:
    subjects = {note.operator: note.subject for note in read().notes}
    assert subjects["__weave__"] == "adapter written by hand"
    weave = operator("__weave__")
    assert (weave.call, weave.torch) == (None, ">=2.4,<2.7,!=2.5.*")


def test_inheritance() -> None:
    lift, in_place = operator("lift"), operator("lift_")
    assert (lift.shapes, lift.dtypes) == ({"out": Like("self")}, {})
    assert lift.call == Call(
        function="aclnnLift", actuals=(Actual(source=Named("self")), Actual(source=Named("out")))
    )
    assert in_place.shapes == {}
    assert in_place.call == Call(
        function="aclnnLift", actuals=(Actual(source=Named("self")), Actual(source=Named("self")))
    )


def test_backward() -> None:
    imported = read(derivatives=DERIVATIVES)
    (declaration, _) = imported.declarations
    blend, elsewhere = declaration.operator("blend"), declaration.operator("elsewhere")
    assert blend is not None
    assert elsewhere is not None
    formula = Formula(("a", "b"), "blend_backward(grads[0], a, b, result1)")
    assert blend.backward == BackwardCall((formula,))
    assert elsewhere.backward == BackwardCall((Formula(("x",), "grad * 2"),))
    assert [note.operator for note in imported.notes if note.subject.startswith("derivative")] == [
        "elsewhere"
    ]


def test_derivatives_may_be_a_list_without_a_section() -> None:
    functions = "- func: f(Tensor x) -> Tensor\n  op_api: all_version\n"
    found = operator("f", functions, "- name: f(Tensor x) -> Tensor\n  x: grad * 2\n")
    assert found.backward == BackwardCall((Formula(("x",), "grad * 2"),))


def test_variants_of_one_operator_are_in_several_declarations() -> None:
    newest, older = read().declarations
    assert [str(o.schema) for o in older.operators] == ["fold(Tensor x) -> Tensor"]
    assert str(newest.operators[-1].schema) == "fold(Tensor x, int n=2) -> Tensor"
    at_2_5 = choose(read(), torch="2.5")
    assert [o.name for o in at_2_5.operators if o.torch] == ["blend", "fold"]
    assert str(at_2_5.operators[-1].schema) == "fold(Tensor x) -> Tensor"


def test_only_some_operators() -> None:
    names = [o.name for o in choose(read(), only=["lift*", "fold"]).operators]
    assert names == ["lift.out", "lift", "lift_", "fold"]


def test_an_edited_declaration_is_written_as_it_is_then() -> None:
    declaration = read().declarations[0]
    edited = [
        dataclasses.replace(
            o,
            shapes={**o.shapes, "out1": Like("b")},
            call=Call(function="aclnnBlendV2"),
            torch=">=2.7",
        )
        if o.name == "blend"
        else dataclasses.replace(o, shapes={"out": Dims("4, x.ndim")})
        if o.name == "lift"
        else o
        for o in declaration.operators
        if o.name != "lift"
    ]
    changed = dataclasses.replace(declaration, operators=tuple(edited))
    text = op_plugin_files(changed).files["op_plugin_functions.yaml"]
    (blend,) = [e for e in yaml.safe_load(text)["custom"] if e["func"].startswith("blend")]
    assert blend == {
        "func": "blend(Tensor a, Tensor b, Scalar k, *, float p=0.5, str mode='x')"
        " -> (Tensor, Tensor)",
        "op_api": "v2.7",
        "exposed": "all_version",
        "tags": "nondeterministic_seeded",
        "device_check": "NoCheck",
        "gen_opapi": {
            "first_out": {
                "size": "broadcast_ops_npu_output_size(a, b)",
                "dtype": "at::native::result_type(a, b)",
            },
            "second_out": {"size": "b", "dtype": "at::kFloat"},
            "new_params": {"mode_value": "const_cast<char *>(mode.data())"},
            "exec": "aclnnBlendV2, a, b, k, p, mode_value, first_out, second_out",
        },
    }


def test_inheritance_ends_where_an_operator_is_edited() -> None:
    declaration = read().declarations[0]
    edited = tuple(
        dataclasses.replace(o, shapes={"out": Dims("4, self.ndim")}) if o.name == "lift" else o
        for o in declaration.operators
    )
    text = op_plugin_files(dataclasses.replace(declaration, operators=edited)).files[
        "op_plugin_functions.yaml"
    ]
    entries = {e["func"].partition("(")[0]: e for e in yaml.safe_load(text)["official"]}
    assert entries["lift"]["gen_opapi"] == {
        "out": {"size": "{4L, self.dim()}", "dtype": "self"},
        "exec": "aclnnLift, self, out",
    }
    assert entries["lift_"]["gen_opapi"] == {"structured_inherit": "lift.out"}


@pytest.mark.parametrize(
    ("size", "rule"),
    [
        ("x", Like("x")),
        ("x.sizes()", Like("x")),
        ("mask", Cpp("mask")),  # may be None
        (
            "broadcast_ops_npu_output_size(broadcast_ops_npu_output_size(x, y), y.sizes())",
            BroadcastOf(("x", "y", "y")),
        ),
        ("broadcast_ops_npu_output_size(x, mask)", Cpp("broadcast_ops_npu_output_size(x, mask)")),
        ("op_infer::broadcast_ops_npu_output_size(x, y)", BroadcastOf(("x", "y"))),
        ("'{}'", Dims("")),
        ("'c10::SmallVector<int64_t, op_infer::SIZE>{x.size(1)}'", Dims("x.shape[1]")),
        ("'at::ArrayRef<int64_t>()'", Dims("")),
        ("'{n, x.dim(), sizes[1], sizes.size()}'", Dims("n, x.ndim, sizes[1], len(sizes)")),
        ("'{(x.size(0) + n - 1) / n}'", Dims("ceildiv(x.shape[0], n)")),
        ("'{x.size(0) / 2}'", Dims("x.shape[0] // 2")),
        ("'{(x.size(0) - 3) / 2}'", Cpp("{(x.size(0) - 3) / 2}")),  # -1 / 2 is 0 in C++
        ("'{std::min<int64_t>(x.size(0), n)}'", Dims("min(x.shape[0], n)")),
        ("'{x.numel()}'", Cpp("{x.numel()}")),
        ("'{mask.size(0)}'", Cpp("{mask.size(0)}")),
        ("'n == 1 ? x.sizes() : y.sizes()'", Cpp("n == 1 ? x.sizes() : y.sizes()")),
        (
            "reduce_ops_npu_output_size(x, get_dimlist_for_tensor(x), false)",
            ReducedOf("x", None, None),
        ),
        ("'reduce_ops_npu_output_size(x, {n}, keep)'", ReducedOf("x", "n", "keep")),
        ("reduce_ops_npu_output_size(x, n, keep)", Cpp("reduce_ops_npu_output_size(x, n, keep)")),
        (
            "'reduce_ops_npu_output_size(x, {0}, keep)'",
            Cpp("reduce_ops_npu_output_size(x, {0}, keep)"),
        ),
    ],
)
def test_sizes(size: str, rule: object) -> None:
    read_operator = one(f"""
        func: f(Tensor x, Tensor y, Tensor? mask, int n, int[] sizes, bool keep) -> Tensor
        op_api: all_version
        gen_opapi:
          out:
            size: {size}
            dtype: at::kInt
          exec: aclnnF
    """)
    assert read_operator.shapes["out"] == rule


@pytest.mark.parametrize(
    ("expression", "actual"),
    [
        ("static_cast<double>(p)", Actual(source=Named("p"), ctype=CType.DOUBLE)),
        ("at::Scalar(n)", Actual(source=Named("n"), ctype=CType.SCALAR)),
        ("scale.value_or(1.0)", Actual(source=Named("scale", Literal(1.0)))),
        ("'name.has_value() ? const_cast<char *>(name.value().data()) : nullptr'", None),
        ("'true'", Actual(source=Literal(value=True))),
        ("-2L", Actual(source=Literal(-2))),
        ("1.5f", Actual(source=Literal(1.5), ctype=CType.FLOAT)),
        ("(int32_t)7", Actual(source=Literal(7), ctype=CType.INT32)),
        ("'\"TND\"'", Actual(source=Literal("TND"))),
        ("nullptr", Actual(source=Literal(None))),
    ],
)
def test_parameters(expression: str, actual: Actual | None) -> None:
    f = one(f"""
        func: f(Tensor x, int n, float p, float? scale=None, str? name=None) -> Tensor
        op_api: all_version
        gen_opapi:
          new_params:
            made: {expression}
          out:
            size: x
            dtype: x
          exec: aclnnF, x, made, out
    """)
    assert isinstance(f.call, Call)
    assert f.call.actuals is not None
    assert f.call.actuals[1] == (actual or Actual(source=Named("name")))


def test_a_file_of_the_size_of_op_plugins_is_read_in_seconds() -> None:
    entries = [
        f"  - func: op_{n}(Tensor x, Tensor? y=None, int[2] size=[1, 1], float p={n}.5) -> Tensor\n"
        f"    op_api: [v2.{n % 4 + 4}, newest]\n    acl_op: all_version\n"
        "    gen_opapi:\n      out:\n        size: '{x.size(0), 2}'\n        dtype: x\n"
        f"      exec: aclnnOp{n}, x, size, out\n"
        for n in range(1500)
    ]
    text = "all_version: [v2.4, v2.5, v2.6, v2.7]\ncustom:\n" + "".join(entries)
    started = time.thread_time()
    imported = read(text)
    written = op_plugin_files(*imported.declarations).files["op_plugin_functions.yaml"]
    assert time.thread_time() - started < 20  # 0.6 s on the machine where it was written
    assert content(written) == content(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "all_version: [v2.4]\ncustom:\n  - func: [f\n",
            (
                "OPW-S001 not a YAML file of op-plugin\n"
                "  where:   functions.yaml:4\n"
                "  got:     did not find expected ',' or ']'\n"
                "  fix:     correct the file at this line"
            ),
        ),
        (
            "all_version: [v2.4]\ncustom:\n  - name: f(Tensor x) -> Tensor\n",
            (
                "OPW-S001 not a YAML file of op-plugin\n"
                "  where:   functions.yaml:3, section custom\n"
                '  got:     {name: "f(Tensor x) -> Tensor"}\n'
                "  fix:     begin each entry with func: SCHEMA"
            ),
        ),
        (
            "custom:\n  - func: f(Tensor x) -> Tensor\n    op_api: v2.4\n    op_api: v2.5\n",
            (
                "OPW-S001 not a YAML file of op-plugin\n"
                "  where:   functions.yaml:4\n"
                "  got:     a second 'op_api'\n"
                "  fix:     write each key once"
            ),
        ),
        (
            "all_version: [v2.4]\ncustom:\n  - func: f(Tensor x) -> Tensor\n    op_api: 2.x\n",
            (
                "OPW-S003 not versions of torch\n"
                "  where:   functions.yaml:3, operator f, op_api\n"
                "  got:     '2.x'\n"
                "  fix:     write all_version, a list (v2.1, v2.2) or a range ([v2.1, newest])"
            ),
        ),
        (
            (
                "all_version: [v2.4]\ncustom:\n  - func: f(Tensor x) -> Tensor\n"
                "    op_api: all_version\n    gen_opapi:\n      exec: aclnnF\n"
            ),
            (
                "OPW-S002 not an operator's entry\n"
                "  where:   functions.yaml:3, operator f\n"
                "  got:     0 outputs (none)\n"
                "  allowed: 1, as the schema returns\n"
                "  fix:     describe each new tensor that the operator returns"
            ),
        ),
        (
            (
                "all_version: [v2.4]\ncustom:\n  - func: f(Tensor x) -> Tensor\n"
                "    gen_opapi:\n      structured_inherit: g.out\n"
            ),
            (
                "OPW-S002 not an operator's entry\n"
                "  where:   functions.yaml:3, operator f\n"
                "  got:     structured_inherit: g.out\n"
                "  fix:     name an operator of this file that has gen_opapi"
            ),
        ),
        (
            (
                "all_version: [v2.4]\ncustom:\n  - func: f(Tensor x) -> Tensor\n    op_api: v2.4\n"
                "  - func: f(Tensor x) -> Tensor\n    op_api: all_version\n"
            ),
            (
                "OPW-S002 not an operator's entry\n"
                "  where:   functions.yaml:5, operator f\n"
                "  got:     a second entry; the first one is at functions.yaml:3\n"
                "  fix:     join them, or let them be for different versions"
            ),
        ),
    ],
)
def test_mistakes(text: str, message: str) -> None:
    with pytest.raises(OpwrightError) as caught:
        read(text)
    assert str(caught.value) == message


def test_a_schema_error_names_the_line() -> None:
    with pytest.raises(OpwrightError, match=r"functions.yaml:3, schema") as caught:
        read("all_version: [v2.4]\ncustom:\n  - func: f(Tensr x) -> Tensor\n")
    assert caught.value.id == "OPW-D001"


NAMES = st.sampled_from(["size", "dtype", "other"])
VALUES = st.recursive(
    st.text(max_size=8) | st.booleans() | st.integers(-9, 9) | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(["exposed", "device_check", "a key", "y"]), VALUES))
def test_keys_that_mean_nothing_here_are_kept(keys: dict[str, object]) -> None:
    entry = {"func": "f(Tensor x) -> Tensor", "op_api": "all_version", **keys}
    text = yaml.safe_dump({"all_version": ["v2.4", "v2.5"], "custom": [entry]}, sort_keys=False)
    written = op_plugin_files(*read(text).declarations).files["op_plugin_functions.yaml"]
    assert yaml.safe_load(written)["custom"] == [entry]
