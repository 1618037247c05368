"""Layouts of operator projects, their kernels, sources made for them, and what is refused."""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from opwright.aclnn.op_def import parse_op_def
from opwright.aclnn.prototype import derive
from opwright.ascendc.builder import Builder, build_package
from opwright.ascendc.compilation import Compilation, compile_all, compile_one
from opwright.ascendc.description import (
    Column,
    Field,
    HostOperator,
    Instance,
    KernelTemplate,
    TilingClass,
)
from opwright.ascendc.emit_package import emit_api, emit_headers, emit_prototypes
from opwright.ascendc.install import install_package
from opwright.ascendc.kernel_source import (
    depends_on_column,
    emit_kernel,
    find_kernel,
    read_texts,
    tiling_structures,
)
from opwright.ascendc.new import emit_project, make_project
from opwright.ascendc.project_errors import (
    ChipError,
    HostCodeError,
    KernelCodeError,
    KernelSourceError,
    NewOperatorError,
    ProjectLayoutError,
)
from opwright.ascendc.project_layout import OperatorProject, read_project
from opwright.ascendc.siblings import link_siblings
from opwright.kit.declare.place import Place
from opwright.kit.formats.msopgen import parse_msopgen
from opwright.twin.toolkit import installed_toolkit
from tests.ascendc.project.package_calls import convert_dtypes
from tests.twin import on_twin

DEFINITION = """
class AddCustom : public OpDef {
  explicit AddCustom(const char* name) : OpDef(name) {
    this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT16, ge::DT_INT32});
    this->Input("y").ParamType(OPTIONAL).DataType({ge::DT_FLOAT16, ge::DT_INT32});
    this->Output("z").ParamType(REQUIRED).DataType({ge::DT_FLOAT16, ge::DT_INT32});
    this->Attr("mode").AttrType(OPTIONAL).String("sum");
  }
};
"""
KERNEL = (
    'extern "C" __global__ __aicore__ void add_custom(GM_ADDR x, GM_ADDR y, GM_ADDR z,'
    " GM_ADDR workspace, GM_ADDR tiling) {}\n"
)
COLUMN = Column("FLOAT16,FLOAT16,FLOAT16;ND,ND,FRACTAL_NZ")
PROTOTYPE = parse_op_def(DEFINITION, where="a test")[0]
CHIP = "ascend910b"
OPERATOR = HostOperator(prototype=PROTOTYPE, chips={CHIP: (COLUMN,)}, extended={}, template=None)
MSOPGEN: dict[str, Any] = {
    "op": "MyScale",
    "language": "cpp",
    "input_desc": [
        {"name": "x", "param_type": "required", "format": ["ND", "ND"], "type": ["fp16", "int32"]}
    ],
    "output_desc": [
        {"name": "y", "param_type": "required", "format": ["ND", "ND"], "type": ["fp16", "int32"]}
    ],
    "attr": [{"name": "factor", "param_type": "optional", "type": "float", "default_value": "2.5"}],
}


def project_in(folder: Path, **files: str) -> Path:
    """Write a project; names of files have __ for the folder's slash and _dot_ for the dot."""
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def with_kernel(folder: Path, text: str, **more: str) -> OperatorProject:
    """Return a project with this kernel, and with more files."""
    return read_project(
        project_in(folder, op_host__a_dot_cpp="", op_kernel__add_custom_dot_cpp=text, **more)
    )


def test_presets_say_vendor_and_chips(tmp_path: Path) -> None:
    values = {"vendor_name": {"type": "STRING", "value": "me"}, "ASCEND_COMPUTE_UNIT": "a;b"}
    presets = json.dumps({"configurePresets": [{"cacheVariables": values}]})
    project_in(
        tmp_path, op_host__a_dot_cpp="", op_kernel__k_dot_cpp="", CMakePresets_dot_json=presets
    )
    project = read_project(tmp_path)
    assert (project.vendor, project.chips) == ("me", ("a", "b"))
    assert [path.name for path in (*project.host, *project.kernels)] == ["a.cpp", "k.cpp"]


