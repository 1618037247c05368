"""Compiled graphs as text, drawing, page and JSON: golden files, and what holds for any graph.

OPWRIGHT_ACCEPT=1 writes the golden files anew; the difference is what a reviewer reads.
"""

from __future__ import annotations

import json
import os
import stat
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from google.protobuf import text_format
from hypothesis import given, settings
from hypothesis import strategies as st

from opwright.graph_report.captured.model import CapturedGraph, Task
from opwright.graph_report.compiled.fx import makers, source_text
from opwright.graph_report.compiled.layout import BOX_WIDTH, Box, Layout, lay_out
from opwright.graph_report.compiled.lines import details
from opwright.graph_report.compiled.lines import source_text as line_text
from opwright.graph_report.compiled.model import CompiledGraph, Link, Vertex
from opwright.graph_report.compiled.observe import FX_SUFFIX, TENSORS_SUFFIX, infer, keep
from opwright.graph_report.compiled.read import read_compiled
from opwright.graph_report.compiled.relate import relate, rows
from opwright.graph_report.compiled.report import to_text
from opwright.graph_report.compiled.svg import to_svg
from opwright.graph_report.errors import GeDumpError
from opwright.graph_report.folder import FOLDER_VARIABLE
from opwright.graph_report.shown import json_of, page_of
from tests.graph_report.ge_dumps import layers, op, small, write_small

if TYPE_CHECKING:
    from opwright.graph_report.compiled.ge_proto import Message

GOLDEN = Path(__file__).parent / "golden"
SVG = "{http://www.w3.org/2000/svg}"
WIDTH = 160


def accepted(name: str, found: str) -> str:
    """Return the golden file; write it first, if that is asked for."""
    file = GOLDEN / name
    if os.environ.get("OPWRIGHT_ACCEPT"):
        file.write_text(found, encoding="utf-8")
    return file.read_text(encoding="utf-8")


def read(folder: Path, model: Message) -> CompiledGraph:
    file = folder / "ge.air"
    file.write_bytes(model.SerializeToString())
    (graph,) = read_compiled(file)
    return graph


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> CompiledGraph:
    (found,) = read_compiled(write_small(tmp_path_factory.mktemp("small")))
    return found


def test_each_form_is_as_accepted(graph: CompiledGraph) -> None:
    forms = {
        "txt": to_text(graph, 1, width=WIDTH) + "\n",
        "svg": to_svg(graph, 1),
        "html": page_of(graph, 1),
        "json": json_of([graph]) + "\n",
    }
    for suffix, found in forms.items():
        assert found == accepted(f"compiled.{suffix}", found)


def test_the_documentation_shows_a_real_report() -> None:
    page = (GOLDEN.parents[2] / "docs" / "graphs.md").read_text(encoding="utf-8")
    assert (GOLDEN / "compiled.txt").read_text(encoding="utf-8") in page


def test_ge_nodes_belong_to_the_fx_nodes_that_they_came_from(graph: CompiledGraph) -> None:
    assert {vertex.name: vertex.fx for vertex in graph.ge} == {
        "x": ("x",),
        "w": ("w",),
        "MatMul": ("mm", "view"),  # whose converter made it, and whose result it is
        "Const": ("split",),  # no converter made it by itself: the one that takes it
        "Cast": ("split",),
        "SplitV": ("split",),
        'Relu<"&>': ("relu",),
        "Add": ("add",),
        "NetOutput": ("output",),
    }
    found = relate(graph)
    assert found["view"] == ("MatMul",)
    assert found["getitem_1"] == ("SplitV",)  # passes on what split made
    assert found["split"] == ("Const", "Cast", "SplitV")


def test_tensors_are_those_of_meta_else_of_the_engine(graph: CompiledGraph) -> None:
    outputs = {vertex.name: vertex.outputs for vertex in graph.ge}
    assert outputs["x"] == ("float32[4, s0]",)
    assert outputs["Const"] == ("int64[1]",)
    assert outputs["Cast"] == ("int64[1]",)
    split = next(vertex for vertex in graph.ge if vertex.name == "SplitV")
    assert split.inputs == (
        Link(name="x", source="MatMul", tensor="float32[4, 8]"),
        Link(name="size_splits", source="Cast", tensor="int64[1]"),
    )
    matmul = next(vertex for vertex in graph.ge if vertex.name == "MatMul")
    assert matmul.inputs[2] == Link(name="bias", source=None)


