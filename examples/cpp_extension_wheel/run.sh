#!/usr/bin/env bash
# A custom operator as a wheel: built, installed into a clean virtual environment, run on the NPU's twin.
#
#   bash run.sh             builds and shows what runs: the agreement with the CPU and the calls that were made
#   bash run.sh test        builds and runs the wheel's tests
#   bash run.sh clean       removes what these made
#
#   --ascend-c              with the operator's kernel in Ascend C (../ascend_c) instead of the reference function
#   --demo                  both: the tests, then what runs
#
# It uses the `opwright` on the PATH and the Python beside it, which has torch and torch_npu.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. ../verbs.sh
needs+=(g++)

build() {
    rm -rf build/dist
    step "Building the wheel (half a minute the first time)"
    wheel_of .
    wheel=$(ls build/dist/*.whl)
    printf '%s\n' "$wheel"
    install_clean "$wheel"
    # aclnnAddCustom is computed by the reference function, or by the operator package that is deployed on hardware.
    if [ "$ascend_c" = yes ]; then
        step "Building the operator package of ../ascend_c"
        opwright ascendc build ../ascend_c --out build/package
        export ASCEND_CUSTOM_OPP_PATH=$PWD/build/package/vendors/opwright_examples
    else
        twin=(--kernels reference/add_custom.py)
    fi
}

run_tests() {
    step "Testing the installed wheel"
    test_installed test
}

run_demo() {
    step "What was built"
    "$python" -m zipfile -l "$wheel"
    step "Forward, backward and Meta against the CPU"
    opwright run "${twin[@]}" --trace build/trace.json -- build/venv/bin/python demo/agree.py
    step "Compiled with TorchAir, in both modes"
    run_installed demo/compiled.py 2>build/compiled.log || { cat build/compiled.log >&2; exit 1; }
    step "Calls that went through the twin (build/trace.json)"
    "$python" demo/calls.py build/trace.json
}

# built_then PART [OPTION...]: builds what the options say, and goes on with the part.
built_then() {
    local parts=("$1") ascend_c=no option part
    shift
    for option in "$@"; do
        case "$option" in
            --ascend-c) ascend_c=yes ;;
            --demo) parts=(run_tests run_demo) ;;
            *) unknown "$option" ;;
        esac
    done
    build
    for part in "${parts[@]}"; do "$part"; done
}

show() { built_then run_demo "$@"; }
check() { built_then run_tests "$@"; }
verbs "$@"
