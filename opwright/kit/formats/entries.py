"""An entry of op_plugin_functions.yaml as flat keys and values, and what an operator would have.

The keys of `gen_opapi` are flat with its outputs named as a declaration names them:
`gen_opapi.out.size`. An empty text in `Upstream.entries` says that the file has no such key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from opwright.kit.formats.errors import NotWritableError
from opwright.kit.formats.gen_opapi import new_outputs, output_keys, write_gen
from opwright.kit.formats.versions import Minor, select, write_versions
from opwright.kit.formats.yaml_text import flow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.kit.declare.operator import Operator
    from opwright.kit.declare.schema import Schema
    from opwright.kit.formats.yaml_text import Value

__all__ = [
    "GEN",
    "INHERIT",
    "NAMES",
    "REPEATED",
    "TOGETHER",
    "differences",
    "flat_entry",
    "make_canonical",
    "nested_gen",
]

GEN = "gen_opapi"
NAMES = f"{GEN}.outputs"  # the file's own names of outputs
REPEATED = "also in "  # and a section: the entry with which that section repeats the operator
INHERIT = f"{GEN}.structured_inherit"
# Keys that mean something only together.
TOGETHER = ((f"{GEN}.exec", f"{GEN}.new_params"), ("op_api", "acl_op", "sparse"))


def flat_entry(values: Mapping[str, Value], schema: Schema) -> dict[str, Value]:
    """Return the keys and values of an entry; `func` only if it is not what the schema prints."""
    flat: dict[str, Value] = {}
    for key, value in values.items():
        if key == "func":
            if value != str(schema):
                flat[key] = value
        elif key == GEN and isinstance(value, Mapping):
            flat |= flat_gen(value, schema)
        else:
            flat[key] = value
    return flat


def flat_gen(gen: Mapping[str, Value], schema: Schema) -> dict[str, Value]:
    """Return what gen_opapi has."""
    flat: dict[str, Value] = {}
    keys, outputs = output_keys(gen), new_outputs(schema)
    names = dict(zip(keys, outputs, strict=True)) if len(keys) == len(outputs) else {}
    if any(key != name for key, name in names.items()):
        flat[NAMES] = keys
    for key, value in gen.items():
        if key in keys and isinstance(value, Mapping):
            flat |= {f"{GEN}.{names.get(key, key)}.{part}": item for part, item in value.items()}
        else:
            flat[f"{GEN}.{key}"] = value
    return flat


def nested_gen(flat: Mapping[str, Value], schema: Schema) -> dict[str, Value]:
    """Return gen_opapi as the file has it."""
    gen: dict[str, Value] = {}
    given = flat.get(NAMES)
    keys = [str(key) for key in given] if isinstance(given, tuple) else []
    names = dict(zip(new_outputs(schema), keys, strict=False))
    outputs: dict[str, dict[str, Value]] = {}
    for path, value in flat.items():
        prefix, _, rest = path.partition(".")
        if prefix != GEN or path == NAMES or not rest:
            continue
        name, _, part = rest.partition(".")
        if part:
            key = names.get(name, name)
            outputs.setdefault(key, {})[part] = value
            gen[key] = outputs[key]
        else:
            gen[name] = value
    return gen


def make_canonical(operator: Operator, known: Sequence[Minor]) -> dict[str, Value]:
    """Return what an operator has where nothing else was kept for it.

    An operator that cannot be written has no gen_opapi; whether that is an error is the caller's
    matter.
    """
    versions = select(operator.torch, known, where="") if operator.torch else tuple(known)
    flat: dict[str, Value] = {"op_api": write_versions(versions, known)}
    if operator.tags:
        flat["tags"] = ", ".join(operator.tags)
    try:
        gen = write_gen(operator, where=str(operator.place))
    except NotWritableError:
        return flat
    return flat | flat_gen(gen, operator.schema)


def differences(flat: Mapping[str, Value], own: Mapping[str, Value]) -> dict[str, str]:
    """Return as texts what a file has differently from what would be written.

    Parameters
    ----------
    flat
        What the file has.
    own
        What would be written.
    """
    has_gen = any(key.startswith(f"{GEN}.") for key in flat)
    own = {
        key: value
        for key, value in own.items()
        if not key.startswith(f"{GEN}.") or (has_gen and INHERIT not in flat)
    }
    call = TOGETHER[0]  # parameters by name need the expressions that they name
    together = call if any(flat.get(key) != own.get(key) for key in call) else ()
    kept: dict[str, str] = {}
    if not has_gen:
        kept[GEN] = ""
    for key, value in flat.items():
        if key not in own or own[key] != value or key in together:
            kept[key] = flow(value)
    for key in own:
        if key not in flat:
            kept[key] = ""
    return kept
