"""op-plugin's files as they are read, and the errors where they are wrong."""

# ruff: noqa: E501 - generated C++ as it is

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from opwright.errors import OpwrightError
from opwright.kit.op_plugin.entries import read_entries
from opwright.kit.op_plugin.headers import emit_headers
from opwright.kit.op_plugin.inputs import read_inputs
from opwright.kit.op_plugin.library import report_undefined
from opwright.kit.op_plugin.python_files import read_module
from opwright.kit.op_plugin.request import Request, check_name
from opwright.kit.op_plugin.signatures import signature
from opwright.kit.op_plugin.structured import structured_kernel
from opwright.kit.op_plugin.units import emit_units
from opwright.pairs import installed_minor
from tests.kit.op_plugin.extensions import FUNCTIONS, write

if TYPE_CHECKING:
    from pathlib import Path

GEN = """\
- func: npu_t(Tensor x, str mode, int n) -> Tensor
  op_api: all_version
  gen_opapi:
    out:
      size: x
      dtype: x
    exec: {call}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let paths be shown from the folder of the test."""
    monkeypatch.chdir(tmp_path)


def error_about(tmp_path: Path, text: str) -> str:
    """Return the error about a YAML file, as for the wheel, without a compiler."""
    write(tmp_path, text)
    try:
        emit_units(read_entries(read_inputs([tmp_path])), "f.yaml", python_meta=())
    except OpwrightError as error:
        return str(error)
    pytest.fail("nothing is reported")


@pytest.mark.parametrize("form", ["entries", "sections"])
def test_entries_alone_are_read_as_the_section_custom(tmp_path: Path, form: str) -> None:
    entries = "  - func: npu_t(Tensor x) -> Tensor\n    op_api: [v2.2, newest]\n"
    write(tmp_path, f"custom:\n{entries}" if form == "sections" else entries)
    read = read_entries(read_inputs([tmp_path / "f.yaml"]))
    (entry,) = read.entries
    assert (entry.where, entry.kernels, entry.gen) == (
        f"f.yaml:{2 if form == 'sections' else 1}, operator npu::npu_t",
        ("op_api",),
        None,
    )


def test_the_key_before_2024_is_understood(tmp_path: Path) -> None:
    write(tmp_path, "- func: npu_t(Tensor x) -> Tensor\n  impl_ns: acl_op, op_api\n")
    (entry,) = read_entries(read_inputs([tmp_path])).entries
    assert entry.kernels == ("op_api", "acl_op")


