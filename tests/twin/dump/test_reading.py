"""Files of data dumps, made here by the description of their format: opwright/twin/dump."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from opwright.cli import app
from opwright.twin.dump import find_dumps, find_tables, read_dump
from opwright.twin.dump.errors import DumpFileError, NoDumpError
from opwright.twin.dump.reading import DTYPES

NAME = "Add.sum.3.1.1700000000000000"
WRITER = Path(__file__).parents[3] / "native" / "runtime" / "data_dump" / "file.cpp"
TABLE = (
    "Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,"
    "Nan Count,Negative Inf Count,Positive Inf Count\n"
    "Input,0,24,DT_FLOAT,ND,2x3,6,-2,2.5,6,0,0,0\n"
    "Output,0,8,DT_COMPLEX64,ND,,,,,,,,\n"
)
X = np.array([[1, -2, 3], [4, 5, 6]], np.float32)


def field(number: int, value: int | bytes) -> bytes:
    """Return a field of protobuf; numbers and lengths are below 128."""
    if isinstance(value, int):
        return bytes([number << 3, value])
    return bytes([number << 3 | 2, len(value)]) + value


def shape(*sizes: int) -> bytes:
    """Return a Shape."""
    return field(1, bytes(sizes)) if sizes else b""


def dump(
    name: bytes, inputs: list[tuple[int, np.ndarray]], outputs: list[tuple[int, np.ndarray]]
) -> bytes:
    """Return a file: tensors with the numbers of their types."""
    head = field(1, b"2.0") + field(6, name)
    for code, array in outputs:
        sizes = shape(*array.shape)
        head += field(3, field(1, code) + field(2, 2) + field(3, sizes) + field(6, array.nbytes))
    for code, array in inputs:
        sizes = shape(*array.shape)
        head += field(4, field(1, code) + field(2, 2) + field(3, sizes) + field(5, array.nbytes))
    data = b"".join(array.tobytes() for _, array in (*inputs, *outputs))
    return struct.pack("<Q", len(head)) + head + data


def test_a_file_has_its_tensors(tmp_path: Path) -> None:
    path = tmp_path / NAME
    half = np.array([1.5, -2.0], np.float16)
    brain = (np.array([3.0, -1.5], np.float32).view(np.uint32) >> 16).astype(np.uint16)
    path.write_bytes(dump(b"scope/sum", [(1, X), (8, np.array(7))], [(2, half), (27, brain)]))
    found = read_dump(path)
    assert (found.type, found.name, found.task, found.stream) == ("Add", "scope/sum", 3, 1)
    assert found.inputs[0].array.tolist() == X.tolist()
    assert found.inputs[1].array.tolist() == 7
    assert [str(each) for each in found.inputs] == ["float32[2, 3]", "int64[]"]
    assert found.outputs[0].array.tolist() == [1.5, -2.0]
    assert found.outputs[1].array.tolist() == [3.0, -1.5]


def test_a_folder_has_its_files_in_order(tmp_path: Path) -> None:
    content = dump(b"n", [], [(1, X)])
    folder = tmp_path / "0" / "graph" / "1" / "0"
    folder.mkdir(parents=True)
    for name in ("Mul.b.0.0.1700000000000002", "Add.a.1.0.1700000000000003", "4242"):
        (folder / name).write_bytes(content)
    long = f'4242,"Neg.a,\n""{"n" * 300}"".0.0.1700000000000001"\n'
    (folder / "mapping.csv").write_text(long)
    (folder / "Add.a.1.0.1700000000000003.csv").write_text("a table of statistics")
    assert [each.type for each in find_dumps(tmp_path)] == ["Neg", "Mul", "Add"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x03",
        struct.pack("<Q", 9) + b"abc",
        dump(b"n", [(1, X)], [])[:-1],
        struct.pack("<Q", 1) + b"\x80",
        struct.pack("<Q", 2) + b"\x0bx",
        struct.pack("<Q", 2) + b"\x0a\x09",
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / NAME
    path.write_bytes(content)
    with pytest.raises(DumpFileError) as caught:
        read_dump(path)
    assert caught.value.where == str(path)


def test_a_file_of_another_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DumpFileError, match=r"type\.name\.task\.stream\.time"):
        read_dump(tmp_path / "notes.txt")


def test_the_verb_lists_and_converts(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(dump(b"sum", [(1, X)], [(1, X + 1)]))
    listed = CliRunner().invoke(app, ["dump", str(tmp_path), "--npy", str(tmp_path / "arrays")])
    assert listed.exit_code == 0, listed.output
    assert "output 0  float32[2, 3]  min -1  max 7  mean 3.83333" in listed.output
    array = np.load(tmp_path / "arrays" / f"{NAME}.output.0.npy")
    assert array.tolist() == (X + 1).tolist()
    printed = CliRunner().invoke(app, ["dump", str(tmp_path / NAME), "--json"])
    (found,) = json.loads(printed.stdout)["dumps"]
    assert found["tensors"][0] == {
        "kind": "input",
        "index": 0,
        "dtype": "float32",
        "format": "ND",
        "shape": [2, 3],
        "bytes": 24,
    }


def test_a_place_without_dumps_is_refused(tmp_path: Path) -> None:
    refused = CliRunner().invoke(app, ["dump", str(tmp_path)])
    assert isinstance(refused.exception, NoDumpError)


def test_the_types_are_those_of_the_writer() -> None:
    written = re.findall(r'\{ACL_\w+, \{(\d+), "DT_(\w+)"\}\}', WRITER.read_text(encoding="utf-8"))
    other = {
        "float": "float32",
        "double": "float64",
        "bf16": "bfloat16",
        "float8_e8m0": "float8_e8m0fnu",
    }
    names = {int(code): name.lower() for code, name in written}
    assert len(names) > 20
    assert {code: other.get(name, name) for code, name in names.items()} == DTYPES


def test_values_without_a_type_of_numpy_stay_bytes(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(dump(b"n", [(39, np.array([18, 52], np.uint8))], []))
    (tensor,) = read_dump(str(tmp_path / NAME)).inputs
    assert str(tensor) == "float4_e2m1[2]"
    assert tensor.array.tolist() == [18, 52]
    listed = CliRunner().invoke(app, ["dump", str(tmp_path)])
    assert "min" not in listed.output


def test_statistics_are_listed(tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.csv").write_text(TABLE)
    (tmp_path / "4242").write_text(TABLE)
    long = f"Neg.{'n' * 300}.0.0.1600000000000000.csv"
    (tmp_path / "mapping.csv").write_text(f'4242,"{long}"\n')
    assert [each.type for each in find_tables(tmp_path)] == ["Neg", "Add"]
    assert not list(find_dumps(tmp_path))
    listed = CliRunner().invoke(app, ["dump", str(tmp_path)])
    assert listed.exit_code == 0, listed.output
    assert "Data Type DT_FLOAT  Format ND  Shape 2x3  Max Value 6  Min Value -2" in listed.output
    assert "output 0  Data Size 8  Data Type DT_COMPLEX64  Format ND\n" in listed.output
    printed = CliRunner().invoke(app, ["dump", str(tmp_path / f"{NAME}.csv"), "--json"])
    (found,) = json.loads(printed.stdout)["dumps"]
    assert found["statistics"][0]["Avg Value"] == "2.5"


def test_statistics_have_no_arrays(tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.csv").write_text(TABLE)
    refused = CliRunner().invoke(app, ["dump", str(tmp_path), "--npy", str(tmp_path / "arrays")])
    assert refused.exit_code == 2
    assert "--npy" in refused.output
    assert not (tmp_path / "arrays").exists()


@pytest.mark.parametrize(
    "content", [b"", b"a table", b"Input/Output,Index\nInput\n", b"Input/Output,Index\n\xff,0\n"]
)
def test_a_damaged_table_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / f"{NAME}.csv"
    path.write_bytes(content)
    with pytest.raises(DumpFileError) as caught:
        list(find_tables(tmp_path))
    assert caught.value.where == str(path)


def test_a_damaged_mapping_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "mapping.csv"
    table.write_bytes(b"4242,\xff\n")
    with pytest.raises(DumpFileError) as caught:
        list(find_dumps(tmp_path))
    assert caught.value.where == str(table)
