"""native/portable: which version of a symbol is linked, and the replacements of newer ones."""

from __future__ import annotations

import subprocess
import textwrap
from pathlib import Path

import pytest

from native.portable.stubs import Symbol, group_by_library, newest_allowed

PORTABLE = Path(__file__).resolve().parents[2] / "native" / "portable"


def versions(name: str, *texts: str) -> list[Symbol]:
    """Return the versions of a function, the default one last, oldest first."""
    return [
        Symbol(name=name, version=text, is_default=text == texts[-1], kind="FUNC", size=1)
        for text in texts
    ]


@pytest.mark.parametrize(
    ("texts", "chosen"),
    [
        (("GLIBC_2.2.5", "GLIBC_2.14"), "GLIBC_2.14"),
        (("GLIBC_2.2.5", "GLIBC_2.34"), "GLIBC_2.2.5"),
        (("GLIBC_2.3.3", "GLIBC_2.3.4", "GLIBC_2.32"), "GLIBC_2.3.4"),
        (("GLIBC_2.28", "GLIBC_2.29"), "GLIBC_2.28"),
        (("GLIBC_2.33",), "GLIBC_2.33"),
        (("GLIBCXX_3.4.11", "GLIBCXX_3.4.30"), "GLIBCXX_3.4.11"),
        (("GLIBCXX_3.4.24",), "GLIBCXX_3.4.24"),
        (("CXXABI_TM_1",), "CXXABI_TM_1"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_the_newest_version_of_the_oldest_system_is_linked(
    texts: tuple[str, ...], chosen: str
) -> None:
    assert newest_allowed(versions("f", *texts)).version == chosen
    assert newest_allowed(versions("f", *texts)[::-1]).version == chosen


def test_a_function_is_taken_from_the_library_that_had_it() -> None:
    found = group_by_library(
        [
            *versions("dlopen", "GLIBC_2.2.5", "GLIBC_2.34"),
            *versions("pthread_once", "GLIBC_2.2.5", "GLIBC_2.34"),
            *versions("pthread_mutex_lock", "GLIBC_2.2.5"),
            *versions("__libc_start_main", "GLIBC_2.2.5", "GLIBC_2.34"),
            *versions("stat", "GLIBC_2.33"),
        ]
    )
    names = {library: [symbol.name for symbol in symbols] for library, symbols in found.items()}
    assert names == {
        "": ["__libc_start_main", "pthread_mutex_lock", "stat"],
        "libdl.so.2": ["dlopen"],
        "libpthread.so.0": ["pthread_once"],
    }


@pytest.mark.build
def test_a_wait_ends_in_time_where_the_c_library_cannot_wait_by_that_clock(tmp_path: Path) -> None:
    """The C library here can: so dlsym is taken away from what replaces it."""
    source = tmp_path / "wait.cpp"
    source.write_text(
        textwrap.dedent(f"""
            #include <dlfcn.h>
            #include <cerrno>
            #include <initializer_list>
            static void* nothing(void*, const char*) {{ return nullptr; }}
            #define dlsym nothing
            #include "{PORTABLE}/glibc_clockwait.cpp"
            int main() {{
              pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
              pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
              for (const clockid_t clock : {{CLOCK_MONOTONIC, CLOCK_REALTIME}}) {{
                for (const long wait : {{-2'000'000'000L, 0L, 30'000'000L}}) {{
                  timespec begin{{}}, end{{}};
                  clock_gettime(clock, &begin);
                  const std::int64_t then = nanoseconds(begin) + wait;
                  const timespec moment{{then / kNanoseconds, then % kNanoseconds}};
                  pthread_mutex_lock(&mutex);
                  const int code = pthread_cond_clockwait(&condition, &mutex, clock, &moment);
                  pthread_mutex_unlock(&mutex);
                  clock_gettime(clock, &end);
                  if (code != ETIMEDOUT || nanoseconds(end) < then) return 1;
                }}
              }}
            }}
        """),
        encoding="utf-8",
    )
    program = tmp_path / "wait"
    subprocess.run(["g++", "-std=c++20", "-pthread", source, "-o", program], check=True)
    assert subprocess.run([program], check=False, timeout=60).returncode == 0


@pytest.mark.build
def test_files_have_the_same_status(tmp_path: Path) -> None:
    source = tmp_path / "status.cpp"
    source.write_text(
        textwrap.dedent("""
            #include <fcntl.h>
            #include <sys/stat.h>
            #include <cstdio>
            #include <initializer_list>
            int main(int, char** names) {
              struct stat status{};
              for (int follow : {0, 1}) {
                if ((follow ? stat : lstat)(names[1], &status) != 0) return 1;
                std::printf("%lu %lu\\n", static_cast<unsigned long>(status.st_ino),
                            static_cast<unsigned long>(status.st_size));
              }
              if (fstatat(AT_FDCWD, names[1], &status, 0) != 0) return 1;
              const int file = open(names[1], O_RDONLY);
              struct stat opened{};
              if (fstat(file, &opened) != 0 || opened.st_ino != status.st_ino) return 1;
              return stat("nothing", &status) == -1 ? 0 : 1;
            }
        """),
        encoding="utf-8",
    )
    program, file, link = (tmp_path / name for name in ("status", "file", "link"))
    file.write_text("content", encoding="utf-8")
    link.symlink_to(file)
    subprocess.run(["g++", "-O1", source, PORTABLE / "glibc_stat.cpp", "-o", program], check=True)
    done = subprocess.run([program, link], check=True, capture_output=True, text=True, timeout=60)
    expected = [link.lstat(), link.stat()]
    assert done.stdout == "".join(f"{each.st_ino} {each.st_size}\n" for each in expected)