def test_streams_scopes_and_cores_are_seen(graph: CompiledGraph) -> None:
    (relu,) = (vertex for vertex in graph.ge if vertex.type == "Relu")
    marks = {"stream": "side <&>", "super kernel": "sp", "AI cores": "8"}
    assert dict(relu.marks) == marks
    assert relu.inputs[1] == Link(name="", source="SplitV", index=-1)
    drawn = ET.fromstring(to_svg(graph, 1))  # noqa: S314 - our own text
    (text,) = (each for each in drawn.iter(f"{SVG}text") if each.get("class") == "mark")
    assert all(f"{name}: {value}" in (text.text or "") for name, value in marks.items())


def test_without_the_fx_graph_the_names_in_the_ge_graph_serve(tmp_path: Path) -> None:
    graph = read(tmp_path, small())
    assert not graph.fx_is_complete
    wanted = ["x", "w", "view", "split", "relu", "add", "output"]
    assert [vertex.name for vertex in graph.fx] == wanted
    assert {vertex.type for vertex in graph.fx} == {"placeholder", "aten.op.default", "output"}
    sources = {vertex.name: [link.source for link in vertex.inputs] for vertex in graph.fx}
    assert sources["view"] == ["x", "w"]
    assert sources["add"] == ["split", "relu"]
    assert "FX: 7 nodes, as the GE graph names them" in to_text(graph, 1, width=WIDTH)


def test_graphs_that_nodes_call_follow(tmp_path: Path) -> None:
    model = small()
    op(model.graph[0], "If", "If", {"cond": "x:0"}).subgraph_name.extend(["then", "else"])
    for name in ("then", "else"):
        op(model.graph.add(name=name), f"{name}_Relu", "Relu", fx="relu")
    file = tmp_path / "ge.air"
    file.write_bytes(model.SerializeToString())
    first, *called = read_compiled(file)
    assert dict(first.ge[-1].attributes)["calls"] == "then, else"
    assert [(graph.name, graph.ge[0].name) for graph in called] == [
        ("then", "then_Relu"),
        ("else", "else_Relu"),
    ]


@pytest.mark.parametrize("suffix", [".txt", ".pb"])
def test_other_files_hold_the_same(tmp_path: Path, suffix: str) -> None:
    model = small()
    file = tmp_path / f"dump{suffix}"
    if suffix == ".txt":
        file.write_text(text_format.MessageToString(model.graph[0]), encoding="utf-8")
    else:
        file.write_bytes(model.SerializeToString())
    assert read_compiled(file) == (read(tmp_path, model),)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("none.air", None),
        ("empty.air", b""),
        ("broken.air", b"\xff\xff\xff\xff"),
        ("truncated.air", small().SerializeToString()[:-40]),
        ("broken.txt", b"op {"),
        ("latin.txt", b"\xe4"),
        ("broken.pbtxt", b"node { name: 1 }"),
    ],
)
def test_a_file_that_is_no_graph_is_reported(
    tmp_path: Path, name: str, content: bytes | None
) -> None:
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(GeDumpError, match=r"OPW-G005") as caught:
        read_compiled(file)
    assert caught.value.where == str(file)


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (FX_SUFFIX, "{"),
        (FX_SUFFIX, "[" * 100_000),
        (FX_SUFFIX, '{"version": 2}'),
        (FX_SUFFIX, '{"version": 1, "nodes": [{"name": "x"}], "made": {}}'),
        (FX_SUFFIX, '{"version": 1, "nodes": 3, "made": {}}'),
        (TENSORS_SUFFIX, "[]"),
    ],
)
def test_a_damaged_file_beside_it_is_reported(tmp_path: Path, suffix: str, text: str) -> None:
    file = write_small(tmp_path)
    file.with_suffix(suffix).write_text(text, encoding="utf-8")
    with pytest.raises(GeDumpError, match=r"OPW-G005"):
        read_compiled(file)


def test_makers_are_read_from_the_code_that_torchair_writes() -> None:
    code = """
# File "step.py", line 5, in step    y = x @ w
## FX Code: mm: torch.float32[4, 8]npu:0 = torch.ops.aten.mm.default(x: torch.float32[4, 6])
Cast_0 = ge.Cast(x_0, dst_type=0, node_name="Cast")
MatMul_0 = ge.MatMul(Cast_0, w_0, None, node_name="MatMul")
## FX Code: split = torch.ops.aten.split(mm: torch.float32[4, 8]npu:0, 4)
Split_0, Split_1 = ge.Split(MatMul_0)
"""
    assert makers(code) == {
        "Cast_0": "mm",
        "MatMul_0": "mm",
        "Split_0": "split",
        "Split_1": "split",
    }


