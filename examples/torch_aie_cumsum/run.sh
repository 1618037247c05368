#!/usr/bin/env bash
# Builds converters and programs, runs them, and compares their numbers with TorchScript's.
#
#   bash run.sh
#
# It uses the `python` on the PATH, which has torch and torch_aie, and needs cmake and g++. Everything is written to build/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

usage() { sed -n '2,6s/^# \{0,1\}//p' run.sh; }
step() { printf '\n== %s\n' "$*"; }
fail() { printf 'run.sh: %s\n' "$*" >&2; exit 1; }

case "${1:-}" in
    '') ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; fail "unknown argument '$1'" ;;
esac
for tool in python cmake g++; do
    command -v "$tool" >/dev/null || fail "$tool is not on the PATH; install it, or activate the environment that has it"
done
# Without CANN, torch cannot load a torch_npu that may be installed; nothing here needs it.
export TORCH_DEVICE_BACKEND_AUTOLOAD=0
# PyTorch calls TorchScript deprecated, setuptools calls setup.py so.
export PYTHONWARNINGS="ignore::DeprecationWarning"
prefix=$(python -m torch_aie.prefix) || fail "python cannot import torch_aie; activate the environment that has it"

mkdir -p build
step "Converters for Python, with setup.py"
python setup.py --quiet build >build/setup.log 2>&1 || { cat build/setup.log >&2; fail "setup.py failed"; }
library() { ls build/lib.*/"$1".*.so; }
library custom_converter
library gelu_converter

step "Python: the library is loaded with torch.ops.load_library"
python infer.py "$(library custom_converter)" build/cumsum_model.pth

step "Python: a converter that replaces a built-in one"
python override.py "$(library gelu_converter)"

step "Converters and program for C++, with CMake"
{ cmake -S cpp -B build/cpp -Dtorch_aie_ROOT="$prefix" && cmake --build build/cpp; } >build/cmake.log 2>&1 ||
    { cat build/cmake.log >&2; fail "cmake failed"; }
ls build/cpp/libcustom_converters.so build/cpp/cumsum_infer

step "C++: the library is loaded with dlopen"
build/cpp/cumsum_infer build/cpp/libcustom_converters.so build/cumsum_model.pth

printf '\nAll numbers agree.\n'
