"""Outcomes and whole runs as JSON, and back: each pair of functions here is exactly inverse.

An outcome is what a worker process sends; a run is the document that `--json` writes. What JSON has
no number for is an object: {"float": "nan"}, {"complex": [re, im]}, {"tensor": {...}}. Fields of a
tensor, and of a sample, that have their default are left out.
"""

from __future__ import annotations

import dataclasses
import json
import math
from typing import TYPE_CHECKING, Any, TypeAlias

from opwright.check.finding import Finding, Kind
from opwright.check.outcome import Outcome
from opwright.check.record import CheckedOperator, CheckedRow, KnownFailure, Record
from opwright.check.report.errors import RunDocumentError
from opwright.kit.declare.sample import Sample, TensorSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.kit.declare.sample import Value

__all__ = [
    "FORMAT",
    "VERSION",
    "outcome_as_json",
    "outcome_from_json",
    "record_as_json",
    "record_from_json",
    "record_from_text",
    "record_text",
    "row_as_json",
    "row_from_json",
    "sample_as_json",
    "sample_from_json",
]

# The result of json.loads; a document is checked by its reader.
Json: TypeAlias = Any

FORMAT = "opwright check"
VERSION = 1


def record_text(record: Record) -> str:
    """Write the document of a run."""
    return json.dumps(record_as_json(record), indent=1, allow_nan=False) + "\n"


def record_from_text(text: str, *, where: str) -> Record:
    """Read the document of a run.

    Raises
    ------
    RunDocumentError
        OPW-C020.
    """
    try:
        document = json.loads(text)
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise RunDocumentError(where=where, got="another document", allowed=[FORMAT])
        if document.get("version") != VERSION:
            got = f"version {document.get('version')!r}"
            raise RunDocumentError(where=where, got=got, allowed=[f"version {VERSION}"])
        return record_from_json(document)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunDocumentError(where=where, got=f"{type(error).__name__}: {error}") from error


def record_as_json(record: Record) -> dict[str, Json]:
    """Return a run as JSON."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "target": record.target,
        "versions": dict(record.versions),
        "seed": record.seed,
        "seconds": number(record.seconds),
        "operators": [dataclasses.asdict(each) for each in record.operators],
        "rows": [row_as_json(each) for each in record.rows],
        "outcomes": [outcome_as_json(each) for each in record.outcomes],
        "known": [dataclasses.asdict(each) for each in record.known],
        "unexpected": list(record.unexpected),
    }


def record_from_json(document: Mapping[str, Json]) -> Record:
    """Return the run of a document."""
    return Record(
        target=document["target"],
        versions=dict(document["versions"]),
        seed=document["seed"],
        seconds=value_from_json(document["seconds"]),
        operators=tuple(CheckedOperator(**each) for each in document["operators"]),
        rows=tuple(row_from_json(each) for each in document["rows"]),
        outcomes=tuple(outcome_from_json(each) for each in document["outcomes"]),
        known=tuple(KnownFailure(**each) for each in document["known"]),
        unexpected=tuple(document["unexpected"]),
    )


def row_as_json(row: CheckedRow) -> dict[str, Json]:
    """Return a row as JSON."""
    return dataclasses.asdict(row) | {"columns": list(row.columns), "kinds": list(row.kinds)}


def row_from_json(document: Mapping[str, Json]) -> CheckedRow:
    """Return the row of a document."""
    return CheckedRow(
        **dict(document)
        | {"columns": tuple(document["columns"]), "kinds": tuple(document["kinds"])}
    )


def outcome_as_json(outcome: Outcome) -> dict[str, Json]:
    """Return an outcome as JSON."""
    return {
        "operator": outcome.operator,
        "row": outcome.row,
        "column": outcome.column,
        "status": outcome.status,
        "reason": outcome.reason,
        "seconds": number(outcome.seconds),
        "calls": outcome.calls,
        "samples": list(outcome.samples),
        "findings": [finding_as_json(each) for each in outcome.findings],
        "details": dict(outcome.details),
    }


def outcome_from_json(document: Mapping[str, Json]) -> Outcome:
    """Return the outcome of a document."""
    return Outcome(
        **dict(document)
        | {
            "seconds": value_from_json(document["seconds"]),
            "samples": tuple(document["samples"]),
            "findings": tuple(finding_from_json(each) for each in document["findings"]),
            "details": dict(document["details"]),
        }
    )


def finding_as_json(finding: Finding) -> dict[str, Json]:
    """Return a finding as JSON."""
    return {
        "kind": dataclasses.asdict(finding.kind),
        "expected": finding.expected,
        "got": finding.got,
        "place": finding.place,
        "fix": finding.fix,
        "sample": None if finding.sample is None else sample_as_json(finding.sample),
        "script": list(finding.script),
        "trace": finding.trace,
    }


def finding_from_json(document: Mapping[str, Json]) -> Finding:
    """Return the finding of a document."""
    sample = document["sample"]
    return Finding(
        **dict(document)
        | {
            "kind": Kind(**document["kind"]),
            "sample": None if sample is None else sample_from_json(sample),
            "script": tuple(document["script"]),
        }
    )


def sample_as_json(sample: Sample) -> dict[str, Json]:
    """Return a sample as JSON; its values are pairs of a name and a value."""
    return {
        "values": [[name, value_as_json(value)] for name, value in sample.values],
        **select_given_fields(sample, but=("values",)),
    }


def sample_from_json(document: Mapping[str, Json]) -> Sample:
    """Return the sample of a document."""
    fields = {name: value_from_json(each) for name, each in document.items() if name != "values"}
    values = tuple((name, value_from_json(value)) for name, value in document["values"])
    return Sample(values, **fields)


def value_as_json(value: Value) -> Json:
    """Return a value of a sample as JSON."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return number(value)
        case complex():
            return {"complex": [number(value.real), number(value.imag)]}
        case tuple():
            return [value_as_json(each) for each in value]
        case TensorSpec():
            return {"tensor": select_given_fields(value)}


def select_given_fields(
    value: Sample | TensorSpec, *, but: tuple[str, ...] = ()
) -> dict[str, Json]:
    """Return the fields that do not have their default."""
    return {
        each.name: value_as_json(given)
        for each in dataclasses.fields(value)
        if each.name not in but and (given := getattr(value, each.name)) is not each.default
    }


def value_from_json(document: Json) -> Any:  # noqa: ANN401 - a value of a sample
    """Return the value of a document."""
    match document:
        case list():
            return tuple(value_from_json(each) for each in document)
        case {"float": text}:
            return float(text)
        case {"complex": [real, imaginary]}:
            return complex(value_from_json(real), value_from_json(imaginary))
        case {"tensor": fields}:
            return TensorSpec(**{name: value_from_json(each) for name, each in fields.items()})
        case None | bool() | int() | float() | str():
            return document
    message = f"no value of a sample: {document!r}"
    raise ValueError(message)


def number(value: float) -> Json:
    """Return a float as JSON, which has no infinity and no NaN."""
    return value if math.isfinite(value) else {"float": repr(value)}