def test_the_source_line_is_one_of_the_user() -> None:
    frames = [
        ("/home/u/step.py", 7, "step", "y = layer(x)"),
        ("/v/lib/python3.11/site-packages/torch_npu/dynamo/torchair/scope.py", 3, "f", "g()"),
    ]
    trace = "".join(f'  File "{f}", line {n}, in {w}\n    {code}\n' for f, n, w, code in frames)
    assert source_text(trace) == "/home/u/step.py:7 in step: y = layer(x)"
    assert source_text(trace[trace.index("  File", 3) :]).endswith("scope.py:3 in f: g()")
    assert source_text("") == ""


def test_inside_of_torchs_modules_the_module_stands_for_the_line() -> None:
    assert line_text(Vertex(name="mm", type="", module="layers.0 (Linear)")) == (
        "in layers.0 (Linear)"
    )


def test_layers_are_drawn_once_and_all_names_can_be_found(tmp_path: Path) -> None:
    graph = read(tmp_path, layers(400))  # 2002 nodes
    drawing = to_svg(graph, 1)
    assert len(drawing) < 60_000
    assert "\u00d7400" in drawing
    for name in ("MatMul_0", "Relu_250", "mul_399", "w399"):
        assert name in drawing
    report = to_text(graph, 1, width=WIDTH)
    assert "400 times the next 5 rows" in report
    assert report.count("MatMul_") < 5


