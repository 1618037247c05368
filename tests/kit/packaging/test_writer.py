"""The writer of emitted files: nothing half-written, nothing of a person lost."""

from __future__ import annotations

import hashlib
import itertools
import json
import multiprocessing
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from opwright.kit.emit.header import with_header
from opwright.kit.packaging.errors import EditedFilesError, LeavesFolderError, WriteError
from opwright.kit.packaging.writer import MANIFEST, compare_tree, write_tree
from tests.alone import alone_command
from tests.twin.on_twin import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def emitted(body: str) -> str:
    return with_header(body, source="operators.py", comment="#")


def test_files_are_written_once(tmp_path: Path) -> None:
    files = {"a.py": emitted("x = 1\n"), "p/b.json": "{}"}
    first = write_tree(tmp_path, files)
    assert first.written == ("a.py", "p/b.json")
    assert (tmp_path / "p/b.json").read_bytes() == b"{}\n"
    times = {path: (tmp_path / path).stat().st_mtime_ns for path in [*files, MANIFEST]}
    second = write_tree(tmp_path, files)
    assert not second
    assert second.unchanged == ("a.py", "p/b.json")
    assert times == {path: (tmp_path / path).stat().st_mtime_ns for path in [*files, MANIFEST]}


def test_line_ends_are_newlines_and_the_last_one_is_there(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a": "x\r\ny", "empty": ""})
    assert (tmp_path / "a").read_bytes() == b"x\ny\n"
    assert (tmp_path / "empty").read_bytes() == b""


def test_stale_files_are_removed_and_nothing_else(tmp_path: Path) -> None:
    write_tree(tmp_path, {"old/a.py": emitted("1\n"), "b.json": "{}", "c.json": "1"})
    (tmp_path / "mine.txt").write_text("mine")
    changes = write_tree(tmp_path, {"c.json": "1"})
    assert changes.removed == ("b.json", "old/a.py")
    assert sorted(p.name for p in tmp_path.iterdir()) == [".lock", "c.json", MANIFEST, "mine.txt"]


def test_edited_and_foreign_files_are_refused_and_named(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a.py": emitted("1\n"), "b.json": "{}", "c.py": emitted("2\n")})
    (tmp_path / "a.py").write_text(emitted("1\n") + "edited\n")
    (tmp_path / "b.json").write_text("[]")
    (tmp_path / "d.py").write_text("a person's\n")
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    with pytest.raises(EditedFilesError) as caught:
        write_tree(tmp_path, {"a.py": emitted("3\n"), "c.py": emitted("4\n"), "d.py": emitted("5")})
    assert caught.value.got == "a.py, b.json, d.py"
    assert before == {p.name: p.read_bytes() for p in tmp_path.iterdir()}


def test_the_text_of_the_refusal(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a person's\n")
    with pytest.raises(EditedFilesError) as caught:
        write_tree(tmp_path, {"a.py": emitted("1\n")})
    assert str(caught.value) == (
        "OPW-B001 generated files were edited by hand\n"
        f"  where:   {tmp_path}\n"
        "  got:     a.py\n"
        "  fix:     move what you wrote into the declaration, or C++ into csrc/ of the project, "
        "which replaces emitted files of the same name; then delete the files named above and run "
        "it again"
    )


def test_an_edit_that_equals_the_new_text_is_no_loss(tmp_path: Path) -> None:
    write_tree(tmp_path, {"b.json": "{}"})
    (tmp_path / "b.json").write_text("[]\n")
    assert not write_tree(tmp_path, {"b.json": "[]"})


def test_files_of_ours_are_known_without_a_manifest(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a.py": emitted("1\n")})
    (tmp_path / MANIFEST).unlink()
    assert write_tree(tmp_path, {"a.py": emitted("2\n")}).written == ("a.py",)


def test_comparing_writes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "generated"
    changes = compare_tree(folder, {"a.py": emitted("1\n")})
    assert changes.written == ("a.py",)
    assert not folder.exists()


def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError) as caught:
        write_tree(tmp_path / "file", {"a": "1"})
    assert caught.value.got == "File exists"


def forge(folder: Path, *paths: str) -> None:
    """Write a manifest that lists a victim's content under these paths."""
    listed = dict.fromkeys(paths, hashlib.sha256(b"precious").hexdigest())
    folder.mkdir(exist_ok=True)
    (folder / MANIFEST).write_text(json.dumps({"files": listed}))


@pytest.mark.parametrize("act", [write_tree, compare_tree])
@pytest.mark.parametrize("path", ["../victim", "a/../../victim", "{root}/victim", "./a", "", "\0"])
def test_a_manifest_cannot_name_files_outside(
    tmp_path: Path, path: str, act: Callable[[Path, Mapping[str, str]], object]
) -> None:
    victim, folder = tmp_path / "victim", tmp_path / "generated"
    victim.write_bytes(b"precious")
    path = path.format(root=tmp_path)
    forge(folder, path)
    with pytest.raises(LeavesFolderError) as caught:
        act(folder, {"a.py": emitted("1\n")})
    assert caught.value.where == str(folder / MANIFEST)
    assert caught.value.got == repr(path)
    assert victim.read_bytes() == b"precious"
    assert not (folder / "a.py").exists()


def test_the_text_of_a_path_that_leaves(tmp_path: Path) -> None:
    forge(tmp_path, "../victim")
    with pytest.raises(LeavesFolderError) as caught:
        write_tree(tmp_path, {})
    assert str(caught.value) == (
        "OPW-B023 a path leaves the folder that is written\n"
        f"  where:   {tmp_path / MANIFEST}\n"
        "  got:     '../victim'\n"
        "  fix:     delete the folder: opwright never wrote such a path; nothing was removed"
    )


@pytest.mark.parametrize("act", [write_tree, compare_tree])
@pytest.mark.parametrize("link", ["generated", "generated/csrc", "generated/csrc/deep"])
def test_a_linked_folder_is_not_followed(
    tmp_path: Path, link: str, act: Callable[[Path, Mapping[str, str]], object]
) -> None:
    out, folder = tmp_path / "out", tmp_path / "generated"
    out.mkdir()
    (tmp_path / link).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / link).symlink_to(out)
    with pytest.raises(LeavesFolderError) as caught:
        act(folder, {"csrc/deep/a.cpp": "int a;", "b.py": emitted("1\n")})
    assert caught.value.where == str(tmp_path / link)
    assert caught.value.got == f"a symbolic link to {out}"
    assert not list(out.iterdir())
    assert not (folder / "b.py").exists()


def test_nothing_is_removed_behind_a_link(tmp_path: Path) -> None:
    """The new files are elsewhere; only the manifest names what is behind the link."""
    out, folder = tmp_path / "out", tmp_path / "generated"
    out.mkdir()
    (out / "victim").write_bytes(b"precious")
    forge(folder, "old/victim")
    (folder / "old").symlink_to(out)
    with pytest.raises(LeavesFolderError, match="OPW-B023"):
        write_tree(folder, {"b.py": emitted("1\n")})
    assert (out / "victim").read_bytes() == b"precious"


def test_a_linked_file_is_replaced_and_its_target_stays(tmp_path: Path) -> None:
    target, folder = tmp_path / "target", tmp_path / "generated"
    target.write_text(emitted("1\n"))
    folder.mkdir()
    for name in ("a.py", ".a.py.opwright-new"):
        (folder / name).symlink_to(target)
    write_tree(folder, {"a.py": emitted("2\n")})
    assert target.read_text() == emitted("1\n")
    assert not (folder / "a.py").is_symlink()
    assert (folder / "a.py").read_text() == emitted("2\n")


def test_a_linked_lock_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "generated").mkdir()
    (tmp_path / "generated/.lock").symlink_to(tmp_path / "made")
    with pytest.raises(LeavesFolderError, match="OPW-B023"):
        write_tree(tmp_path / "generated", {})
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("text", ["[]", "5", '{"files": ["a"]}', "\xff"])
def test_a_manifest_of_another_form_lists_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text, encoding="latin-1")
    (tmp_path / "a").write_text("a person's")
    assert write_tree(tmp_path, {"b.json": "{}"}).written == ("b.json",)
    assert (tmp_path / "a").exists()


