"""A CUDA build of torch beneath torch_npu: as much of one as the twin's library looks at."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from opwright.twin.toolkit import installed_toolkit

if TYPE_CHECKING:
    from pathlib import Path

# torch's function, and one that says whether a key is still free, as torch_npu will find it.
C10 = """
#include <string>
#include <unordered_set>
namespace c10::CachingAllocator {
struct AcceleratorAllocatorConfig { static std::unordered_set<std::string>& getMutableKeys(); };
std::unordered_set<std::string>& AcceleratorAllocatorConfig::getMutableKeys() {
  static std::unordered_set<std::string> keys{
      "backend", "pinned_reserve_segment_size_mb", "expandable_segments", "max_split_size_mb"};
  return keys;
}
}
extern "C" bool is_free(const char* key) {
  return c10::CachingAllocator::AcceleratorAllocatorConfig::getMutableKeys().insert(key).second;
}
"""
# Text: it runs without the real torch.
PROGRAM = """
import ctypes, sys
c10 = ctypes.CDLL(sys.argv[1])
c10.is_free.restype = ctypes.c_bool
ctypes.CDLL(sys.argv[2])
print([key for key in sys.argv[3:] if c10.is_free(key.encode())])
"""
KEYS = ("backend", "pinned_reserve_segment_size_mb", "expandable_segments", "max_split_size_mb")


@pytest.fixture
def c10(tmp_path: Path) -> Path:
    library = tmp_path / "libc10.so"
    command = ["g++", "-shared", "-fPIC", "-x", "c++", "-", "-o", str(library)]
    subprocess.run([*command, "-Wl,-soname,libc10.so"], input=C10, text=True, check=True)
    return library


def test_keys_of_cuda_are_free_for_torch_npu_and_those_of_all_devices_stay(c10: Path) -> None:
    runtime = installed_toolkit().libraries / "libascendcl.so"
    command = [sys.executable, "-c", PROGRAM, str(c10), str(runtime), *KEYS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "['backend', 'pinned_reserve_segment_size_mb']\n"