def test_cmake_lists_say_them_too(tmp_path: Path) -> None:
    lists = "set(package_name mine)\nset(ASCEND_COMPUTE_UNIT ascend910b ascend950)\n"
    project_in(tmp_path, op_host__a_dot_cpp="", op_kernel__k_dot_cpp="", CMakeLists_dot_txt=lists)
    project = read_project(tmp_path)
    assert (project.vendor, project.chips) == ("mine", ("ascend910b", "ascend950"))


def test_operators_may_have_folders_of_their_own(tmp_path: Path) -> None:
    project_in(tmp_path, add__op_host__a_dot_cpp="", add__op_kernel__k_dot_cpp="")
    project = read_project(tmp_path)
    assert [path.name for path in (*project.host, *project.kernels)] == ["a.cpp", "k.cpp"]


def test_other_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ProjectLayoutError, match="no folder op_host"):
        read_project(tmp_path)
    project_in(tmp_path, op_host__a_dot_h="", op_kernel__k_dot_cpp="")
    with pytest.raises(ProjectLayoutError, match=r"no C\+\+ source"):
        read_project(tmp_path)
    project_in(tmp_path, op_host__a_dot_cpp="", CMakePresets_dot_json="{}")
    with pytest.raises(ProjectLayoutError, match="configurePresets"):
        read_project(tmp_path)


@pytest.mark.parametrize("name", ["../../evil", "a b$(touch x)", "é"])
def test_a_package_has_a_name_that_a_folder_can_have(tmp_path: Path, name: str) -> None:
    presets = json.dumps({"configurePresets": [{"cacheVariables": {"vendor_name": name}}]})
    project_in(
        tmp_path, op_host__a_dot_cpp="", op_kernel__k_dot_cpp="", CMakePresets_dot_json=presets
    )
    with pytest.raises(ProjectLayoutError, match="letters, digits, _ and -") as caught:
        read_project(tmp_path)
    assert repr(name) in str(caught.value)


def test_the_kernel_is_found_by_its_name(tmp_path: Path) -> None:
    project = with_kernel(tmp_path, "// add_custom(int)\n" + KERNEL)
    found = find_kernel(project, OPERATOR, CHIP)
    assert found.parameters == ("x", "y", "z", "workspace", "tiling")
    assert not depends_on_column([KERNEL])
    assert depends_on_column(["#if ORIG_DTYPE_X == DT_FLOAT"])
    assert depends_on_column(["#define TYPE_OF(port) DTYPE_##port"])


def test_what_a_kernel_includes_is_read(tmp_path: Path) -> None:
    project_in(
        tmp_path,
        common__types_dot_inc="using T = DTYPE_X;",
        op_kernel__part__step_dot_cpp='#include "../../common/types.inc"',
        op_kernel__other_dot_h="DTYPE_Y",
    )
    project = with_kernel(tmp_path, '#include "kernel_operator.h"\n# include "part/step.cpp"\n')
    texts = read_texts(tmp_path / "op_kernel/add_custom.cpp", [tmp_path / "op_kernel"])
    assert len(texts) == 3
    assert depends_on_column(texts)
    assert not any("DTYPE_Y" in text for text in texts)
    assert len(project.kernels) == 3


def test_definitions_may_name_another_file_and_function(tmp_path: Path) -> None:
    extended = {"opFile.value": "other", "opInterface.value": "entry"}
    op = dataclasses.replace(OPERATOR, extended={CHIP: extended})
    project = with_kernel(tmp_path, KERNEL.replace("add_custom", "entry"))
    assert find_kernel(project, op, CHIP).function == "entry"


def test_a_file_that_is_named_for_one_chip_is_of_no_other(tmp_path: Path) -> None:
    op = dataclasses.replace(OPERATOR, extended={"ascend950": {"opFile.value": "add_apt"}})
    project = with_kernel(tmp_path, KERNEL, op_kernel__add_apt_dot_cpp=KERNEL)
    found = {chip: find_kernel(project, op, chip).file.name for chip in (CHIP, "ascend950")}
    assert found == {CHIP: "add_custom.cpp", "ascend950": "add_apt.cpp"}


