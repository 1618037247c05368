"""From a recording to CANN's result files: opwright/twin/msprof, without torch or the twin."""

from __future__ import annotations

import csv
import json
from errno import ENOSPC
from typing import TYPE_CHECKING, Any

import pytest

from opwright.twin.msprof.command import main
from opwright.twin.msprof.errors import RecordingError
from opwright.twin.msprof.export import export
from opwright.twin.msprof.kinds import MATRIX
from opwright.twin.msprof.recording import read
from opwright.twin.msprof.timeline import microseconds, subtract, timeline, union

if TYPE_CHECKING:
    from pathlib import Path

    from opwright.twin.msprof.recording import Recording

Line = dict[str, Any]

# The raw clock runs 1 in 1000 slower than the steady one; a day began at 5_000_000_000 raw.
START: Line = {"kind": "start", "steady": 1_000_000, "raw": 9_000_000, "wall": 0, "pid": 42}
STOP: Line = {"kind": "stop", "steady": 2_000_000, "raw": 9_999_000, "wall": 0, "pid": 42}
OFFSET = 7_000_000_000


def task(number: int, name: str, begin: int, end: int, **more: object) -> Line:
    shared = {"kind": "task", "tid": 9, "device": 0, "stream": 3, "bookkeeping": 0, "written": []}
    return {
        **shared,
        "number": number,
        "name": name,
        "begin": begin,
        "end": end,
        "args": {},
        **more,
    }


RECORDED: tuple[Line, ...] = (
    START,
    {"kind": "call", "tid": 5, "name": "aclnnMm", "begin": 1_100_000, "end": 1_104_000},
    {
        "kind": "launch",
        "tid": 5,
        "name": "aclnnMm",
        "device": 0,
        "stream": 3,
        "number": 1,
        "time": 1_101_000,
    },
    task(
        1,
        "aclnnMm",
        1_110_000,
        1_120_000,
        written=["out"],
        args={"self": "float16[2, 3]", "mat2": "bfloat16[3, 4]", "out": "float16[2, 4]", "n": "1"},
    ),
    task(2, "aclrtMemcpyAsync", 1_120_000, 1_121_000),
    task(3, "HcclAllReduce", 1_115_000, 1_140_000),
    task(4, "aclnnRelu", 1_150_000, 1_151_000, written=["out"], args={"out": "int8[]"}),
    task(5, "aclrtRecordEvent", 1_151_000, 1_151_000, bookkeeping=1),
    {**task(0, "aclnnTanh", 1_160_000, 1_161_000), "kind": "replayed", "graph": 8},
    {"kind": "mark", "tid": 9, "device": 0, "stream": 3, "name": "here", "time": 1_155_000},
    STOP,
)


