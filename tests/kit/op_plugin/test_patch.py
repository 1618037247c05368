"""`opwright op-plugin patch`: the patch applies, and obstacles are reported."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from opwright.cli import app
from opwright.errors import OpwrightError
from opwright.kit.op_plugin.diff import Change, patch_text
from opwright.kit.op_plugin.patch import make_patch
from opwright.pairs import installed_minor

if TYPE_CHECKING:
    from pathlib import Path

FUNCTIONS = """\
all_version: [v2.1, vNEWEST]
official:
  - func: abs(Tensor self) -> Tensor
    op_api: all_version

custom:
  - func: npu_other(Tensor x) -> Tensor
    op_api: [v2.1, newest]
    gen_opapi:
      exec: aclnnOther

symint:
""".replace("NEWEST", installed_minor())
CUSTOM = "third_party/torchair/torchair/python/torchair/_ge_concrete_graph/ge_converter/custom"
ENTRY = "- func: npu_t(Tensor x) -> Tensor\n  op_api: all_version\n"
KERNEL = "namespace op_api {\nat::Tensor npu_t(const at::Tensor& x) { return x; }\n}"
# Text: files of users, as are the others.
META = "from torch.library import impl\n\n\n@impl(m, 'npu_t')\ndef f(x): ...\n"
CONVERTER = """\
import torchair
from torchair import register_fx_node_ge_converter


@register_fx_node_ge_converter(torch.ops.npu.npu_t.default)
def convert(x, meta_outputs=None): ...
"""


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Return a folder with all kinds of files."""
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "op_plugin_functions.yaml").write_text(ENTRY)
    (folder / "derivatives.yaml").write_text(
        "backward:\n- name: npu_t(Tensor x) -> Tensor\n  x: npu_t(grad)\n"
    )
    (folder / "TKernelNpuApi.cpp").write_text(KERNEL)
    (folder / "t_meta.py").write_text(META)
    (folder / "t_converter.py").write_text(CONVERTER)
    return folder


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a checkout of torch_npu with what a patch looks at."""
    root = tmp_path / "pytorch"
    files = {
        "third_party/op-plugin/op_plugin/config/op_plugin_functions.yaml": FUNCTIONS,
        "third_party/op-plugin/op_plugin/config/derivatives.yaml": "backward:\n- name: g() -> ()\n",
        "third_party/op-plugin/op_plugin/python/meta/_meta_registrations.py": "m = None",
        f"{CUSTOM}/__init__.py": "",
    }
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


def apply(root: Path, patch: str) -> None:
    """Apply a patch as its user does."""
    alone = {**os.environ, "GIT_CEILING_DIRECTORIES": str(root.parent)}
    command = ["git", "apply", "-"]
    subprocess.run(command, cwd=root, env=alone, input=patch, text=True, check=True)


def test_the_patch_brings_every_file_to_its_place(sources: Path, tree: Path) -> None:
    patch = make_patch([sources], tree)
    apply(tree, patch.text)
    plugin = tree / "third_party" / "op-plugin" / "op_plugin"
    config = plugin / "config"
    assert (config / "op_plugin_functions.yaml").read_text() == FUNCTIONS.replace(
        "custom:\n",
        "custom:\n  - func: npu_t(Tensor x) -> Tensor\n    op_api: all_version\n\n",
    )
    assert (config / "derivatives.yaml").read_text() == (
        "backward:\n- name: npu_t(Tensor x) -> Tensor\n  x: npu_t(grad)\n\n- name: g() -> ()\n"
    )
    assert (plugin / "ops" / "opapi" / "TKernelNpuApi.cpp").read_text() == f"{KERNEL}\n"
    assert (plugin / "python" / "meta" / "t_meta.py").read_text() == META
    assert (plugin / "python" / "meta" / "_meta_registrations.py").read_text() == (
        "m = None\n\nimport torch_npu.op_plugin.meta.t_meta  # noqa: E402, F401\n"
    )
    # TorchAir imports this folder before it has the function itself.
    assert (tree / CUSTOM / "t_converter.py").read_text() == CONVERTER.replace(
        "from torchair import", "from torchair._ge_concrete_graph.fx2ge_converter import"
    )


def test_a_tree_that_has_all_of_it_needs_no_patch(sources: Path, tree: Path) -> None:
    apply(tree, make_patch([sources], tree).text)
    again = make_patch([sources], tree)
    assert (again.text, again.paths) == ("", ())
    assert again.notes[-1].endswith("has all of it already")


def test_a_tree_of_op_plugin_alone_gets_no_converter(sources: Path, tree: Path) -> None:
    plugin = tree / "third_party" / "op-plugin"
    patch = make_patch([sources], plugin)
    apply(plugin, patch.text)
    assert patch.paths[0] == "op_plugin/config/op_plugin_functions.yaml"
    assert not [path for path in patch.paths if "converter" in path]
    assert "t_converter.py is left out" in patch.left_out[-1]


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        (
            "op_plugin_functions.yaml",
            "- func: npu_other(Tensor x, Tensor y) -> Tensor\n  op_api: all_version\n",
            "an entry for npu_other that differs",
        ),
        (
            "t_converter.py",
            "import torchair\ntorchair.register_fx_node_ge_converter\n",
            "another form",
        ),
        ("t_converter.py", f"{CONVERTER}{META}", "Meta functions and converters in one file"),
    ],
)
def test_what_is_in_the_way_is_reported(
    sources: Path, tree: Path, file: str, text: str, message: str
) -> None:
    (sources / "derivatives.yaml").unlink()
    (sources / file).write_text(text)
    with pytest.raises(OpwrightError, match=rf"(?s)OPW-O008.*{message}"):
        make_patch([sources], tree)


def test_a_kernel_of_the_same_name_is_reported(sources: Path, tree: Path) -> None:
    kernel = tree / "third_party/op-plugin/op_plugin/ops/opapi/TKernelNpuApi.cpp"
    kernel.parent.mkdir(parents=True)
    kernel.write_text("// another\n")
    with pytest.raises(OpwrightError, match=r"(?s)OPW-O008.*TKernelNpuApi.cpp.*rename yours"):
        make_patch([sources], tree)


def test_the_command_writes_the_file_and_says_what_it_changes(sources: Path, tree: Path) -> None:
    out = sources.parent / "out.patch"
    arguments = ["op-plugin", "patch", str(sources), "--tree", str(tree)]
    result = CliRunner().invoke(app, [*arguments, "-o", str(out)])
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[-2:] == [f"{CUSTOM}/t_converter.py", str(out)]
    printed = CliRunner().invoke(app, arguments)
    assert printed.stdout == out.read_text()


LINES = st.lists(st.sampled_from(["a", "b", "", " c"]), max_size=12)


@settings(max_examples=25)
@given(LINES, LINES, st.booleans(), st.booleans())
def test_git_makes_of_the_text_before_the_text_after(
    tmp_path_factory: pytest.TempPathFactory,
    before: list[str],
    after: list[str],
    ends_before: bool,  # noqa: FBT001 - hypothesis calls it
    ends_after: bool,  # noqa: FBT001
) -> None:
    old = "\n".join(["first", *before]) + "\n" * ends_before
    new = "\n".join(["first", *after]) + "\n" * ends_after
    root = tmp_path_factory.mktemp("tree")
    (root / "f").write_text(old)
    text = patch_text((Change(path="f", before=old, after=new),))
    if old == new:
        assert text == ""
        return
    apply(root, text)
    assert (root / "f").read_text() == new