FAULTS = {
    "a key of an entry": (
        "- func: npu_t(Tensor x) -> Tensor\n  op_api: all_version\n  gen_opapy:\n    exec: a\n",
        (
            "OPW-O003 the YAML has unknown keys\n  where:   f.yaml\n  got:     1 error\n"
            "  fix:     mend each of them\n\n"
            "OPW-O002 not a key of op-plugin's YAML\n"
            "  where:   f.yaml:3, operator npu_t\n"
            "  got:     'gen_opapy'\n"
            "  allowed: gen_opapi, acl_op, "
        ),
    ),
    "a key of an output": (
        (
            "custom:\n- func: npu_t(Tensor x) -> Tensor\n  op_api: all_version\n  gen_opapi:\n"
            "    out:\n      sise: x\n    exec: aclnnT\n"
        ),
        (
            "  where:   f.yaml:6, operator npu_t, gen_opapi, out\n"
            "  got:     'sise'\n  allowed: size, dtype, name\n"
        ),
    ),
    "a section": (
        "costum:\n- func: npu_t(Tensor x) -> Tensor\n",
        "  where:   f.yaml:1, the file\n  got:     'costum'\n  allowed: all_version, autograd, custom, ",
    ),
    "a section of PyTorch's operators": (
        "official:\n- func: abs(Tensor self) -> Tensor\n  op_api: all_version\n",
        (
            "OPW-O004 the entry cannot be built outside of op-plugin's tree\n"
            "  where:   f.yaml:2, operator abs\n  got:     section official, "
        ),
    ),
    "a version": (
        "- func: npu_t(Tensor x) -> Tensor\n  op_api: v2.1\n",
        (
            "OPW-O005 no entry is for the installed torch\n  where:   f.yaml\n"
            f"  got:     torch {installed_minor()}; f.yaml:1: npu_t is left out, not for "
            f"{installed_minor()}\n"
        ),
    ),
    "the schema": (
        "- func: npu_t(Tensr x) -> Tensor\n  op_api: all_version\n",
        "  where:   f.yaml:1, ",
    ),
    "a parameter of the call": (
        GEN.format(call="aclnnT, x, m, out"),
        (
            "  where:   f.yaml:1, operator npu::npu_t, gen_opapi, exec\n"
            "  got:     'm'\n  allowed: mode, n, out, x\n"
        ),
    ),
    "a text as parameter": (
        GEN.format(call="aclnnT, x, mode, n, out"),
        (
            "  got:     str mode, which EXEC_NPU_CMD does not turn into char *\n"
            "  fix:     add new_params: {mode_chars: const_cast<char *>(mode.data())} and pass "
            "mode_chars"
        ),
    ),
    "an output without size": (
        (
            "- func: npu_t(Tensor x) -> Tensor\n  op_api: all_version\n  gen_opapi:\n"
            "    out:\n      dtype: x\n    exec: aclnnT\n"
        ),
        "  where:   f.yaml:1, operator npu::npu_t, gen_opapi, out\n  got:     no size\n",
    ),
    "a dispatch key": (
        (
            "- func: npu_t(int n) -> Tensor\n  op_api: all_version\n"
            "  dispatch:\n    CompositExplicit: npu_t\n"
        ),
        "  where:   f.yaml:1, operator npu_t, dispatch\n  got:     CompositExplicit\n",
    ),
    "a key that is not for the wheel": (
        "- func: npu_t(Tensor x) -> Tensor\n  op_api: all_version\n  sparse: all_version\n",
        "  where:   f.yaml:1, operator npu_t\n  got:     sparse, ",
    ),
    "aliases that grow without end": (
        "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10) if n else 1}]\n" for n in range(8)),
        "  got:     values in values, or aliases, without end\n",
    ),
    "a value in itself": (
        "- &a\n  func: *a\n",
        "  where:   f.yaml:1\n  got:     values in values, or aliases, without end\n",
    ),
    "deep brackets": (
        "- func: " + "[" * 500 + "]" * 500,
        "  where:   f.yaml:1\n  got:     values in values, or aliases, without end\n",
    ),
    # libyaml, from some version on, stops before the check of depth does, in words of its own.
    "brackets without end": ("- func: " + "[" * 100_000 + "]" * 100_000, "  where:   f.yaml:1\n"),
    "a key that is a list": (
        "- ? [func]\n  : npu_t(Tensor x) -> Tensor\n",
        "  where:   f.yaml:1\n  got:     a key that is no text\n",
    ),
    "a tag of Python": (
        "- func: !!python/name:os.system\n",
        "  where:   f.yaml:1\n  got:     tag tag:yaml.org,2002:python/name:os.system\n",
    ),
    "a number that is none": (
        "- func: !!int abc\n",
        "  where:   f.yaml:1\n  got:     'abc' with tag int\n",
    ),
    "a date that is none": (
        "- func: 2020-99-99\n",
        "  where:   f.yaml:1, schema 2020-99-99\n  got:     '2020-99-99'\n",
    ),
    "nothing decides the device": (
        (
            "- func: npu_t(int n) -> Tensor\n  op_api: all_version\n  gen_opapi:\n"
            "    out:\n      size: '{n}'\n      dtype: at::kFloat\n    exec: aclnnT\n"
        ),
        "nothing decides the device",
    ),
}


@pytest.mark.parametrize("what", FAULTS)
def test_a_mistake_in_the_yaml_is_reported_with_its_place(tmp_path: Path, what: str) -> None:
    text, expected = FAULTS[what]
    assert expected in error_about(tmp_path, text)


