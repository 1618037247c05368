"""native/abi against the vendor's headers in the torch_npu wheel: values, layouts, function types.

Both sets of headers declare the same names, so they cannot meet in one translation unit. The same
small program, which prints what the compiler makes of each name, is compiled once against each set,
and the two outputs are compared.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OURS = ROOT / "native" / "abi"
COMPILER = shutil.which("g++") or "g++"
HEADERS = (
    "acl_base.h",
    "acl_base_rt.h",
    "acl_rt.h",
    "acl_mdl.h",
    "acl_op.h",
    "acl_prof.h",
    "acl_op_compiler.h",
)

# Types that native/abi keeps opaque, or states only as far as the twin reads them.
PARTLY_STATED = {
    "aclprofAicoreMetrics",
    "aclprofConfigType",
    "aclprofStepTag",
    "aclrtMallocConfig",
    "aclrtUtilizationInfo",
}
# Functions whose wheel-internal pointer type differs from the wheel's own header (the twin follows
# the caller), that are declared in no header of the wheel, or that take one of the types above.
NOT_COMPARABLE = {
    "aclmdlRIAddCondTask",
    "aclmdlRICondHandleCreate",
    "aclmdlRICondHandleGetCondPtr",
    "aclmdlRIDebugJsonPrint",
    "aclprofCreateConfig",
    "aclprofGetStepTimestamp",
    "aclprofGetSupportedFeatures",
    "aclprofRegisterDeviceCallback",
    "aclprofSetConfig",
    "aclprofWarmup",
    "aclrtGetMemUsageInfo",
}


def vendor_headers() -> Path:
    spec = importlib.util.find_spec("torch_npu")
    assert spec is not None, "torch_npu is not installed"
    assert spec.origin is not None, "torch_npu has no files"
    return Path(spec.origin).parent / "include" / "third_party" / "acl" / "inc"


def our_text() -> str:
    names = [*HEADERS, "acl_rt_types.h", "acl_error_codes.h"]
    text = "\n".join((OURS / "acl" / name).read_text(encoding="utf-8") for name in names)
    return re.sub(r"//[^\n]*", "", text)


def enumerators(text: str) -> list[str]:
    bodies = re.findall(r"typedef enum\s*\w*\s*\{([^}]*)\}", text)
    bodies += re.findall(r"enum : int \{([^}]*)\}", text)
    names = [re.split(r"[\s=]", item.strip())[0] for body in bodies for item in body.split(",")]
    # Codes of layers below ACL have header files of their own in the wheel.
    return [name for name in names if name and not name.startswith(("ACLNN_", "ACL_ERROR_"))]


def structs(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for body, name in re.findall(r"typedef (?:struct|union)\s*\w*\s*\{([^}]*)\}\s*(\w+);", text):
        fields = [field.strip() for field in body.split(";") if field.strip()]
        found[name] = [
            match[1] for field in fields if (match := re.search(r"(\w+)(?:\[\w+\])?$", field))
        ]
    return {name: fields for name, fields in found.items() if name not in PARTLY_STATED}


def functions(text: str) -> list[str]:
    names = re.findall(r"^[\w\s\*]+?\b(acl\w+)\([^;{]*\);", text, flags=re.MULTILINE)
    return [name for name in names if name not in NOT_COMPARABLE]


def program(text: str, prologue: str) -> str:
    head = [prologue, "#include <cstddef>", "#include <cstdio>", "#include <typeinfo>"]
    prints = [f'"{name} = %lld", (long long){name}' for name in enumerators(text)]
    for name, fields in structs(text).items():
        prints.append(f'"sizeof {name} = %zu", sizeof({name})')
        for field in fields:
            where = f"offsetof({name}, {field}), sizeof((({name}*)0)->{field})"
            prints.append(f'"{name}.{field} at %zu size %zu", {where}')
    prints += [f'"{name}: %s", typeid(&{name}).name()' for name in functions(text)]
    body = [f'  std::printf({line}); std::puts("");' for line in prints]
    return "\n".join([*head, "int main() {", *body, "}", ""])


def includes(headers: tuple[str, ...]) -> str:
    return "\n".join(f'#include "acl/{name}"' for name in headers)


def compiled_output(source: str, include: Path, folder: Path) -> list[str]:
    path = folder / "program.cpp"
    path.write_text(source, encoding="utf-8")
    # The functions are only named in unevaluated operands, so nothing is linked.
    subprocess.run(
        [COMPILER, "-std=c++17", "-w", f"-I{include}", path, "-o", folder / "program"], check=True
    )
    run = subprocess.run([folder / "program"], check=True, capture_output=True, text=True)
    return run.stdout.splitlines()


@pytest.mark.build
def test_values_layouts_and_function_types_equal_the_wheels(tmp_path: Path) -> None:
    text = our_text()
    ours = "\n".join(f'#include "acl/{name}"' for name in HEADERS)
    theirs = "\n".join(
        f'#include "acl/{name}"'
        for name in ("acl.h", "acl_op_compiler.h", "acl_prof.h", "acl_dump.h")
    )
    (tmp_path / "ours").mkdir()
    (tmp_path / "theirs").mkdir()
    got = compiled_output(program(text, ours), OURS, tmp_path / "ours")
    expected = compiled_output(program(text, theirs), vendor_headers(), tmp_path / "theirs")
    assert len(got) > 300
    assert got == expected


@pytest.mark.build
@pytest.mark.parametrize("name", sorted(path.name for path in (OURS / "acl").glob("*.h")))
def test_a_header_stands_beside_that_of_programs(name: str, tmp_path: Path) -> None:
    text = f'#include "acl/acl.h"\n#include "acl/{name}"\nint main() {{}}\n'
    assert compiled_output(text, OURS, tmp_path) == []


@pytest.mark.build
@pytest.mark.parametrize("theirs", ["acl_base", "acl_rt", "acl_mdl", "acl_op", "acl_prof", "acl"])
def test_headers_stand_beside_the_wheels(theirs: str, tmp_path: Path) -> None:
    """Some releases of torch_npu include their copies by this path; either may come first."""
    copy = f'#include "third_party/acl/inc/acl/{theirs}.h"\n'
    parts = {"acl_rt_types.h", "acl_error_codes.h"}  # of headers that programs include
    for ours in sorted({path.name for path in (OURS / "acl").glob("acl*.h")} - parts):
        for text in (f'#include "acl/{ours}"\n{copy}', f'{copy}#include "acl/{ours}"\n'):
            source = tmp_path / "both.cpp"
            source.write_text(text, encoding="utf-8")
            folders = (OURS, vendor_headers().parents[2], vendor_headers())
            command = [COMPILER, "-std=c++17", "-fsyntax-only", *(f"-I{path}" for path in folders)]
            done = subprocess.run([*command, source], capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{text}{done.stderr}"


def test_error_codes_are_the_wheels() -> None:
    folder = vendor_headers() / "acl"
    files = (folder / "acl_base_rt.h", folder / "error_codes" / "rt_error_codes.h")
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    theirs = dict(re.findall(r"(ACL_ERROR_\w+)\s*=?\s*(\d+)", text))
    del theirs["ACL_ERROR_NONE"]  # acl.h has it, by another name of success
    assert len(theirs) > 200
    assert dict(re.findall(r"(ACL_ERROR_\w+) = (\d+)", our_text())) == theirs
