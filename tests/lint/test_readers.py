"""Literals, suppressions and schemas, by property; and files that are no sources at all."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opwright.lint.cpp.syntax import literal, parse, walk
from opwright.lint.definitions import FileFacts, Language, Place
from opwright.lint.linting import lint_facts, read_file
from opwright.lint.schema import SchemaProblem, read_schema
from opwright.lint.suppressions import parse_suppression, read_suppressions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ANY_NEWLINE = re.compile(rb"[\n\r\x0b\x0c\x1c-\x1e\x85\xa8\xa9]")
CORPUS = Path(__file__).parent / "corpus"
FILES = sorted(
    path
    for path in CORPUS.rglob("*")
    if path.suffix in {".cpp", ".h", ".py", ".yaml"} and "golden" not in path.parts
)


def read(source: str, suffix: str = ".cpp") -> FileFacts:
    facts = read_file(f"file{suffix}", suffix, source.encode())
    assert facts is not None
    return facts


def places_of(fact: object) -> Iterator[Place]:
    """Yield all places in facts or findings."""
    if isinstance(fact, Place):
        yield fact
    elif isinstance(fact, tuple | frozenset | list):
        for each in fact:
            yield from places_of(each)
    elif is_dataclass(fact):
        for one in fields(fact):
            yield from places_of(getattr(fact, one.name))


def is_within(place: Place, content: bytes) -> bool:
    """Return whether a file has such a line, and any line so long."""
    lines = 1 + len(ANY_NEWLINE.findall(content))
    return 1 <= place.line <= lines and 1 <= place.column <= len(content) + 1


def read_and_lint(name: str, suffix: str, content: bytes) -> FileFacts | None:
    """Read what need not be a source: the facts name the file, and places within its text."""
    facts = read_file(name, suffix, content)
    report = lint_facts([] if facts is None else [facts])
    problems = [each.problem for each in (*report.findings, *report.silenced)]
    if facts is None:
        assert problems == []
        return None
    assert facts.path == name
    for place in places_of((facts, problems)):
        assert place.file == name
        assert is_within(place, content), place
    return facts


# -- literals ------------------------------------------------------------------------------------

PLAIN = st.text(st.characters(codec="utf-8", exclude_characters='\0\r"\\'), max_size=20)


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def raw(text: str) -> str:
    return f'R"x({text})x"'


def continued(text: str) -> str:
    escaped = quoted(text)
    return escaped[:1] + "\\\n" + escaped[1:]


@given(st.lists(st.tuples(PLAIN, st.sampled_from([quoted, raw, continued])), min_size=1))
def test_adjacent_literals_are_one_text(
    parts: list[tuple[str, Callable[[str], str]]],
) -> None:
    written = "\n  ".join(write(text) for text, write in parts)
    root = parse(f"auto x = {written};".encode()).root_node
    kinds = {"string_literal", "raw_string_literal", "concatenated_string"}
    node = next(each for each, _ in walk(root) if each.type in kinds)
    assert literal(node) == "".join(text for text, _ in parts)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (r'"a\tb\"c\\"', 'a\tb"c\\'),
        (r'"\x41\102"', "AB"),
        ('TORCH_SELECTIVE_SCHEMA("f() -> ()")', "f() -> ()"),
        ('("f() " "-> ()")', "f() -> ()"),
        ("SCHEMA", None),
        ('"f" SCHEMA', None),
    ],
)
def test_a_literal_is_what_it_stands_for(written: str, value: str | None) -> None:
    facts = read(f"TORCH_LIBRARY(n, m) {{ m.def({written}); }}")
    found = [each.text for each in facts.definitions]
    assert found == ([] if value is None else [" ".join(value.split())])
    assert bool(facts.opens) == (value is None)


# -- suppressions --------------------------------------------------------------------------------

RULE = st.from_regex(r"[a-z]+(-[a-z]+)*", fullmatch=True)
REASON = st.from_regex(r"[A-Za-z][A-Za-z0-9 ,.]*[a-z.]", fullmatch=True)


@given(st.lists(RULE, min_size=1, max_size=4), REASON, st.sampled_from(["//", "#", "/*"]))
def test_a_suppression_is_read_as_it_is_written(rules: list[str], reason: str, sign: str) -> None:
    comment = f"{sign} opwright-lint: ignore[{', '.join(rules)}] {reason}"
    comment += " */" if sign == "/*" else ""
    assert parse_suppression(comment) == (tuple(rules), reason)


@given(st.text())
def test_no_comment_stops_the_reader(text: str) -> None:
    data = f"x = 1  # opwright-lint: ignore{text}\n".encode("utf-8", "replace")
    first, *others = read_suppressions("f.py", data, (b"#",))
    assert (first.place.file, first.place.line, first.line) == ("f.py", 1, 1)
    assert all(is_within(each.place, data) for each in others)


def test_a_comment_alone_is_for_the_next_line_of_code() -> None:
    data = b"\n# opwright-lint: ignore[a] why\n\n# more\nx = 1  # opwright-lint: ignore[b] so\n"
    found = read_suppressions("f.py", data, (b"#",))
    assert [(each.rules, each.line) for each in found] == [(("a",), 5), (("b",), 5)]


# -- schemas -------------------------------------------------------------------------------------


@given(st.text(max_size=60))
def test_any_text_is_a_schema_or_a_problem(text: str) -> None:
    with suppress(SchemaProblem):
        assert read_schema(text).name


@pytest.mark.parametrize(
    "text",
    [
        "f(Tensor! x, Tensor! y) -> Tensor",
        "f(int a=1, SymInt[] b, int c=2) -> ()",
        "f(str s=\"a, b\", str t='(') -> Tensor[]",
        "f(Tensor(a!)[] x, Tensor(b!)? y, *, Tensor?[] z=[]) -> (Tensor(a!)[], Tensor)",
        "f(Tensor(a -> *) x, Dict(str, Tensor) d, (Tensor, int) u) -> Tensor(a)",
        "ns::f.over(Tensor x ,Tensor y)->(Tensor y ,Tensor rstd)",
        "f(...) -> ...",
        "f(Tensor x, __torch__.torch.classes.a.B c, float e=1., float g=-.5e-3) -> Tensor",
    ],
)
def test_what_torch_takes_is_read(text: str) -> None:
    assert read_schema(text).name == "f"


@pytest.mark.parametrize(
    "text",
    [
        "f(int a=1, int b) -> ()",
        "f(int[] y=None) -> ()",
        "f(Tensor x, ) -> ()",
        "f(Tensor x)",
        "f(Tensor x -> Tensor",
        "f(Tensor) -> Tensor",
        "f(Tensr x) -> Tensor",
        "f(Tensor x) -> (Tensor",
        "f(int a=) -> ()",
    ],
)
def test_what_torch_refuses_is_a_problem(text: str) -> None:
    with pytest.raises(SchemaProblem):
        read_schema(text)


# -- what is no source ---------------------------------------------------------------------------


@given(st.sampled_from(FILES), st.data())
def test_a_truncated_file_is_read_as_far_as_it_goes(path: Path, data: st.DataObject) -> None:
    content = path.read_bytes()
    end = data.draw(st.integers(0, len(content)))
    read_and_lint("cut", path.suffix, content[:end])


@given(st.sampled_from(FILES), st.data())
def test_a_damaged_file_is_read_all_the_same(path: Path, data: st.DataObject) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
        if not content:
            break
    read_and_lint("damaged", path.suffix, bytes(content))


@given(st.binary(max_size=300), st.sampled_from([".cpp", ".py", ".yaml"]))
def test_random_bytes_are_read(content: bytes, suffix: str) -> None:
    marks = {
        ".cpp": b"TORCH_LIBRARY(a, m) {",
        ".py": b"import torch.library\n",
        ".yaml": b"custom:\n  - func: ",
    }
    assert read_and_lint("random", suffix, marks[suffix] + content) is not None


def test_python_that_nests_too_deep_is_said_to_be_none() -> None:
    facts = read("import torch.library\nx = " + "(" * 5000 + ")" * 5000, ".py")
    assert [each.text.partition(":")[0] for each in facts.problems] == ["no Python"]


@pytest.mark.parametrize(
    ("suffix", "source"),
    [
        (".py", "import torch.library\nlib = Library('n')\ny = " + "-" * 4000 + "lib\n"),
        (".py", "import torch.library\ntorch.library.define(" + "'a' + " * 5000 + "'b')\n"),
        (
            ".cpp",
            "at::Tensor f(at::Tensor x) { auto y = " + "(" * 3000 + "x" + ")" * 3000 + "; }",
        ),
    ],
)
def test_an_expression_of_thousands_of_terms_ends_only_its_file(suffix: str, source: str) -> None:
    facts = read(source, suffix)
    assert lint_facts([facts]).findings == ()


def test_latin_1_is_read() -> None:
    source = 'TORCH_LIBRARY(n, m) {\n  // Größe\n  m.def("f(Tensor x) -> ()");\n}'
    facts = read_file("latin.cpp", ".cpp", source.encode("latin-1"))
    assert facts is not None
    assert [each.place.line for each in facts.definitions] == [3]


# -- forms of registration -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        ("&ns::f", "ns::f"),
        ("ns::f", "ns::f"),
        ("TORCH_FN(ns::f)", "ns::f"),
        ("TORCH_BOX(&f)", "f"),
        ("static_cast<void (*)(const at::Tensor &)>(&ns::f)", "ns::f"),
        ("(at::Tensor (*)(at::Tensor))f", "f"),
        ("f<float>", "f"),
        ("torch::CppFunction::makeFromBoxedFunction<&boxed>()", "boxed"),
        ("torch::CppFunction::makeFallthrough()", None),
        ("[](const at::Tensor &x) { return x; }", None),
    ],
)
def test_the_function_of_a_registration_is_found(kernel: str, name: str | None) -> None:
    facts = read(f'TORCH_LIBRARY_IMPL(n, CPU, m) {{ m.impl("f", {kernel}); }}')
    (found,) = facts.implementations
    assert found.kernel.name == name
    assert found.key == "CPU"


@pytest.mark.parametrize(
    ("head", "namespace"),
    [
        ("TORCH_LIBRARY(n, m)", "n"),
        ("TORCH_LIBRARY_FRAGMENT(n, m)", "n"),
        ("STABLE_TORCH_LIBRARY(n, m)", "n"),
        ("STABLE_TORCH_LIBRARY_FRAGMENT(n, m)", "n"),
        ("TORCH_LIBRARY_EXPAND(CONCAT(_C, _x), m)", "_C_x"),
        ("TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, m)", "TORCH_EXTENSION_NAME"),
    ],
)
def test_blocks_and_macros_around_them(head: str, namespace: str) -> None:
    facts = read(f'namespace {{\n{head}\n{{ m.def("f(Tensor x) -> Tensor"); }}\n}}')
    assert [each.namespace for each in facts.definitions] == [namespace]


@pytest.mark.parametrize(
    ("source", "key"),
    [
        ('m = Library("n", "IMPL", "Meta")\n@impl(m, "f")\ndef f(x): ...', "Meta"),
        ('m = Library("n", "IMPL")\nm.impl("f", lambda x: x, "Meta")', "Meta"),
        ('with torch.library._scoped_library("n", "IMPL") as m:\n    m.impl("f", g, "CPU")', "CPU"),
        ('class A:\n    m = Library("n", "IMPL")\n    m.impl("n::f", g, "CPU")', "CPU"),
        ('@torch.library.register_fake("n::f")\ndef f(x): ...', "Meta"),
        ('torch.library.register_fake("n::f", f)', "Meta"),
        ('@torch.library.impl_abstract("n::f")\ndef f(x): ...', "Meta"),
        ('@torch.library.impl("n::f", "npu")\ndef f(x): ...', "PrivateUse1"),
        ('m = Library("n", "IMPL")\ntorch.library.impl(m, "f", "CPU")(f)\ndef f(x): ...', "CPU"),
        ('@torch.library.register_kernel("n::f", ("cpu",))\ndef f(x): ...', "CPU"),
        (
            (
                'm = Library("n", "IMPL")\ndef put(o, fn, key="Meta"):\n    m.impl(o, fn, key)\n'
                'put("f", g)'
            ),
            "Meta",
        ),
    ],
)
def test_forms_of_torch_library(source: str, key: str) -> None:
    facts = read(f"import torch\nfrom torch.library import Library, impl\n{source}\n", ".py")
    assert [(each.namespace, each.name, each.key) for each in facts.implementations] == [
        ("n", "f", key)
    ]
    assert facts.implementations[0].language is Language.PYTHON
    assert not facts.opens


def test_a_name_that_only_the_run_knows_is_open() -> None:
    source = 'm = Library("n", "IMPL")\nfor each in names:\n    m.impl(each, f, "Meta")\n'
    facts = read(f"from torch.library import Library\n{source}", ".py")
    assert [each.namespace for each in facts.opens] == ["n"]
    assert not facts.implementations


def test_a_library_is_imported_from_another_module(tmp_path: Path) -> None:
    from opwright.lint.linting import lint  # noqa: PLC0415 - likewise
    from opwright.lint.output.as_json import as_json  # noqa: PLC0415 - used here only

    (tmp_path / "core.py").write_text(
        'import torch\nlib = torch.library.Library("n", "DEF")\nlib.define("step(Tensor x) -> ()")'
    )
    (tmp_path / "ops.py").write_text(
        'from .core import lib\nimport torch.library\nlib.impl("steps", lambda x: None, "Meta")\n'
    )
    data = json.loads(as_json(lint([tmp_path])))
    assert {each["rule"] for each in data["findings"]} == {"stale-meta", "no-kernel", "void-pure"}


def test_lines_may_end_as_on_old_macs() -> None:
    source = 'TORCH_LIBRARY(n, m) {\r  m.def("f(Tensor x) -> Tensor");\r}\r'
    assert len(read(source).definitions) == 1
    assert read(source).problems == ()
    assert read(f"void g() {{\r{source}").problems  # and nothing stops it


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"])
@pytest.mark.parametrize("suffix", [".cpp", ".py", ".yaml"])
def test_a_text_in_utf_16_is_said_to_be_unread(encoding: str, suffix: str) -> None:
    text = 'TORCH_LIBRARY(n, m) {\n  m.def("f(Tensor x) -> Tensor");\n}\n'
    facts = read_file(f"file{suffix}", suffix, text.encode(encoding))
    assert facts is not None
    assert "UTF-16" in facts.problems[0].text


def test_what_stands_in_a_raw_string_is_no_code() -> None:
    block = 'TORCH_LIBRARY(n, m) {\n  m.def("f(Tensor x -> Tensor");\n}\n'
    facts = read(f'const char* text = R"doc(\n{block})doc";\n{block.replace("x", "x)")}')
    assert [each.place.line for each in facts.definitions] == [7]
    assert facts.problems == ()