def test_paths_that_are_no_extension_are_reported(tmp_path: Path) -> None:
    with pytest.raises(OpwrightError, match=r"(?s)OPW-O001.*no YAML file with functions"):
        read_inputs([tmp_path])
    with pytest.raises(OpwrightError, match=r"(?s)OPW-O001.*no such file or folder"):
        read_inputs([tmp_path / "absent"])
    (tmp_path / "k.cc").touch()
    with pytest.raises(OpwrightError, match=r"(?s)a file \*\.cc.*\.cpp"):
        read_inputs([tmp_path / "k.cc"])
    (tmp_path / "f.yaml").write_bytes(b"# \xff")
    with pytest.raises(OpwrightError, match=r"(?s)OPW-O001.*f.yaml.*utf-8"):
        read_entries(read_inputs([tmp_path / "f.yaml"]))
    (tmp_path / "k.cc").unlink()
    (tmp_path / "g.yaml").touch()
    with pytest.raises(OpwrightError, match=r"2 YAML files of functions: f.yaml, g.yaml"):
        read_inputs([tmp_path])


SIGNATURES = {
    "npu_t_mul": "at::Tensor npu_t_mul(const at::Tensor& x, const at::Tensor& y, double alpha)",
    "npu_t_accumulate_": "at::Tensor& npu_t_accumulate_(at::Tensor& self, const at::Tensor& other)",
    "npu_t_stats.out": (
        "at::Tensor& npu_t_stats_out(const at::Tensor& x, at::IntArrayRef dim, bool keepdim, "
        "at::Tensor& out)"
    ),
    "npu_t_kinds": (
        "std::tuple<at::Tensor, at::Tensor> npu_t_kinds(const at::Tensor& x, int64_t n, "
        "at::IntArrayRef shape, const std::optional<at::Tensor>& mask, c10::string_view mode, "
        "std::optional<at::ScalarType> dtype, const at::Scalar& s, at::TensorList more, "
        "at::OptionalIntArrayRef dims)"
    ),
}


def test_the_functions_are_those_of_op_plugins_interface(tmp_path: Path) -> None:
    write(tmp_path, FUNCTIONS)
    entries = read_entries(read_inputs([tmp_path / "f.yaml"])).entries
    found = {entry.facts.name: signature(entry).declaration() for entry in entries}
    assert {name: found[name] for name in SIGNATURES} == SIGNATURES
    headers = emit_headers(entries, "f.yaml")
    declared = headers["include/op_plugin/OpApiInterface.h"]
    assert all(f"\n{text};\n" in declared for text in SIGNATURES.values())
    assert "npu_t_fallback(const at::Tensor& x);" in headers["include/op_plugin/AclOpsInterface.h"]


def test_symbolic_sizes_stay_symbolic_in_the_section_symint(tmp_path: Path) -> None:
    func = "npu_t(Tensor x, SymInt n, SymInt[] shape) -> Tensor"
    entry = f"  - func: {func}\n    op_api: all_version\n"
    write(tmp_path, f"custom:\n{entry}symint:\n{entry}")
    (found,) = read_entries(read_inputs([tmp_path])).entries
    assert signature(found).declaration() == (
        "at::Tensor npu_t_symint(const at::Tensor& x, c10::SymInt n, c10::SymIntArrayRef shape)"
    )


