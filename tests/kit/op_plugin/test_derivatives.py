"""derivatives.yaml becomes nodes with the formulas in C++; mistakes in it are reported."""

# ruff: noqa: E501 - generated C++ as it is

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from opwright.errors import OpwrightError
from opwright.kit.op_plugin.entries import read_entries
from opwright.kit.op_plugin.inputs import read_inputs
from opwright.kit.op_plugin.units import emit_units
from tests.kit.op_plugin.extensions import write

if TYPE_CHECKING:
    from pathlib import Path

CALLED = "npu_called(Tensor grad, Tensor? mask, float scale=1.5, bool flip=False, int[2] pad=0, str mode='a') -> Tensor"
LISTS = "npu_lists(Tensor grad, Tensor x, Tensor[] more) -> (Tensor, Tensor[])"
# Schema of an operator, its derivative -> the end of its node's apply().
FORMULAS = {
    "expressions": (
        "npu_t(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor",
        "x: grad * (y + 1.0)\n  y: grad.mul(x) *\n    alpha",
        """\
    // npu_t, gradient of x: grad * (y + 1.0)
    // npu_t, gradient of y: grad.mul(x) * alpha
    return {task_should_compute_output(0) ? grads[0] * (y_.unpack() + 1.0) : at::Tensor(),
            task_should_compute_output(1) ? grads[0].mul(x_.unpack()) * alpha_ : at::Tensor()};
""",
    ),
    "operators of torch": (
        "npu_t(Tensor x, Tensor y) -> Tensor",
        "x: where(x > y, grad * torch.cos(x), 0)\n  y: torch.ops.aten.threshold_backward(grad, y, 1)",
        """\
    // npu_t, gradient of x: where(x > y, grad * torch.cos(x), 0)
    // npu_t, gradient of y: torch.ops.aten.threshold_backward(grad, y, 1)
    return {
        task_should_compute_output(0) ? at::where(x_.unpack() > y_.unpack(), grads[0] * at::cos(x_.unpack()), 0) : at::Tensor(),
        task_should_compute_output(1) ? at::threshold_backward(grads[0], y_.unpack(), 1) : at::Tensor()};
""",
    ),
    "defaults": (
        "npu_t(Tensor x, Tensor? mask) -> Tensor",
        "x: npu_called(grad.neg(), mask, flip=True)",
        """\
    // npu_t, gradient of x: npu_called(grad.neg(), mask, flip=True)
    return {npu_called().call(grads[0].neg(), if_defined(mask_.unpack()), 1.5, true, {0, 0}, "a")};
""",
    ),
    "several outputs": (
        "npu_t(Tensor x, Tensor y) -> (Tensor, Tensor)",
        "x, y: (grads[1] * y, grads[1].neg() + grad)",
        """\
    // npu_t, gradient of x: grads[1] * y
    // npu_t, gradient of y: grads[1].neg() + grad
    const at::Tensor grad_out0 = grads[0].defined() ? grads[0] : input_metadata(0).zeros_like();
    const at::Tensor grad_out1 = grads[1].defined() ? grads[1] : input_metadata(1).zeros_like();
    return {task_should_compute_output(0) ? grad_out1 * y_.unpack() : at::Tensor(),
            task_should_compute_output(1) ? grad_out1.neg() + grad_out0 : at::Tensor()};
""",
    ),
    "lists": (
        "npu_t(Tensor x, Tensor[] more) -> Tensor",
        "x, more: npu_lists(grad + result, x, more)",
        """\
    // npu_t, gradient of x, more: npu_lists(grad + result, x, more)
    variable_list results;
    const auto [grad_of_x, grad_of_more] = npu_lists().call(grads[0] + out_.unpack(getptr()), x_.unpack(), unpack(more_));
    results.push_back(grad_of_x);
    results.insert(results.end(), grad_of_more.begin(), grad_of_more.end());
    return results;
""",
    ),
}


@pytest.mark.parametrize("what", FORMULAS)
def test_a_formula_becomes_the_body_of_a_node(tmp_path: Path, what: str) -> None:
    schema, formulas, expected = FORMULAS[what]
    functions = (f"- func: {each}\n  op_api: all_version\n" for each in (schema, CALLED, LISTS))
    write(tmp_path, "".join(functions), f"backward:\n- name: {schema}\n  {formulas}\n")
    text = emit_units(read_entries(read_inputs([tmp_path])), "", python_meta=())
    apply = text["csrc/autograd.cpp"].partition("num_outputs());\n    }\n")[2]
    assert apply.partition("  }\n")[0] == expected


