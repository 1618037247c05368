"""`opwright import` and `opwright export` as a user runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import typer
from typer.testing import CliRunner

from opwright.command_line.files import write_atomically
from opwright.errors import OpwrightError
from opwright.kit.formats.command import export, import_
from opwright.kit.formats.files import namespace_of, read_file
from opwright.pairs import installed_minor
from tests.kit.formats.test_op_plugin import DERIVATIVES, FUNCTIONS, content

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

app = typer.Typer()
app.command("import")(import_)
app.command("export")(export)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)], catch_exceptions=False)


@pytest.fixture
def functions(tmp_path: Path) -> Path:
    path = tmp_path / "functions.yaml"
    path.write_text(FUNCTIONS)
    (tmp_path / "derivatives.yaml").write_text(DERIVATIVES)
    return path


def test_import_prints_the_module_and_says_what_it_read(functions: Path) -> None:
    result = run("import", functions, "--only", "twist", "--namespace", "mine")
    assert result.exit_code == 0
    assert result.stdout == (
        '"""Operators of mine, read from functions.yaml."""\n\n'
        "from __future__ import annotations\n\n"
        "import opwright as ow\n\n"
        'ops = ow.OperatorSet("mine", torch=">=2.4,<2.8")\n\n'
        "ops.declare(\n"
        '    "twist(Tensor x, int n) -> Tensor",\n'
        '    aclnn="aclnnTwist",\n'
        '    shapes={"out": ow.cpp("twist_output_size(x, n)")},\n'
        '    dtypes={"out": ow.cpp("isFloat(x) ? at::kFloat : x.scalar_type()")},\n'
        "    upstream={\n"
        '        "section": "custom",\n'
        '        "gen_opapi.new_params": \'{turns: "n > 0 ? n : compute_turns(x)"}\',\n'
        '        "gen_opapi.exec": \'"aclnnTwist, x, turns, out"\',\n'
        "    },\n"
        ")\n"
    )
    place = f"{functions}:54, twist"
    assert result.stderr == (
        f"read {functions}, op-plugin's YAML: 1 operator\n"
        "1 older variant not read: --torch VERSION reads another version's\n"
        "parameter of the aclnn function is C++: 1 time\n"
        f"  {place}: n > 0 ? n : compute_turns(x)\n"
        "C++ expression kept as cpp(): 2 times\n"
        f"  {place}: twist_output_size(x, n)\n"
        f"  {place}: isFloat(x) ? at::kFloat : x.scalar_type()\n"
    )


def test_import_and_export_give_the_same_yaml(functions: Path, tmp_path: Path) -> None:
    module = tmp_path / "mine.py"
    derivatives = tmp_path / "derivatives.yaml"
    result = run("import", functions, "--derivatives", derivatives, "-o", module)
    assert result.exit_code == 0
    assert result.stdout == ""
    out = tmp_path / "out"
    assert run("export", module, "-o", out).exit_code == 0
    # The older variant of fold is not in the module.
    entry = "  - func: fold(Tensor x) -> Tensor\n    op_api: [v2.4, v2.5]\n"
    written = (out / "op_plugin_functions.yaml").read_text()
    assert content(written) == content(FUNCTIONS.replace(entry, ""))
    assert content((out / "derivatives.yaml").read_text()) == content(DERIVATIVES)


def test_a_file_is_never_overwritten_without_force(functions: Path, tmp_path: Path) -> None:
    module = tmp_path / "mine.py"
    module.write_text("# mine\n")
    with pytest.raises(OpwrightError) as caught:
        run("import", functions, "-o", module)
    assert str(caught.value) == (
        "OPW-S007 the file exists already\n"
        f"  where:   {module}\n"
        "  got:     a file with another content\n"
        "  fix:     choose another name, or overwrite it with --force"
    )
    assert module.read_text() == "# mine\n"
    assert run("import", functions, "-o", module, "--force").exit_code == 0
    assert run("import", functions, "-o", module).stderr.endswith(f"unchanged {module}\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "derivatives.yaml",
        "functions.yaml",
        "mine.py",
    ]


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    assert write_atomically(folder / "a.py", "a\n")
    assert not write_atomically(folder / "a.py", "a\n")
    assert (folder / "a.py").stat().st_mode & 0o777 == 0o644
    with pytest.raises(UnicodeEncodeError):
        write_atomically(folder / "b.py", "\ud800")
    assert [path.name for path in folder.iterdir()] == ["a.py"]


def test_an_operator_left_out_is_exit_code_1(tmp_path: Path) -> None:
    header = tmp_path / "ops.h"
    header.write_text(
        "REG_OP(A).INPUT(x, TensorType::ALL()).REQUIRED_ATTR(p, ListListInt)"
        ".OP_END_FACTORY_REG(A)\n#if 1\n#else\n#endif\n"
    )
    result = run("import", header)
    assert result.exit_code == 1
    assert "left out, a required attribute has no type in a schema: 1 time" in result.stderr
    assert "branch of #if not read: 1 time" in result.stderr


def test_export_says_what_yaml_cannot(tmp_path: Path) -> None:
    module = tmp_path / "declared.py"
    module.write_text(  # text: the file of a user
        "import opwright as ow\n"
        f'ops = ow.OperatorSet("mine", torch="=={installed_minor()}.*")\n'
        "ops.declare(\"gate(Tensor x, Tensor g, *, str mode='a') -> (Tensor y, Tensor z)\",\n"
        '    shapes={"x": "*b, N", "g": "N", "y": ow.like("x"), "z": "N, 2"},\n'
        '    dtypes={"x": "float16 float32"}, layouts={"x": "contiguous"},\n'
        '    backward="gate_backward(grads[0], x, g)")\n'
        'ops.declare("pair(Tensor x) -> Tensor", aclnn=False)\n'
    )
    result = run("export", module)
    assert result.exit_code == 1
    assert result.stdout == (
        "# op_plugin_functions.yaml\n"
        f"all_version: [v{installed_minor()}]\n\n"
        "official:\n\n"
        "custom:\n"
        "  # not said here: the shape of x: *b, N\n"
        "  # not said here: the shape of g: N\n"
        "  # not said here: the dtypes of x: float16 float32\n"
        "  # not said here: the layout of x: contiguous\n"
        "  - func: gate(Tensor x, Tensor g, *, str mode='a') -> (Tensor y, Tensor z)\n"
        "    op_api: all_version\n"
        "    gen_opapi:\n"
        '      "y":\n'
        "        size: x\n"
        "        dtype: x\n"
        "      z:\n"
        '        size: "{x.size(-1), 2L}"\n'
        "        dtype: x\n"
        "      new_params:\n"
        "        mode_value: const_cast<char *>(mode.data())\n"
        "      exec: aclnnGate, x, g, mode_value, y, z\n\n"
        "  # pair(Tensor x) -> Tensor\n"
        "  # is left out: an operator made of others (aclnn=False)\n\n"
        "autograd:\n\nsymint:\n\nquant:\n\n"
        "# derivatives.yaml\n"
        f"all_version: [v{installed_minor()}]\n\n"
        "backward:\n"
        "- name: gate(Tensor x, Tensor g, *, str mode='a') -> (Tensor y, Tensor z)\n"
        "  version: all_version\n"
        "  x, g: gate_backward(grads[0], x, g)\n"
    )
    assert result.stderr.splitlines()[-1] == (
        "not said: pair: an operator made of others (aclnn=False)"
    )


@pytest.mark.parametrize(
    ("content_of_file", "got"),
    [(b"hello: 1\n", "a text that begins with 'hello: 1'"), (b"\xff\xfe", None)],
)
def test_a_file_of_no_known_kind(tmp_path: Path, content_of_file: bytes, got: str | None) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content_of_file)
    with pytest.raises(OpwrightError) as caught:
        read_file(path)
    assert caught.value.id == "OPW-S005"
    if got:
        assert str(caught.value) == (
            "OPW-S005 no source of declarations\n"
            f"  where:   {path}\n"
            f"  got:     {got}\n"
            "  fix:     give op-plugin's YAML, a C++ file with REG_OP or OpDef, or a JSON file "
            "for msOpGen"
        )


def test_namespaces(tmp_path: Path) -> None:
    names = ["op-plugin.yaml", "3d.h", "Ops.v2.json"]
    assert [namespace_of(tmp_path / name) for name in names] == ["op_plugin", "ops_3d", "ops_v2"]
