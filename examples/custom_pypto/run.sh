#!/usr/bin/env bash
# custom_pypto, operators of sparse attention as a wheel: built, installed into build/venv, run on an NPU or its twin.
#
#   bash run.sh             builds (build_and_install.sh) and shows each operator in each mode
#   bash run.sh test        builds and runs the wheel's tests (examples/run.sh); options are those of pytest
#   bash run.sh clean       removes what these made
#
# It uses the `opwright` on the PATH and the Python beside it, which has torch and torch_npu.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. ../verbs.sh
needs+=(python g++)
made+=(dist)

build() {
    step "Building the wheel and installing it into build/venv (a minute the first time)"
    bash build_and_install.sh build/venv
}

show() {
    local kernel
    no_options "$@"
    build
    for kernel in kernels/*.cpp; do twin+=(--kernels "$kernel"); done
    step "Each operator in each mode, against plain PyTorch"
    run_installed examples/demo.py 2>build/demo.log || { tail -n 40 build/demo.log >&2; fail "demo.py failed"; }
}

check() {
    build
    step "The tests of the wheel"
    bash examples/run.sh build/venv "$@"
}

verbs "$@"
