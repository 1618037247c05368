#!/usr/bin/env bash
# Operators whose kernels are in Ascend C, as a project and as one file: built for this CPU, run beneath torch_npu.
#
#   bash run.sh             builds them, runs each once and shows how far it is from its reference
#   bash run.sh test        builds them and runs their tests
#   bash run.sh clean       removes what these made
#
#   --checks                with each instruction of the kernels checked
#   --built                 takes what the run before built
#
# It uses the `opwright` on the PATH and the Python beside it, which has torch and torch_npu.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. ../verbs.sh
needs+=(g++)

build() {
    local option built=no package=$PWD/build/package/vendors/opwright_examples
    for option in "$@"; do
        case "$option" in
            --checks) twin=(--kernel-checks) ;;
            --built) built=yes ;;
            *) unknown "$option" ;;
        esac
    done
    if [ "$built" = yes ]; then
        [ -x build/venv/bin/python ] || fail "nothing is built yet; leave out --built"
        export ASCEND_CUSTOM_OPP_PATH=$package
        return
    fi
    # Files that an earlier run left would be taken for this run's.
    rm -rf build/dist build/project

    step "Building the operator project: op_host and op_kernel"
    opwright ascendc build . --out build/package
    export ASCEND_CUSTOM_OPP_PATH=$package

    step "Building the wheel of the declared operators"
    # In a copy, where the folder generated/ is in nobody's way.
    mkdir build/project
    cp operators.py pyproject.toml build/project
    opwright build build/project --out build/dist

    step "Building the wheel of the single source, with the Ascend C compiler"
    wheel_of ./single_source
    install_clean build/dist/*.whl
}

show() {
    build "$@"
    step "Each operator on an NPU or its twin, against its reference"
    run_installed demo.py
}

check() {
    build "$@"
    step "The kernels against the references"
    test_installed test single_source
}

verbs "$@"
