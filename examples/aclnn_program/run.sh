#!/usr/bin/env bash
# A C++ program that calls aclnn functions: built with CMake, run, and compared with plain C++.
#
#   bash run.sh             builds with CMake, runs
#   bash run.sh test        builds with CMake, g++ and, where it is, clang++; runs each; checks that mistakes are reported
#   bash run.sh clean       removes what these made
#
# It uses the `opwright` on the PATH, or the CANN that set_env.sh has set.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. ../verbs.sh
needs=(opwright cmake g++)

with_cmake() {
    step "With CMake"
    logged build/configure.log opwright run -- cmake -S . -B build/cmake -DCMAKE_BUILD_TYPE=Release
    logged build/compile.log cmake --build build/cmake
}

# by_hand COMPILER: the command line of README.md.
by_hand() {
    step "With $1"
    logged "build/$1.log" opwright run -- bash -c '"$0" -std=c++17 src/layer.cpp -o "build/layer_$0" \
        -I"$ASCEND_HOME_PATH/include" -L"$ASCEND_HOME_PATH/lib64" -lopapi_nn -lopapi_math -lnnopbase -lascendcl' "$1"
    opwright run -- "build/layer_$1"
}

show() {
    no_options "$@"
    with_cmake
    opwright run -- build/cmake/layer
}

check() {
    show "$@"
    by_hand g++
    if command -v clang++ >/dev/null; then by_hand clang++; fi
    step "A shape that does not fit is refused in phase 1"
    if opwright run -- build/cmake/layer --wrong 2>build/wrong.log; then fail "the wrong shape was not refused"; fi
    cat build/wrong.log
    grep -q "^layer: aclnnAddmmGetWorkspaceSize failed with 161002: ." build/wrong.log || fail "build/wrong.log is no refusal"
    printf '\nAll numbers agree.\n'
}

verbs "$@"
