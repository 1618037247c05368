"""Where the behaviour of a function or a GE type can be read: five forms of references.

A reference names a repository of CANN or an installed package, and a path in it:

=========  ==================================================================================
document   `ops-math:math/abs/docs/aclnnAbs.md`, a page that says what the function computes;
           `torch_npu:_op_plugin_docs.py:npu_diou`, a docstring of the installed torch_npu
header     `ops-math:math/add/op_graph/add_proto.h`, the comment above the type's REG_OP
test       `ops-math:math/top_k_v2/tests/assets/golden.py`, what upstream compares with
caller     `torchair:aten.cumsum.default`, a converter that makes the node from this operator;
           `op-plugin:op_plugin/ops/aclops/…KernelNpu.cpp`, a function of torch_npu that makes
           the call for an operator of PyTorch, whose results then say what the call computes
inferred   `inferred`: nothing public says it. The behaviour is a guess from the name, from the
           parameters and from relatives
=========  ==================================================================================

`ops-math`, `ops-nn`, `ops-cv`, `ops-transformer` and `ops-ras` are the repositories of CANN's
operators, `graphengine` the one of GE's interface, and `op-plugin` that of torch_npu's operators.
"""

from __future__ import annotations

import enum
import re

__all__ = ["Form", "form_of"]


class Form(enum.Enum):
    """The kind of text that a reference leads to."""

    DOCUMENT = "document"
    HEADER = "header"
    TEST = "test"
    CALLER = "caller"
    INFERRED = "inferred"


PATTERNS = {
    Form.DOCUMENT: r"ops-[a-z]+:\S+\.md|torch_npu:_op_plugin_docs\.py:\w+",
    Form.HEADER: r"(?:ops-[a-z]+|graphengine):\S+\.h",
    Form.TEST: r"ops-[a-z]+:\S+/tests/\S+\.py",
    Form.CALLER: r"torchair:\w+\.\w+(?:\.\w+)?|op-plugin:op_plugin/\S+\.cpp",
    Form.INFERRED: r"inferred",
}


def form_of(source: str) -> Form:
    """Return the form of a reference.

    Raises
    ------
    ValueError
        It has none of the forms.

    Examples
    --------
    >>> form_of("ops-math:math/abs/docs/aclnnAbs.md").value
    'document'
    """
    for form, pattern in PATTERNS.items():
        if re.fullmatch(pattern, source):
            return form
    message = f"{source!r} is no source; the forms are in opwright/aclnn/sources.py"
    raise ValueError(message)