KERNELS = {
    "npu_t_mul": """\
// f.yaml, line 4
at::Tensor npu_t_mul(const at::Tensor& x, const at::Tensor& y, double alpha) {
  auto alpha_value = static_cast<float>(alpha);
  at::Tensor out = npu_preparation::apply_tensor_without_format(broadcast_ops_npu_output_size(x, y),
                                                                x.options().dtype(x.scalar_type()));
  EXEC_NPU_CMD(aclnnTMul, x, y, alpha_value, out);
  return out;
}
""",
    "npu_t_accumulate_": """\
// f.yaml, line 14
at::Tensor& npu_t_accumulate_(at::Tensor& self, const at::Tensor& other) {
  EXEC_NPU_CMD(aclnnTAccumulate, self, other);
  return self;
}
""",
    "npu_t_stats.out": """\
// f.yaml, line 25
at::Tensor& npu_t_stats_out(const at::Tensor& x, at::IntArrayRef dim, bool keepdim, at::Tensor& out) {
  npu_preparation::check_tensor({x}, out, x.scalar_type(), reduce_ops_npu_output_size(x, dim, keepdim));
  EXEC_NPU_CMD(aclnnTStats, x, dim, keepdim, out);
  return out;
}
""",
    "npu_t_fallback": """\
// f.yaml, line 40
at::Tensor npu_t_fallback(const at::Tensor& x) {
  DO_COMPATIBILITY(aclnnTAbsent, acl_op::npu_t_fallback(x));
  at::Tensor out = npu_preparation::apply_tensor_without_format(x.sizes(), x.options().dtype(x.scalar_type()));
  EXEC_NPU_CMD(aclnnTAbsent, x, out);
  return out;
}
""",
}


@pytest.mark.parametrize("name", KERNELS)
def test_gen_opapi_becomes_a_kernel(tmp_path: Path, name: str) -> None:
    write(tmp_path, FUNCTIONS)
    entries = read_entries(read_inputs([tmp_path / "f.yaml"])).entries
    (entry,) = (each for each in entries if each.facts.name == name)
    assert "\n".join(structured_kernel(entry)) == KERNELS[name]


def test_derivatives_and_python_meta_decide_what_is_registered(tmp_path: Path) -> None:
    schema = "npu_t(Tensor x) -> Tensor"
    gen = "  gen_opapi:\n    out:\n      size: x\n      dtype: x\n    exec: aclnnT\n"
    write(
        tmp_path,
        f"- func: {schema}\n  op_api: all_version\n{gen}"
        "- func: npu_t_backward(Tensor grad) -> Tensor\n  op_api: all_version\n",
        f"backward:\n- name: {schema}\n  x: npu_t_backward(grad)\n",
    )
    read = read_entries(read_inputs([tmp_path]))
    units = emit_units(read, "f.yaml", python_meta=())
    operators = units["csrc/operators.cpp"]
    assert 'm.impl("npu_t", &npu_t_autograd);' in units["csrc/autograd.cpp"]
    assert operators.count("autogradNotImplementedFallback()") == 1  # of the backward
    assert 'm.impl("npu_t", &npu_t_meta);' in operators
    assert "npu_t_meta" not in emit_units(read, "", python_meta={"npu_t"})["csrc/operators.cpp"]


def test_a_function_that_nothing_defines_is_reported(tmp_path: Path) -> None:
    write(tmp_path, "- func: npu_t(Tensor x) -> Tensor\n  op_api: all_version\n")
    entries = read_entries(read_inputs([tmp_path]))
    assert str(report_undefined(["op_api::npu_t(at::Tensor const&)"], entries)) == (
        "OPW-O006 a function is not defined\n"
        "  where:   f.yaml:1, operator npu::npu_t\n"
        "  got:     no op_api::npu_t; op_plugin/OpApiInterface.h declares it\n"
        "  fix:     define it in a .cpp file, in namespace op_api: "
        "at::Tensor npu_t(const at::Tensor& x); or add gen_opapi"
    )
    other = str(report_undefined(["op_infer::conv_npu_output_size(at::Tensor const&)"], entries))
    assert "got:     op_infer::conv_npu_output_size(at::Tensor const&)\n" in other


META = "import torch\nfrom torch.library import impl\nfrom torch_npu.{module} import m\n"


