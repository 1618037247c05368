"""The author's functions, taken from the declaration without what declares operators."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING

import pytest

from opwright.kit.emit.options import EmitOptions
from opwright.kit.emit.python.errors import ForeignFunctionError, OpwrightUseError
from opwright.kit.emit.python.kernels import emit_reference
from opwright.kit.emit.python.source import extract
from tests.kit.emit.facts import facts_of_text

if TYPE_CHECKING:
    from pathlib import Path

# Declarations are text here: how they are written is what the tests are about.
OPERATOR = '@ops.operator("f(Tensor x) -> Tensor")\n'


def reference(folder: Path, text: str) -> str:
    """Return what is emitted, without header and imports."""
    facts = facts_of_text(folder, text)
    return emit_reference(facts, extract(facts), EmitOptions(package="declared", torch="2.13"))


def functions(text: str) -> dict[str, object]:
    """Run an emitted module."""
    module = types.ModuleType("emitted")
    exec(compile(text, "emitted", "exec"), vars(module))  # noqa: S102 - that is what it is for
    return vars(module)


def test_helpers_and_constants_come_along_and_others_do_not(tmp_path: Path) -> None:
    text = reference(
        tmp_path,
        "import math, os\n"
        "from json import dumps, loads as read\n"
        "A = 2\n"
        "B = A * math.pi  # used\n"
        "C = 3\n"
        "# Of the tables.\n"
        "TABLE = {}\n"
        "TABLE['key'] = read('[1]')\n"
        "print('side effect')\n"
        "def helper(x): return x * B\n"
        "def unused(x): return os\n"
        + OPERATOR
        + "def f(x):\n    return helper(x) + TABLE['key'][0]\n",
    )
    body = text.partition("annotations\n")[2]
    assert body == (
        "\nimport math\nfrom json import loads as read\n"
        "\nA = 2\n\nB = A * math.pi  # used\n"
        "\n# Of the tables.\nTABLE = {}\n\nTABLE['key'] = read('[1]')\n"
        "\n\ndef helper(x): return x * B\n"
        "\n\ndef f(x):\n    return helper(x) + TABLE['key'][0]\n"
    )
    found = functions(text)["f"]
    assert callable(found)
    assert found(0.0) == 1.0


def test_the_name_of_an_operator_is_the_operator(tmp_path: Path) -> None:
    text = reference(
        tmp_path,
        OPERATOR
        + "def f(x): return x\n"
        + '@ops.operator("g.more(Tensor x, Tensor f) -> Tensor", aclnn=False)\n'
        + "def g(x, f): return f\n"
        + '@ops.operator("h(Tensor x) -> Tensor", aclnn=False)\n'
        + "def h(x):\n"
        + "    y = [f(each) for each in x]\n"
        + "    return f.reference(g(y, (lambda f: f)(x)))\n",
    )
    assert "from declared._ops import ops as _ops" in text
    assert "    y = [_ops.f.default(each) for each in x]\n" in text
    assert "    return f(_ops.g.more(y, (lambda f: f)(x)))\n" in text
    assert "def g(x, f): return f\n" in text


def test_functions_of_one_name_get_their_own(tmp_path: Path) -> None:
    facts = facts_of_text(
        tmp_path,
        OPERATOR
        + "def f(x): return x\n"
        + "@f.backward()\ndef _(grad): return grad\n"
        + "@f.vmap\ndef _(info, in_dims, x):\n    return x, in_dims[0]\n",
    )
    extracted = extract(facts)
    assert sorted(extracted.names.values()) == ["f", "f_backward", "f_vmap"]
    assert [text.partition("(")[0] for text in extracted.body] == [
        "def f",
        "def f_backward",
        "def f_vmap",
    ]


def test_a_lambda_is_given_a_name(tmp_path: Path) -> None:
    text = reference(tmp_path, 'f = ops.operator("f(Tensor x) -> Tensor")(lambda x: x + 1)\n')
    assert "f_reference = lambda x: x + 1\n" in text


def test_imports_for_type_checkers_stay_behind_their_condition(tmp_path: Path) -> None:
    text = reference(
        tmp_path,
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from pathlib import Path\n    from os import PathLike\n"
        "    from opwright.kit.declare.sample import Sample\n"
        "def use(path: Path) -> None: ...\n"
        "def samples() -> list[Sample]: ...\n" + OPERATOR + "def f(x):\n    use(x)\n    return x\n",
    )
    assert "if TYPE_CHECKING:\n    from pathlib import Path\n\n" in text
    assert "Sample" not in text
    assert "PathLike" not in text


@pytest.mark.parametrize(
    ("body", "got", "line"),
    [
        ("def f(x):\n    return ow.like(x)\n", "ow.like", 5),
        ("def f(x):\n    return ops\n", "ops", 5),
        ("def f(x):\n    return ALIAS\n", "ALIAS", 5),
        ("def f(x):\n    import opwright\n    return x\n", "import opwright", 5),
    ],
)
def test_a_use_of_opwright_is_refused_with_its_line(
    tmp_path: Path, body: str, got: str, line: int
) -> None:
    with pytest.raises(OpwrightUseError) as caught:
        reference(tmp_path, f"{OPERATOR}{body}ALIAS = ow.like\n")
    assert caught.value.where == f"{tmp_path / 'declared.py'}:{line}"
    assert caught.value.got == got


def test_the_text_of_the_refusal(tmp_path: Path) -> None:
    with pytest.raises(OpwrightUseError) as caught:
        reference(tmp_path, OPERATOR + "def f(x):\n    return ow.sample(x=x)\n")
    assert str(caught.value) == (
        "OPW-E001 a shipped function uses opwright\n"
        f"  where:   {tmp_path / 'declared.py'}:5\n"
        "  got:     ow.sample\n"
        "  fix:     use torch and plain Python in references, backward and vmap functions"
    )


def test_a_function_inside_another_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ForeignFunctionError) as caught:
        reference(
            tmp_path,
            "def make(n):\n    def inner(x): return x * n\n    return inner\n"
            'ops.operator("f(Tensor x) -> Tensor")(make(2))\n',
        )
    assert caught.value.got == "a function inside another one: make.<locals>.inner"


def test_a_function_of_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("def inner(x): return x\n")
    with pytest.raises(ForeignFunctionError) as caught:
        reference(
            tmp_path,
            'import beside\nops.operator("f(Tensor x) -> Tensor")(beside.inner)\n',
        )
    assert caught.value.got == "a function of another file: beside.inner"


def test_a_name_that_nothing_defines_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ForeignFunctionError) as caught:
        reference(tmp_path, OPERATOR + "def f(x):\n    return missing(x)\n")
    assert caught.value.got == "the name 'missing', which the file does not define"


def test_modules_of_one_import_are_taken_apart(tmp_path: Path) -> None:
    text = reference(
        tmp_path,
        "import opwright, math, os\n" + OPERATOR + "def f(x):\n    return x * math.pi\n",
    )
    assert "import math\n" in text
    assert "opwright" not in text.partition("annotations\n")[2]
    assert "import os" not in text
