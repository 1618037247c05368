#!/usr/bin/env bash
# Converters for torch_aie: built for Python and for C++, run, and compared with TorchScript.
#
#   bash run.sh             builds, compiles a module with the converters in each way, compares the numbers
#   bash run.sh test        builds the library for Python, runs the converters' tests
#   bash run.sh clean       removes what these made
#
# It uses the `python` on the PATH, which has torch and torch_aie.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. ../verbs.sh
needs=(python cmake g++)
# Without CANN, torch cannot load a torch_npu that may be installed; nothing here needs it.
export TORCH_DEVICE_BACKEND_AUTOLOAD=0
# PyTorch calls TorchScript deprecated, setuptools calls setup.py so.
export PYTHONWARNINGS="ignore::DeprecationWarning"

library() { ls build/lib.*/"$1".*.so; }

build() {
    no_options "$@"
    prefix=$("$python" -m torch_aie.prefix) || fail "python cannot import torch_aie; activate the environment that has it"
    step "Converters for Python, with setup.py"
    logged build/setup.log "$python" setup.py --quiet build
    library custom_converter
    library gelu_converter
}

show() {
    build "$@"
    step "Python: the library is loaded with torch.ops.load_library"
    "$python" infer.py "$(library custom_converter)" build/cumsum_model.pth

    step "Python: a converter that replaces a built-in one"
    "$python" override.py "$(library gelu_converter)"

    step "Converters and program for C++, with CMake"
    logged build/configure.log cmake -S cpp -B build/cpp -Dtorch_aie_ROOT="$prefix"
    logged build/compile.log cmake --build build/cpp
    ls build/cpp/libcustom_converters.so build/cpp/cumsum_infer

    step "C++: the library is loaded with dlopen"
    build/cpp/cumsum_infer build/cpp/libcustom_converters.so build/cumsum_model.pth

    printf '\nAll numbers agree.\n'
}

check() {
    build "$@"
    step "The converters against TorchScript"
    PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 "$python" -m pytest -q -p no:cacheprovider test
}

verbs "$@"