@pytest.mark.parametrize(
    ("text", "meta", "waits"),
    [
        ("@impl(m, 'npu_t')\ndef f(x): ...\n", ("npu_t",), False),
        ("@torch.library.register_fake('npu::npu_t')\ndef f(x): ...\n", ("npu_t",), False),
        ("@torch.library.impl('npu::npu_t', 'Meta')\ndef f(x): ...\n", ("npu_t",), False),
        ("@impl(library, 'npu_t', 'Functionalize')\ndef f(x): ...\n", (), False),
        ("import torchair\n", (), True),
        ("from torchair.ge import Tensor\n@impl(m, 'npu_t')\ndef f(x): ...\n", ("npu_t",), False),
    ],
)
def test_what_a_python_file_registers_is_read(
    tmp_path: Path, text: str, meta: tuple[str, ...], *, waits: bool
) -> None:
    file = tmp_path / "ours.py"
    file.write_text(text)
    module = read_module(file, None)
    assert (module.meta, module.waits) == (meta, waits)


def test_python_files_that_are_wrong_are_reported(tmp_path: Path) -> None:
    torch_npu = tmp_path / "torch_npu"
    (torch_npu / "op_plugin" / "meta").mkdir(parents=True)
    (torch_npu / "op_plugin" / "meta" / "_meta_registrations.py").touch()
    file = tmp_path / "ours.py"
    file.write_text(META.format(module="op_plugin.meta._meta_registrations"))
    assert read_module(file, torch_npu).name == "ours"
    file.write_text(META.format(module="meta._meta_registrations"))  # where it was in 2.1
    with pytest.raises(OpwrightError) as caught:
        read_module(file, torch_npu)
    assert str(caught.value) == (
        "OPW-O007 the Python file cannot be a module of the package\n"
        "  where:   ours.py:3\n"
        "  got:     torch_npu.meta._meta_registrations, which torch_npu does not have\n"
        "  fix:     import it from torch_npu.op_plugin.meta._meta_registrations"
    )
    file.write_text("-" * 100_000 + "1")
    with pytest.raises(OpwrightError, match=r"(?s)OPW-O007.*nested too deeply"):
        read_module(file, torch_npu)
    file.write_text("def f(:\n")
    with pytest.raises(OpwrightError, match=r"(?s)OPW-O007.*ours.py:1"):
        read_module(file, torch_npu)
    file.rename(tmp_path / "1st.py")
    with pytest.raises(OpwrightError, match=r"(?s)OPW-O007.*'1st'"):
        read_module(tmp_path / "1st.py", torch_npu)


@pytest.mark.parametrize("name", ["torch_npu", "json", "class", "../x", "a\n"])
def test_a_package_cannot_have_the_name_of_another(tmp_path: Path, name: str) -> None:
    request = Request(paths=[], name=name, version="1.0", out=tmp_path, work=tmp_path)
    with pytest.raises(OpwrightError, match=r"(?s)OPW-O001.*--name"):
        check_name(request)


@pytest.mark.parametrize("name", ["tensors.h", 'a"b.h'])
def test_headers_that_generated_code_cannot_include_are_reported(tmp_path: Path, name: str) -> None:
    (tmp_path / "f.yaml").touch()
    (tmp_path / name).touch()
    with pytest.raises(OpwrightError, match="which generated code cannot include"):
        read_inputs([tmp_path])


def test_an_entry_may_name_another_dispatch_key(tmp_path: Path) -> None:
    write(
        tmp_path,
        "- func: npu_t(int n) -> Tensor\n  op_api: all_version\n"
        "  dispatch:\n    CompositeExplicitAutograd: npu_t\n"
        "- func: npu_u(Tensor x) -> Tensor\n  op_api: all_version\n"
        "  dispatch:\n    AutogradPrivateUse1: npu_u\n",
    )
    read = read_entries(read_inputs([tmp_path]))
    text = emit_units(read, "f.yaml", python_meta=())["csrc/operators.cpp"]
    for key, name in (("CompositeExplicitAutograd", "npu_t"), ("AutogradPrivateUse1", "npu_u")):
        head = f"TORCH_LIBRARY_IMPL(npu, {key}, m) {{"
        assert f'{head}\n  m.impl("{name}", &{name}_npu);\n}}' in text
    assert "PrivateUse1, m" not in text.replace("AutogradPrivateUse1", "")
    assert text.count("autogradNotImplementedFallback()") == 1