def write_for_ever(folder: str) -> None:
    """Write other content into the same files, until the process is killed."""
    print("ready", flush=True)  # noqa: T201 - read by the test
    for number in itertools.count():
        files = {f"f{i}.json": f"{number % 7}" * 100_000 for i in range(20)}
        write_tree(Path(folder), files)


def test_a_killed_writer_leaves_old_or_new_files(tmp_path: Path) -> None:
    for delay in (0.003, 0.011, 0.019, 0.037):
        with subprocess.Popen(
            alone_command(write_for_ever, str(tmp_path)), cwd=ROOT, stdout=subprocess.PIPE
        ) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            while not (tmp_path / "f19.json").exists():
                time.sleep(0.001)
            time.sleep(delay)
            os.kill(writer.pid, signal.SIGKILL)
        for path in tmp_path.glob("f*.json"):
            content = path.read_text().strip()
            assert len(content) == 100_000
            assert len(set(content)) == 1
        # Its files are known as ours: the next one can go on.
        write_tree(tmp_path, {f"f{i}.json": "9" * 100_000 for i in range(20)})
        left = sorted(p.name for p in tmp_path.iterdir() if not p.name.startswith("f"))
        assert left == [".lock", MANIFEST]


def write_many(folder: Path, number: int) -> None:
    for _ in range(20):
        write_tree(folder, {f"f{i}.json": str(number) for i in range(5)} | {f"own{number}": ""})


def test_two_processes_do_not_interleave(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_many, args=(tmp_path, n)) for n in (1, 2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    texts = {path.read_text() for path in tmp_path.glob("f*.json")}
    assert len(texts) == 1
    listed = json.loads((tmp_path / MANIFEST).read_text())["files"]
    there = {p.name for p in tmp_path.iterdir()} - {".lock", MANIFEST}
    assert set(listed) == there