def test_a_formula_has_to_give_what_has_no_default_in_cpp(tmp_path: Path) -> None:
    called = "npu_called(Tensor grad, ScalarType dtype=float) -> Tensor"
    functions = (
        f"- func: {each}\n  op_api: all_version\n" for each in ("npu_t(Tensor x) -> Tensor", called)
    )
    write(
        tmp_path,
        "".join(functions),
        "backward:\n- name: npu_t(Tensor x) -> Tensor\n  x: npu_called(grad)\n",
    )
    with pytest.raises(OpwrightError, match=r"(?s)no 'dtype' for npu_called.*give the argument"):
        emit_units(read_entries(read_inputs([tmp_path])), "", python_meta=())


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("grad // 2", "comment"),
        ("grad * (y ** 2)", "pow"),
        ("grad @ y", "matmul"),
        ("grad * (0 < k < 3)", "compares"),
        ("grads[1] * y", r"grads\[0\]"),
        ("grads[-1] * y", r"grads\[0\]"),
        ("grad.sum(dim=0)", "by name"),
        ("'grad.sum([0, 1])'", "braces"),
        ("grad if k else y", "no such expression"),
        ("grad * sum(x, dim=0)", "no arguments by name"),
        ("torch.vmap(x)", "no operator of torch"),
    ],
)
def test_what_is_python_alone_is_refused(tmp_path: Path, formula: str, message: str) -> None:
    schema = "npu_t(Tensor x, Tensor y, int k) -> Tensor"
    write(
        tmp_path,
        f"- func: {schema}\n  op_api: all_version\n",
        f"backward:\n- name: {schema}\n  x: {formula}\n",
    )
    with pytest.raises(OpwrightError, match=f"(?s)OPW-E102.*{message}"):
        emit_units(read_entries(read_inputs([tmp_path])), "", python_meta=())


def test_operators_of_torch_that_a_formula_calls_are_included(tmp_path: Path) -> None:
    schema, formulas, _ = FORMULAS["operators of torch"]
    functions = f"- func: {schema}\n  op_api: all_version\n"
    write(tmp_path, functions, f"backward:\n- name: {schema}\n  {formulas}\n")
    units = emit_units(read_entries(read_inputs([tmp_path])), "", python_meta=())
    text = units["csrc/autograd.cpp"]
    names = ("cos", "threshold_backward", "where")
    assert all(f"#include <ATen/ops/{name}.h>" in text for name in names)


def test_words_and_braces_of_cpp_stay(tmp_path: Path) -> None:
    schema = "npu_t(Tensor x) -> Tensor"
    write(
        tmp_path,
        f"- func: {schema}\n  op_api: all_version\n",
        f"backward:\n- name: {schema}\n  x: 'grad.sum({{0, 1}}, true).neg()'\n",
    )
    text = emit_units(read_entries(read_inputs([tmp_path])), "", python_meta=())
    assert "return {grads[0].sum({0, 1}, true).neg()};" in text["csrc/autograd.cpp"]


def test_a_gradient_of_what_is_no_argument_is_reported(tmp_path: Path) -> None:
    schema = "npu_t(Tensor self) -> Tensor"
    write(
        tmp_path,
        f"- func: {schema}\n  op_api: all_version\n",
        f"backward:\n- name: {schema}\n  slef: grad\n  result: auto_linear\n",
    )
    with pytest.raises(OpwrightError, match=r"(?s)OPW-S002.*derivatives.yaml:2.*'slef'.*self"):
        read_entries(read_inputs([tmp_path]))


def test_the_place_of_a_derivative_whose_default_is_written_differently(tmp_path: Path) -> None:
    write(
        tmp_path,
        "- func: npu_t(Tensor x, float alpha=1.0) -> Tensor\n  op_api: all_version\n",
        "backward:\n- name: npu_t(Tensor x, float alpha=1) -> Tensor\n  x: grad * alpha\n",
    )
    (place,) = read_entries(read_inputs([tmp_path])).derivatives.items()
    assert place[0] == "npu_t"
    assert str(place[1]).endswith("derivatives.yaml:2")


def test_a_derivative_that_names_nothing_is_reported_with_its_place(tmp_path: Path) -> None:
    write(
        tmp_path,
        "- func: npu_t(Tensor x) -> Tensor\n  op_api: all_version\n",
        "backward:\n- name: npu_t(Tensor x) -> Tensor\n  x: npu_t_backwrd(grad)\n",
    )
    with pytest.raises(OpwrightError, match=r"(?s)operator npu::npu_t.*npu_t_backwrd"):
        read_entries(read_inputs([tmp_path]))