def write(folder: Path, lines: tuple[Line, ...] = RECORDED) -> Path:
    (folder / "host" / "data").mkdir(parents=True)
    text = "\n".join(map(json.dumps, lines))
    (folder / "host" / "data" / "opwright.jsonl").write_text(text, encoding="utf-8")
    start = {"collectionTimeBegin": str(OFFSET // 1000), "clockMonotonicRaw": "0"}
    (folder / "host" / "start_info").write_text(json.dumps(start), encoding="utf-8")
    return folder


def rows(results: Path, name: str) -> list[dict[str, str]]:
    (file,) = results.glob(f"{name}_*.csv")
    with file.open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


def test_times_are_on_the_clock_of_the_day(tmp_path: Path) -> None:
    recording = read(write(tmp_path))
    (call,) = recording.calls
    # 100 microseconds after the start on the steady clock are 99.9 on the raw one.
    assert call.begin == OFFSET + 9_000_000 + 99_900
    assert microseconds(1_795_354_906_390_857_696) == "1795354906390857.696"
    assert microseconds(5) == "0.005"


def test_a_task_knows_its_launch(tmp_path: Path) -> None:
    first, *others = read(write(tmp_path)).tasks
    assert first.launch is not None
    assert (first.launch.thread, first.launch.name) == (5, "aclnnMm")
    assert [other.launch for other in others] == [None] * 5


def test_tables(tmp_path: Path) -> None:
    results = export(write(tmp_path))
    summary = rows(results, "op_summary")
    assert [row["OP Type"] for row in summary] == ["Mm", "Relu", "Tanh"]
    product = summary[0]
    assert product["Op Name"] == "aclnnMm_Mm_Mm"
    assert product["Input Shapes"] == '"2,3;3,4"'
    assert product["Input Data Types"] == "FLOAT16;DT_BF16"
    assert product["Output Shapes"] == '"2,4"'
    assert [row["Task Type"] for row in summary] == ["AI_CORE", "AI_VECTOR_CORE", "AI_VECTOR_CORE"]
    assert [row["Model ID"] for row in summary] == ["4294967295", "4294967295", "8"]
    assert float(product["Task Duration(us)"]) == pytest.approx(9.99)
    times = rows(results, "task_time")
    assert {row["kernel_type"] for row in times} >= {
        "MEMCPY_ASYNC",
        "COMMUNICATION",
        "EVENT_RECORD",
    }
    (call,) = rows(results, "api_statistic")
    assert (call["API Name"], call["Count"]) == ("aclnnMm", "1")
    assert sum(float(row["Ratio(%)"]) for row in rows(results, "op_statistic")) == pytest.approx(
        100, abs=0.01
    )


def test_the_timeline_has_rows_arrows_and_marks(tmp_path: Path) -> None:
    events = timeline(read(write(tmp_path)))
    rows_of = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert set(rows_of.values()) == {"CANN", "Ascend Hardware", "Overlap Analysis"}
    (begin,) = (event for event in events if event["ph"] == "s")
    (end,) = (event for event in events if event["ph"] == "f")
    (kernel,) = (event for event in events if event["name"] == "aclnnMm_Mm_Mm")
    assert begin["id"] == end["id"]
    assert (end["pid"], end["tid"], end["ts"]) == (kernel["pid"], kernel["tid"], kernel["ts"])
    assert [event["dur"] for event in events if event["name"] == "here"] == [0]
    labels = [e["args"]["labels"] for e in events if e["name"] == "process_labels"]
    assert labels == ["CPU", "NPU 0", "NPU 0"]


def test_what_overlaps() -> None:
    assert union([(5, 6), (0, 2), (1, 3)]) == [(0, 3), (5, 6)]
    assert subtract([(0, 10)], [(2, 4), (6, 20)]) == [(0, 2), (4, 6)]
    assert subtract([(0, 1)], [(0, 1)]) == []


def test_an_export_replaces_the_one_before(tmp_path: Path) -> None:
    folder = write(tmp_path)
    results = export(folder)
    (results / "old.csv").write_text("", encoding="utf-8")
    assert export(folder) == results
    assert not (results / "old.csv").exists()
    assert [each.name for each in folder.iterdir() if each.name.startswith(".")] == []


@pytest.mark.parametrize("lines", [(), (START,), (STOP,)])
def test_an_unfinished_recording(tmp_path: Path, lines: tuple[Line, ...]) -> None:
    folder = write(tmp_path, lines)
    with pytest.raises(RecordingError) as caught:
        read(folder)
    assert (
        str(caught.value)
        == f"""\
OPW-T051 not a profile that the twin recorded
  where:   {folder}
  got:     opwright.jsonl without beginning or end
  fix:     name a folder PROF_... of a program that ran on the twin and ended its profile"""
    )


def test_an_export_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_recording: Recording) -> dict[str, object]:
        raise OSError(ENOSPC, "no space left")

    folder = write(tmp_path)
    before = sorted(folder.iterdir())
    monkeypatch.setitem(export.__globals__, "tables", full)
    with pytest.raises(OSError, match="no space left"):
        export(folder)
    assert sorted(folder.iterdir()) == before


OPTION = """\
OPW-T050 msprof cannot do that here
  where:   msprof
  got:     {}
  allowed: --export=on, --analyze=on, --output=FOLDER, --help
  fix:     profile with torch_npu.profiler.profile; the twin's msprof exports what it recorded
"""


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write(tmp_path / "PROF_1")
    assert main(["--export=on", f"--output={folder}"]) == 0
    assert main(["--analyze=on", f"--output={folder}"]) == 0
    assert main(["--help"]) == 0
    assert "--export=on" in capsys.readouterr().out
    for wrong, got in (
        (["--export=on"], "--export=on"),
        (["--dynamic=on"], "--dynamic=on"),
        (["--export=on", "--type=db", "--output=x"], "--type=db"),
        ([], "no options"),
    ):
        assert main(wrong) == 1
        assert capsys.readouterr().err == OPTION.format(got)
    assert main(["--export=on", f"--output={tmp_path / 'nothing'}"]) == 1
    assert "OPW-T051" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["Mm", "Addmm", "Baddbmm", "BatchMatMul", "QuantMatmulV4", "Mv"])
def test_the_matrix_unit(name: str) -> None:
    assert MATRIX.search(f"aclnn{name}")


@pytest.mark.parametrize("name", ["Add", "HammingWindow", "Relu", "Addcmul", "DotProductFree"])
def test_the_vector_unit(name: str) -> None:
    assert not MATRIX.search(f"aclnn{name}")
