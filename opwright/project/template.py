"""The texts of a new project, from the files in `templates/`.

`{{name}}` stands for the project's name and `{{aclnn}}` for the aclnn functions of its operators.
The declaration of a template's operator uses the names `ops`, `ow` and `torch`; they and the
operator's own name can be replaced, to put it into another file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from opwright.project.errors import UnknownTemplateError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["TEMPLATES", "Template", "find_template", "operator_text", "project_texts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """An operator that a project can start from.

    Parameters
    ----------
    operator
        Its name in the template's text.
    """

    name: str
    operator: str
    summary: str


TEMPLATES = {
    template.name: template
    for template in (
        Template(
            name="functional",
            operator="softcap",
            summary="one new tensor; backward as a formula over the result",
        ),
        Template(
            name="in-place",
            operator="ema_",
            summary="an argument is written and returned",
        ),
        Template(
            name="multi-output",
            operator="scaled_norm",
            summary="two results with shapes of their own; backward as a Python function",
        ),
        Template(
            name="attention",
            operator="attention",
            summary="an optional keyword-only tensor, layouts; backward from the reference",
        ),
    )
}
# The file in templates/ -> where its text goes.
FILES = {
    "pyproject.toml.in": "pyproject.toml",
    "Makefile.in": "Makefile",
    "README.md.in": "README.md",
    "gitignore.in": ".gitignore",
    "ci_run.in": ".ci/run",
    "test_operators.py.in": "tests/test_operators.py",
}
PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


def find_template(name: str, *, where: str) -> Template:
    """Return the template of this name.

    Raises
    ------
    UnknownTemplateError
        OPW-P012.
    """
    template = TEMPLATES.get(name)
    if template is None:
        raise UnknownTemplateError(where=where, got=repr(name), allowed=TEMPLATES, near=name)
    return template


def project_texts(name: str, template: Template) -> Mapping[str, str]:
    """Return the files of a new project: path -> text."""
    from opwright.kit.declare.call import camel_case  # noqa: PLC0415 - reads torchgen

    values = {"name": name, "aclnn": f"aclnn{camel_case(template.operator)}"}
    texts = {path: fill(read(file), values) for file, path in FILES.items()}
    head = fill(read("operators.py.in"), values)
    texts["operators.py"] = f"{head}\n\n{operator_text(template)}"
    return texts


def operator_text(
    template: Template,
    name: str | None = None,
    *,
    operators: str = "ops",
    opwright: str = "ow",
    torch: str = "torch",
) -> str:
    """Return the declaration of a template's operator.

    Parameters
    ----------
    name
        The operator's name, if not the template's own.
    operators, opwright, torch
        What the operator set and the two modules are called in the file.
    """
    text = read(f"{template.name.replace('-', '_')}.py.in")
    name = name or template.operator
    # The name may be part of another one (softcap_backward, SOFTCAP_INPUTS), but not of a word.
    stems = {template.operator: name, template.operator.upper(): name.upper()}
    for old, new in stems.items():
        text = re.sub(rf"(?<![A-Za-z0-9_]){old}(?=_|\b)", new, text)
    for old, new in {"ops": operators, "ow": opwright, "torch": torch}.items():
        text = re.sub(rf"(?<![\w.]){old}\.", f"{new}.", text)
    return text


def read(file: str) -> str:
    """Return the content of a template file."""
    return (resources.files(__package__) / "templates" / file).read_text(encoding="utf-8")


def fill(text: str, values: Mapping[str, str]) -> str:
    """Replace the placeholders."""
    return PLACEHOLDER.sub(lambda match: values[match[1]], text)