class Page(HTMLParser):
    """A page as a browser sees it."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [
            value or "" for name, value in attrs if name in ("href", "src", "xlink:href")
        ]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


HOSTILE = "</title></svg><script>alert('\"&amp;')</script> \u05d0\u20ac\U0001f600 ]]> <!-- \x1b"


def hostile() -> CompiledGraph:
    fx = Vertex(
        name=HOSTILE,
        type=HOSTILE,
        outputs=(HOSTILE,),
        attributes=((HOSTILE, HOSTILE),),
        source=HOSTILE,
        module=HOSTILE,
    )
    ge = Vertex(
        name=HOSTILE,
        type=HOSTILE,
        inputs=(Link(name=HOSTILE, source=HOSTILE, tensor=HOSTILE),),
        marks=((HOSTILE, HOSTILE),),
        fx=(HOSTILE,),
    )
    return CompiledGraph(name=HOSTILE, fx=(fx,), ge=(ge,), fx_is_complete=True)


def test_hostile_names_are_text_in_every_form() -> None:
    graph = hostile()
    drawing = ET.fromstring(to_svg(graph, 1))  # noqa: S314 - our own text
    shown = [each.text or "" for each in drawing.iter(f"{SVG}title")]
    assert HOSTILE.replace("\x1b", "\ufffd") in "".join(shown)
    page = Page()
    page.feed(page_of(graph, 1))
    assert page.tags.count("script") == 1
    assert page.tags.count("svg") == 1
    assert page.links == []
    assert any("</svg><script>alert" in text for text in page.texts)
    assert json.loads(json_of([graph]))[0]["fx"][0]["name"] == HOSTILE
    assert "\x1b" not in to_text(graph, 1, width=WIDTH)


def test_the_page_of_a_capture_is_safe_as_well() -> None:
    task = Task(stream=1, name=HOSTILE, kind="kernel")
    page = Page()
    page.feed(page_of(CapturedGraph(model=1, device=0, detailed=True, tasks=(task,)), 1))
    assert page.tags.count("script") == 1
    assert any("</svg><script>alert" in text for text in page.texts)


def test_a_page_needs_no_network_and_no_scripts_to_be_read(graph: CompiledGraph) -> None:
    text = page_of(graph, 1)
    page = Page()
    page.feed(text)
    assert page.links == []
    assert "default-src 'none'" in text
    for vertex in (*graph.fx, *graph.ge):
        assert any(vertex.name in each for each in page.texts)


def test_pointing_shows_all_about_a_node(graph: CompiledGraph) -> None:
    split = next(vertex for vertex in graph.fx if vertex.name == "split")
    assert details(split).splitlines() == [
        "split  aten.split.Tensor",
        "self \u2190 view  float32[4, 8]",
        "\u2192 0 float32[4, 4]",
        "\u2192 1 float32[4, 4]",
        "split_size = 4",
        "dim = -1",
        "/src/step<1>.py:7 in step: split(x & y)",
    ]


names = st.text(max_size=6)


@st.composite
def any_graph(draw: st.DrawFn) -> CompiledGraph:
    """Return a graph whose edges point anywhere, also to nodes that are not there."""

    def vertices(prefix: str, fx_count: int) -> tuple[Vertex, ...]:
        count = draw(st.integers(0, 30))
        found = []
        for number in range(count):
            sources = draw(st.lists(st.integers(-1, count), max_size=4))
            found.append(
                Vertex(
                    name=f"{prefix}{number}",
                    type=draw(st.sampled_from(["Add", "Mul", "\U0001f600"])),
                    inputs=tuple(
                        Link(
                            name=draw(names),
                            source=None if source < 0 else f"{prefix}{source}",
                            index=draw(st.integers(-1, 2)),
                            tensor="float32[2]",
                        )
                        for source in sources
                    ),
                    outputs=("float32[2]",) * draw(st.integers(0, 2)),
                    fx=(f"f{number % fx_count}",) if fx_count and draw(st.booleans()) else (),
                    is_input=draw(st.integers(0, 3)) == 0,
                )
            )
        return tuple(found)

    fx = vertices("f", 0)
    return CompiledGraph(name="g", fx=fx, ge=vertices("n", len(fx)), fx_is_complete=True)


@settings(max_examples=60, deadline=None)
@given(any_graph())
def test_any_graph_has_a_drawing_in_which_nothing_overlaps(graph: CompiledGraph) -> None:
    layout = lay_out(graph, 100.0)
    shown = sorted(box.vertex.name for box in layout.boxes)
    assert shown == sorted(vertex.name for vertex in (*graph.fx, *graph.ge))
    assert len({box.id for box in layout.boxes}) == len(layout.boxes)
    for side in ("fx", "ge"):
        check_column([box for box in layout.boxes if box.side == side], layout)
    check_lanes(layout)
    links = [link for vertex in (*graph.fx, *graph.ge) for link in vertex.inputs]
    assert len(layout.routes) == sum(link.source in shown for link in links)
    ET.fromstring(to_svg(graph, 1))  # noqa: S314 - our own text


def check_column(boxes: list[Box], layout: Layout) -> None:
    """Boxes stand one below the other, between the ends of the drawing."""
    bottom = layout.top
    for box in boxes:
        assert box.y >= bottom
        assert 0 <= box.x <= layout.width - BOX_WIDTH
        bottom = box.y + box.height
    assert bottom <= layout.bottom


def check_lanes(layout: Layout) -> None:
    """In one lane beside a column no two edges meet."""
    stretches: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for route in layout.routes:
        if route.lane is not None:
            stretch = (min(route.from_y, route.to_y), max(route.from_y, route.to_y))
            stretches.setdefault((route.target.side, route.lane), []).append(stretch)
    for taken in stretches.values():
        taken.sort()
        assert all(one[1] < other[0] for one, other in pairwise(taken))


@given(any_graph())
@settings(max_examples=30, deadline=None)
def test_each_node_has_its_row(graph: CompiledGraph) -> None:
    found = rows(graph)
    assert sorted(row.fx.name for row in found if row.fx is not None) == sorted(
        vertex.name for vertex in graph.fx
    )
    assert sorted(vertex.name for row in found for vertex in row.ge) == sorted(
        vertex.name for vertex in graph.ge
    )


def test_a_program_that_is_killed_while_it_writes_leaves_no_half_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []

    def killed(file: Path, target: Path) -> None:
        seen.append(sorted(each.name for each in tmp_path.glob("ge-*")))
        assert file.read_bytes() == b"data"
        raise KeyboardInterrupt(target)

    monkeypatch.setattr(Path, "replace", killed)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    with pytest.raises(KeyboardInterrupt, match=r"ge-.*\.air"):
        keep(b"data", "graph_1")
    assert seen == [[]]


def test_graphs_are_kept_only_if_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    serialized = small().SerializeToString()
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    keep(serialized, "graph_1")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    infer("graph_1", iter(()))  # a graph that was not kept
    assert list(tmp_path.iterdir()) == []
    keep(serialized, "graph_1")
    infer("graph_1", [("Cast:0", SimpleNamespace(dtype="torch.int64", shape=(2,)))])
    infer(
        "graph_1", [("Cast:0", SimpleNamespace(dtype="torch.int64", shape=(3,)))]
    )  # another shape, later
    (file,) = tmp_path.glob("*.air")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    (found,) = read_compiled(file)
    assert next(vertex for vertex in found.ge if vertex.name == "Cast").outputs == ("int64[2]",)
    assert capsys.readouterr().err == ""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "none"))
    keep(serialized, "graph_1")
    assert "opwright: OPWRIGHT_GRAPH_DUMP: [Errno 2] No such file" in capsys.readouterr().err