def test_the_file_beside_folders_of_architectures_is_taken(tmp_path: Path) -> None:
    project = with_kernel(tmp_path, KERNEL, op_kernel__arch35__add_custom_dot_cpp=KERNEL)
    assert find_kernel(project, OPERATOR, CHIP).file.parent.name == "op_kernel"


def test_an_operator_of_a_repository_finds_what_it_shares(tmp_path: Path) -> None:
    root = tmp_path / "ops" / "norm" / "rms_norm"
    for folder in (root / "op_host", root / "op_kernel", tmp_path / "ops" / "common" / "inc"):
        folder.mkdir(parents=True)
    (root / "op_host" / "rms_norm.cpp").write_text("")
    ops = tmp_path.resolve() / "ops"
    assert read_project(root).repository == (ops / "common" / "inc", ops, ops / "norm")
    alone = tmp_path / "alone"
    for folder in (alone / "op_host", alone / "op_kernel"):
        folder.mkdir(parents=True)
    (alone / "op_host" / "add.cpp").write_text("")
    assert read_project(alone).repository == ()


def test_host_code_of_a_repository_has_what_it_depends_on(tmp_path: Path) -> None:
    root = tmp_path / "ops"
    files = {
        "foreach/abs/CMakeLists.txt": "add_all_modules_sources(DEPENDENCIES norm.common rms)",
        "foreach/abs/op_host/CMakeLists.txt": """\
            add_modules_sources(OPTYPE abs DEPENDENCIES utils abs
                COMPUTE_UNIT ascend910b)""",
        "foreach/abs/op_host/abs_def.cpp": '#include "register/op_def_registry.h"',
        "foreach/abs/op_host/abs_tiling.h": '#include "op_host/cache.h"',
        "foreach/abs/op_kernel/abs.cpp": "",
        "foreach/utils/op_host/tiling.cpp": "",
        "foreach/utils/op_host/utils_def.cpp": "",
        "foreach/utils/op_host/utils_aicpu.cpp": "",
        "norm/common/op_host/shared_tiling.cpp": "",
        "norm/rms/op_host/arch22/rms_tiling.cpp": "",
        "common/inc/op_host/cache.h": "",
        "common/src/op_host/cache.cpp": '#include "hash.h"',
        "common/src/op_host/hash.cpp": "",
        "common/src/op_host/lock.cpp": "",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    project = read_project(root / "foreach" / "abs")
    assert [str(path.relative_to(root.resolve())) for path in map(Path.resolve, project.host)] == [
        "foreach/abs/op_host/abs_def.cpp",
        "norm/common/op_host/shared_tiling.cpp",
        "norm/rms/op_host/arch22/rms_tiling.cpp",
        "foreach/utils/op_host/tiling.cpp",
        "common/src/op_host/cache.cpp",
        "common/src/op_host/hash.cpp",
    ]
    assert project.repository[-1] == root.resolve() / "common" / "inc" / "op_host"
    (root / "foreach" / "abs" / "CMakeLists.txt").write_text("add_x(DEPENDENCIES rsm)")
    with pytest.raises(ProjectLayoutError, match=r"DEPENDENCIES rsm, and .*/ops has no folder rsm"):
        read_project(root / "foreach" / "abs")


def test_kernels_include_those_beside_them(tmp_path: Path) -> None:
    root = tmp_path / "ops"
    files = {
        "norm/rms/op_host/rms.cpp": "",
        "norm/rms/op_kernel/rms.cpp": "",
        "norm/add_rms/op_kernel/add.h": "constexpr int kAdd = 1;",
        "experimental/other/op_kernel/other.h": "",
        "common/inc/op_kernel/platform.h": "constexpr int kPlatform = 2;",
        "common/inc/op_kernel/shared.h": "constexpr int kShared = 3;",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    for _ in range(2):  # links that are there stay
        folders = link_siblings(read_project(root / "norm" / "rms"), tmp_path / "links")
    links = {path.name for path in (tmp_path / "links").iterdir() if path.is_symlink()}
    assert links == {"rms", "add_rms", "inc"}
    source = (
        '#include "../add_rms/add.h"\n#include "../../inc/platform.h"\nint x[kAdd + kPlatform];'
    )
    command = ["g++", "-fsyntax-only", *(f"-I{folder}" for folder in folders), "-x", "c++", "-"]
    subprocess.run(command, input=source, text=True, check=True)


def test_kernels_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(KernelSourceError, match="no kernel add_custom in"):
        find_kernel(with_kernel(tmp_path, "void add_custom();"), OPERATOR, CHIP)
    project = with_kernel(tmp_path, KERNEL.replace("GM_ADDR y, ", ""))
    with pytest.raises(KernelSourceError, match="4 parameters: x, z, workspace, tiling") as caught:
        find_kernel(project, OPERATOR, CHIP)
    assert caught.value.allowed == ("5 parameters: x, y, z, workspace, tiling",)


def test_the_column_is_named_to_the_kernel(tmp_path: Path) -> None:
    project = with_kernel(tmp_path, KERNEL)
    text = emit_kernel(OPERATOR, find_kernel(project, OPERATOR, CHIP), COLUMN, ())
    for line in (
        "#define DTYPE_X half",
        "#define ORIG_DTYPE_Z 1",
        "#define FORMAT_Z FORMAT_FRACTAL_NZ",
        f'#include "{project.kernels[0]}"',
        "  add_custom(address(0), address(1), address(2), address(3), address(4));",
    ):
        assert line in text.splitlines(), text


def test_launches_beside_the_kernel_are_rewritten(tmp_path: Path) -> None:
    launch = "void run(void* s) { add_custom<<<8, nullptr, s>>>(0, 0, 0, 0, 0); }\n"
    project = with_kernel(tmp_path, KERNEL + launch)
    text = emit_kernel(OPERATOR, find_kernel(project, OPERATOR, CHIP), COLUMN, ())
    assert "<<<" not in text
    assert f'# 1 "{project.kernels[0]}"' in text


def test_a_template_kernel_is_instantiated_by_tiling_key(tmp_path: Path) -> None:
    instances = (
        Instance(key=256, kernel_type=0, values=(0, 1)),
        Instance(key=256, kernel_type=0, values=(0, 1)),
        Instance(key=27, kernel_type=0, values=(27, 0)),
    )
    template = KernelTemplate(dtype_parameters=(True, False), instances=instances)
    op = dataclasses.replace(OPERATOR, template=template)
    plain = emit_kernel(op, find_kernel(with_kernel(tmp_path, KERNEL), op, CHIP), COLUMN, ())
    assert "  add_custom(address(0)," in plain  # selected for another architecture's kernel
    templated = KERNEL.replace('extern "C"', "template <typename D, int S>\n")
    project = with_kernel(tmp_path, templated)
    text = emit_kernel(op, find_kernel(project, op, CHIP), COLUMN, ())
    assert text.count("    case 256ULL:\n      return add_custom<float, 1>(") == 1
    assert "    case 27ULL:\n      return add_custom<bfloat16_t, 0>(" in text
    assert "static_cast<KernelMetaType>(0)" in text
    unknown = dataclasses.replace(
        template, instances=(Instance(key=0, kernel_type=-1, values=(13, 0)),)
    )
    with pytest.raises(KernelSourceError, match="a template parameter of dtype 13"):
        emit_kernel(
            dataclasses.replace(op, template=unknown), find_kernel(project, op, CHIP), COLUMN, ()
        )


def test_tiling_classes_become_structures() -> None:
    inner = TilingClass(
        registered="InnerOp",
        name="Inner",
        size=16,
        fields=(Field(type="uint64_t", name="n", count=2, nested=False),),
    )
    outer = TilingClass(
        registered="AddCustom",
        name="AddTiling",
        size=40,
        fields=(
            Field(type="uint8_t", name="flag", count=0, nested=False),
            Field(type="Inner", name="inner", count=0, nested=True),
            Field(type="optiling::TCubeTiling", name="cube", count=0, nested=True),
        ),
    )
    lines = tiling_structures("AddCustom", (outer, inner)).splitlines()
    assert lines.index("struct Inner {") < lines.index("struct AddTiling {")
    assert "  uint64_t n[2] = {};" in lines
    assert "  TCubeTiling cube = {};" in lines  # of high-level APIs, which kernels know
    assert "static_assert(sizeof(AddTiling) == 40);" in lines
    assert lines[-1] == "using opwright_default_tiling = AddTiling;"
    assert tiling_structures("Other", (outer, inner)) == ""


def test_functions_headers_and_prototypes() -> None:
    api = emit_api([PROTOTYPE])
    assert 'input(1, opwright::user_kernels::optional("yOptional", yOptional)),' in api
    assert 'attribute(0, opwright::user_kernels::optional("modeOptional", modeOptional)),' in api
    assert 'output(0, opwright::user_kernels::required("out", out))}' in api
    assert 'R"proto(aclnnAddCustom\nREG_OP(AddCustom)' in api
    header = emit_headers([PROTOTYPE])["aclnn_add_custom.h"]
    assert (
        "    const aclTensor *yOptional,\n    char *modeOptional,\n    const aclTensor *out,"
        in header
    )
    reg_op = emit_prototypes([PROTOTYPE])
    assert "    .OPTIONAL_INPUT(y, TensorType({DT_FLOAT16, DT_INT32}))\n" in reg_op
    assert '    .ATTR(mode, String, "sum")\n' in reg_op
    assert str(derive(PROTOTYPE).functions[0]).startswith("aclnnAddCustom(const aclTensor *x")


def test_new_projects_refuse_what_they_cannot_be_made_from(tmp_path: Path) -> None:
    source = tmp_path / "ops.json"
    with pytest.raises(NewOperatorError, match="no such file"):
        make_project(source, None, op=None, chip="ascend910b")
    source.write_text(json.dumps([MSOPGEN, {**MSOPGEN, "op": "Other"}]))
    with pytest.raises(NewOperatorError, match="2 operators and no choice"):
        make_project(source, None, op=None, chip="ascend910b")
    with pytest.raises(NewOperatorError, match="it exists already"):
        make_project(source, tmp_path, op="Other", chip="ascend910b")
    without = dataclasses.replace(PROTOTYPE, outputs=())
    with pytest.raises(NewOperatorError, match="no input, or no output"):
        emit_project(without, chip="ascend910b")
    with pytest.raises(NewOperatorError, match=r"the name '\.\./evil'"):
        emit_project(dataclasses.replace(PROTOTYPE, op_type="../evil"), chip="ascend910b")
    with pytest.raises(NewOperatorError, match="the name 'double'"):
        emit_project(dataclasses.replace(PROTOTYPE, op_type="double"), chip="ascend910b")
    with pytest.raises(NewOperatorError, match="--soc"):
        emit_project(PROTOTYPE, chip="Foo")


@pytest.mark.build
def test_a_new_project_builds(tmp_path: Path) -> None:
    """The project that `new` writes for an msOpGen JSON is a package at once."""
    source = tmp_path / "my_scale.json"
    source.write_text(json.dumps(MSOPGEN))
    folder = make_project(source, None, op=None, chip="ascend910b")
    assert folder == tmp_path / "MyScale"
    package = build_package(read_project(folder), installed_toolkit(), tmp_path / "out", jobs=2)
    assert (package.operators, package.kernels) == (("MyScale",), 2)
    text = (package.folder / "signatures.txt").read_text()
    assert text == "aclnnMyScale(const aclTensor *x, double factor, aclTensor *out)\n"


def converting(*pairs: tuple[str, str]) -> dict[str, Any]:
    """Return MSOPGEN with an output of other dtypes than the input."""
    (given,), (made,) = MSOPGEN["input_desc"], MSOPGEN["output_desc"]
    formats = ["ND"] * len(pairs)
    return {
        **MSOPGEN,
        "input_desc": [{**given, "type": [one for one, _ in pairs], "format": formats}],
        "output_desc": [{**made, "type": [other for _, other in pairs], "format": formats}],
    }


def test_a_new_kernel_converts_what_it_copies() -> None:
    def kernel(*pairs: tuple[str, str]) -> str:
        (prototype,), _ = parse_msopgen(json.dumps(converting(*pairs)), Place("x.json"))
        files = emit_project(prototype, chip="ascend910b")
        text = files["op_kernel/my_scale.cpp"].partition("Exp(output, input, count).\n")[2]
        return text.partition("    outputs_.EnQue")[0]

    copy = "    DataCopy(output, input, (count + perBlock - 1) / perBlock * perBlock);\n"
    assert kernel(("fp16", "fp16"), ("int32", "int32")).endswith(copy)
    assert kernel(("fp16", "fp32")) == "    Cast(output, input, RoundMode::CAST_NONE, count);\n"
    assert kernel(("fp16", "fp32"), ("fp32", "fp16"), ("int32", "fp32")) == (
        "    if constexpr ((std::is_same_v<In, half> && std::is_same_v<Out, float>) ||\n"
        "                  (std::is_same_v<In, int32_t> && std::is_same_v<Out, float>)) {\n"
        "      Cast(output, input, RoundMode::CAST_NONE, count);\n"
        "    } else {\n"
        "      Cast(output, input, RoundMode::CAST_RINT, count);\n"
        "    }\n"
    )
    assert "// No instruction converts these dtypes in one step" in kernel(("int8", "fp32"))


def test_a_new_project_says_where_the_dtype_of_an_output_is_to_be_chosen() -> None:
    def host(*pairs: tuple[str, str]) -> str:
        (prototype,), _ = parse_msopgen(json.dumps(converting(*pairs)), Place("x.json"))
        return emit_project(prototype, chip="ascend910b")["op_host/my_scale.cpp"]

    choice = "// Choose, perhaps by an attribute: FLOAT16 to FLOAT16, FLOAT16 to FLOAT.\n"
    assert choice in host(("fp16", "fp16"), ("fp16", "fp32"))
    assert "// Choose" not in host(("fp16", "fp32"), ("fp32", "fp16"))


@pytest.mark.twin
@pytest.mark.build
def test_a_new_project_converts(tmp_path: Path) -> None:
    source = tmp_path / "my_scale.json"
    pairs = (("fp16", "fp32"), ("fp32", "fp16"), ("fp32", "int32"), ("int32", "int32"))
    source.write_text(json.dumps(converting(*pairs, ("int8", "fp32"))))
    folder = make_project(source, None, op=None, chip="ascend910b")
    package = build_package(read_project(folder), installed_toolkit(), tmp_path / "out", jobs=2)
    assert package.kernels == len(pairs) + 1
    variables = {"ASCEND_CUSTOM_OPP_PATH": str(package.folder), "OPWRIGHT_KERNEL_CHECKS": "1"}
    on_twin.output(convert_dtypes, **variables)


@pytest.mark.build
def test_what_does_not_compile_is_named(tmp_path: Path) -> None:
    """Errors of the compiler, of definitions, of chips, each with its place."""
    toolkit = installed_toolkit()
    folder = tmp_path / "project"
    project_in(folder, op_host__a_dot_cpp="int f() { return g(); }", op_kernel__k_dot_cpp="")
    with pytest.raises(HostCodeError, match="was not declared"):
        build_package(read_project(folder), toolkit, tmp_path / "out")
    head = '#include "register/op_def_registry.h"\nnamespace ops {\n'
    definition = DEFINITION.replace("explicit", "public: explicit").replace(
        '"sum");', '"sum"); this->AICore().AddConfig("ascend910b");'
    )
    uneven = definition.replace(
        'Output("z").ParamType(REQUIRED).DataType({ge::DT_FLOAT16, ', 'Output("z").DataType({'
    )
    project_in(folder, op_host__a_dot_cpp=f"{head}{uneven}OP_ADD(AddCustom);\n}}")
    with pytest.raises(HostCodeError, match="AddCustom, z: DataType lists 1 dtypes"):
        build_package(read_project(folder), toolkit, tmp_path / "out")
    filled = definition.replace('Output("z")', 'Output("z").InitValue(1)')
    project_in(folder, op_host__a_dot_cpp=f"{head}{filled}OP_ADD(AddCustom);\n}}")
    with pytest.raises(HostCodeError, match=r"z: InitValue\(1\); a plain number may be 0 only"):
        build_package(read_project(folder), toolkit, tmp_path / "out")
    project_in(folder, op_host__a_dot_cpp=f"{head}{definition}OP_ADD(AddCustom);\n}}")
    with pytest.raises(ChipError, match="ascend310p"):
        build_package(read_project(folder), toolkit, tmp_path / "out", chips=("ascend310p",))
    broken = '#include "kernel_operator.h"\n' + KERNEL.replace("{}", "{ nonsense(); }")
    project_in(folder, op_kernel__add_custom_dot_cpp=broken)
    with pytest.raises(KernelCodeError, match="nonsense"):
        build_package(read_project(folder), toolkit, tmp_path / "out")


def test_one_build_of_a_project_waits_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def run(_self: Builder, _chips: tuple[str, ...]) -> None:
        handle = os.open(tmp_path / "out" / "work", os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(handle)
        seen.append(True)

    monkeypatch.setattr(Builder, "run", run)
    build_package(with_kernel(tmp_path, KERNEL), installed_toolkit(), tmp_path / "out")
    assert seen == [True]


def test_a_package_that_is_where_it_is_installed_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCEND_OPP_PATH", str(tmp_path))
    project_in(tmp_path, vendors__me__signatures_dot_txt="aclnnA", built__me__new_dot_txt="")
    assert install_package(tmp_path / "vendors" / "me") == tmp_path / "vendors" / "me"
    assert (tmp_path / "vendors/me/signatures.txt").read_text() == "aclnnA"
    install_package(tmp_path / "built" / "me")
    assert [path.name for path in (tmp_path / "vendors/me").iterdir()] == ["new.txt"]
    assert (tmp_path / "vendors/config.ini").read_text() == "load_priority=me\n"
    assert sorted(path.name for path in (tmp_path / "vendors").iterdir()) == ["config.ini", "me"]


@pytest.mark.build
def test_what_an_interrupted_compilation_leaves_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, made = tmp_path / "a.cpp", tmp_path / "a.o"
    each = Compilation(what="a.cpp", options=("-c", str(source)), output=made, error=HostCodeError)
    source.write_text("int one() { return 1; }\n")
    compile_one(each)
    whole = made.read_bytes()

    def interrupted(command: list[str], **_: object) -> None:
        Path(command[command.index("-o") + 1]).write_bytes(whole[:100])
        raise KeyboardInterrupt

    source.write_text("int two() { return 2; }\n")
    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            compile_one(each)
    source.write_text("int one() { return 1; }\n")
    compile_one(each)
    assert made.read_bytes() == whole


@pytest.mark.build
def test_a_source_that_is_saved_while_it_is_compiled_is_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, made = tmp_path / "a.cpp", tmp_path / "a.o"
    each = Compilation(what="a.cpp", options=("-c", str(source)), output=made, error=HostCodeError)
    source.write_text("int one() { return 1; }\n")
    run = subprocess.run

    def run_and_save(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        done = run(command, capture_output=True, text=True, check=False)
        source.write_text("int two() { return 2; }\n")
        return done

    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "run", run_and_save)
        compile_one(each)
    assert b"one" in made.read_bytes()
    assert compile_one(each)
    assert b"two" in made.read_bytes()
    assert not compile_one(each)


@pytest.mark.build
def test_a_link_runs_again_when_an_object_has_another_content(tmp_path: Path) -> None:
    source, made = tmp_path / "a.cpp", tmp_path / "a.o"
    compilation = Compilation(
        what="a.cpp", options=("-c", "-fPIC", str(source)), output=made, error=HostCodeError
    )
    link = Compilation(
        what="the library",
        options=("-shared", str(made)),
        output=tmp_path / "liba.so",
        error=HostCodeError,
        inputs=(made,),
    )
    source.write_text("int one() { return 1; }\n")
    assert [compile_all([each], 1) for each in (compilation, link)] == [1, 1]
    made.touch()
    assert compile_all([link], 1) == 0
    source.write_text("int two() { return 2; }\n")
    assert [compile_all([each], 1) for each in (compilation, link)] == [1, 1]
