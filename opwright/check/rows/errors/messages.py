"""The message of an error to the caller of an operator that refuses arguments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from opwright.check.finding import Kind
from opwright.errors import OpwrightError

if TYPE_CHECKING:
    from opwright.check.finding import Finding
    from opwright.check.row_context import RowContext
    from opwright.check.rows.errors.changes import Bad
    from opwright.check.subject import Subject
    from opwright.kit.declare.sample import Sample

__all__ = ["MESSAGE", "OTHER", "TYPE", "examine_error"]

MESSAGE = Kind(
    "useless-message",
    "an error does not say what is wrong",
    "name the operator, the argument, what it got and what it needs: "
    'TORCH_CHECK(x.dim() == 2, "my_ops::f: argument \'x\' has ", x.dim(), " axes; it needs 2")',
)
TYPE = Kind(
    "wrong-exception",
    "an error is of a kind that callers do not expect",
    "raise ValueError, TypeError, RuntimeError, IndexError or NotImplementedError; "
    "in C++, TORCH_CHECK, TORCH_CHECK_VALUE or TORCH_CHECK_TYPE",
)
OTHER = Kind(
    "other-message",
    "the error of an error sample does not have its words",
    "correct the message or the error sample",
)

EXPECTED = (ValueError, TypeError, RuntimeError, IndexError, NotImplementedError, OpwrightError)
# Of these kinds are failures of the implementation, not refusals.
FAILURES = (RecursionError,)
INTERNAL = re.compile(
    r"INTERNAL ASSERT|please report a bug|std::(bad_|out_of_range|logic)|vector::|map::at|"
    r"_M_range_check|basic_string|nullptr|segmentation|core dumped",
    re.IGNORECASE,
)
# torch's own error where a kernel calls an operator that a tensor's device does not have.
NO_KERNEL = re.compile(r"Could not run '\S+' with arguments from the '\w+' backend")
PROPERTIES = re.compile(
    r"\b(dtypes?|types?|shapes?|sizes?|dim(ension)?s?|axis|axes|ranks?|length|elements?|device|"
    r"strides?|layout|contiguous|range|broadcast\w*|index|None|Float|Double|Half|BFloat16|Int|Long|"
    r"Bool|null|required|u?int\d+|b?float\d+|tensors?|value|allowed|supported|not implemented)\b",
    re.IGNORECASE,
)


def examine_error(
    context: RowContext,
    sample: Sample,
    bad: Bad,
    error: BaseException,
    where: str,
    lines: tuple[str, ...],
) -> Finding | None:
    """Look at an error: its kind, and what it says."""
    text = str(error).strip()
    shown = f"{where} raises {type(error).__name__}: {text}"
    foreign = context.subject.is_foreign
    in_python = foreign or context.subject.operator.call is False
    if in_python and bad.is_none:
        return None  # Python's own error for None will do
    if foreign and context.column == "meta" and bad.match is None:
        return None  # its Meta does not know of our description
    if not isinstance(error, EXPECTED) or isinstance(error, FAILURES):
        return context.finding(
            TYPE,
            expected=f"ValueError, TypeError or RuntimeError for {bad.what}",
            got=shown,
            sample=sample,
            error=error,
            script=(
                *lines,
                "except (ValueError, TypeError, RuntimeError, IndexError) as error:",
                "    assert not isinstance(error, RecursionError)",
                "except Exception as error:",
                "    raise AssertionError(repr(error)) from error",
            ),
        )
    if bad.match is not None and bad.match not in text:
        return context.finding(
            OTHER,
            expected=f"an error that says {bad.match!r}",
            got=shown,
            sample=sample,
            error=error,
            script=(
                *lines,
                "except Exception as error:",
                f"    assert {bad.match!r} in str(error), error",
            ),
        )
    if bad.match is None and not is_useful(context.subject, text):
        return context.finding(
            MESSAGE,
            expected=f"an error that says what is wrong: {bad.what}",
            got=shown,
            sample=sample,
            error=error,
            script=(*lines, "except Exception as error:", "    raise AssertionError(str(error))"),
        )
    return None


def is_useful(subject: Subject, text: str) -> bool:
    """Return whether a message names an argument or one of its properties, or quotes a rule."""
    if NO_KERNEL.match(text):
        return True
    if INTERNAL.search(text):
        return False
    if any(f"'{rule}'" in text for rule in subject.operator.requires):
        return True
    names = {argument.name for argument in subject.schema.arguments}
    words = set(re.findall(r"\w+", text))
    return bool(words & names) or PROPERTIES.search(text) is not None
