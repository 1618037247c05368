#!/usr/bin/env bash
# The router of a mixture of experts, declared: run without a compiler, then built into a wheel.
#
#   bash run.sh             runs the declaration, builds the wheel and shows what is in it
#   bash run.sh test        builds the wheel, runs the tests that were emitted with it
#   bash run.sh clean       removes what these made
#
# It uses the `opwright` on the PATH and the Python beside it, which has torch and torch_npu.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. ../verbs.sh
needs+=(g++)

build() {
    step "Building the wheel"
    # In a copy, where the folder generated/ is in nobody's way.
    rm -rf build/dist build/project
    mkdir build/project
    cp operators.py pyproject.toml build/project
    opwright build build/project --out build/dist
}

show() {
    no_options "$@"
    step "Live: no compiler; the reference function stands in for the device kernel"
    opwright run -- "$python" demo.py
    build
    step "What is in it"
    "$python" -m zipfile -l build/dist/*.whl
}

check() {
    no_options "$@"
    build
    install_clean build/dist/*.whl
    step "The tests that were emitted with it"
    twin=(--kernels operators.py)
    test_installed build/project/generated/tests
}

verbs "$@"
