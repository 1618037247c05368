"""The headers that kernels of op-plugin include, by their paths.

OpApiInterface.h and AclOpsInterface.h declare the functions of the YAML, as op-plugin's own build
generates them. The others take the place of those in torch_npu's wheel, which are found later.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING

from opwright.aclnn.signature import CType
from opwright.kit.emit.cpp.aclnn_call import aclnn_header
from opwright.kit.emit.header import with_header
from opwright.kit.op_plugin.signatures import signature

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from opwright.kit.op_plugin.entries import Entry, Kernels

__all__ = ["INCLUDE", "aten_functions", "emit_headers"]

INCLUDE = "include"
# The headers that do not depend on the YAML.
FIXED = {
    "op_api_common.h": "op_plugin/utils/op_api_common.h",
    "KernelNpuOutputSize.h": "op_plugin/utils/KernelNpuOutputSize.h",
    "NPUException.h": "torch_npu/csrc/core/npu/NPUException.h",
    "OpPreparation.h": "torch_npu/csrc/framework/utils/OpPreparation.h",
}
INTERFACES: Mapping[Kernels, str] = {
    "op_api": "op_plugin/OpApiInterface.h",
    "acl_op": "op_plugin/AclOpsInterface.h",
}
LAST_OF_ATEN = "#include <ATen/core/Tensor.h>\n"
ATEN = re.compile(r"\bat::(\w+)\(")


def aten_functions(texts: Iterable[str]) -> list[str]:
    """Return the functions of ATen that C++ calls, whose headers op-plugin's include all at once.

    >>> aten_functions(["at::empty(at::Tensor(x), at::kFloat)"])
    ['Tensor', 'empty']
    """
    return sorted({name for text in texts for name in ATEN.findall(text)})


def emit_headers(
    entries: Sequence[Entry], source: str, aten: Sequence[str] = ()
) -> Mapping[str, str]:
    """Return the headers.

    Parameters
    ----------
    source
        The name of the YAML file.
    aten
        The functions of ATen that kernels call.
    """
    texts = {
        path: files("opwright.kit.op_plugin.text").joinpath(name).read_text(encoding="utf-8")
        for name, path in FIXED.items()
    }
    texts["op_plugin/utils/aclnn_call.h"] = aclnn_header("op_plugin_build", list(CType))
    includes = "".join(f"#include <ATen/ops/{name}.h>\n" for name in aten)
    common = FIXED["op_api_common.h"]
    texts[common] = texts[common].replace(LAST_OF_ATEN, f"{LAST_OF_ATEN}{includes}")
    for kernels, path in INTERFACES.items():
        declared = [each for each in entries if kernels in each.kernels]
        texts[path] = interface(declared, kernels, path)
    return {
        f"{INCLUDE}/{path}": with_header(text, source=source, comment="//")
        for path, text in sorted(texts.items())
    }


def interface(entries: Sequence[Entry], kernels: Kernels, path: str) -> str:
    """Return the header that declares the functions of one kind of kernels."""
    lines = [
        f"// {path}: the functions of the YAML.",
        "#pragma once",
        "",
        "#include <ATen/core/Tensor.h>",
        "#include <c10/util/Optional.h>",
        "#include <c10/util/string_view.h>",
        "",
        "#include <tuple>",
        "#include <vector>",
        "",
        f"namespace {kernels} {{",
        "",
    ]
    lines += [f"{signature(entry).declaration()};" for entry in entries]
    return "\n".join([*lines, "", f"}}  // namespace {kernels}"]) + "\n"
