"""`opwright op-plugin`: op-plugin's files -> a wheel, without building torch_npu; or -> a patch.

command              the verbs build and patch
inputs               paths -> YAML, C++, Python
keys, entries        the YAML: its keys with their lines; the operators for one version of torch
signatures           an operator's function as op-plugin's kernels declare it
structured           `gen_opapi` -> a kernel
headers, text        the headers of op-plugin that kernels include, in a narrow form
units                schemas, registrations, Meta kernels and derivatives
python_files         what the Python files register, and when they can be imported
request              what is to be built
library, package     C++ -> a library; its Python files and metadata
build                all of it -> a wheel
tree, insertion      a source tree of op-plugin; entries -> its YAML
diff                 changes -> a patch
patch                all of it -> a patch of op-plugin's source tree
errors
"""

from __future__ import annotations

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
