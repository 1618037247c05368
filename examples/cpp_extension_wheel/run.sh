#!/usr/bin/env bash
# Builds the wheel, installs it into a clean virtual environment and runs its tests on the NPU's twin.
#
#   bash run.sh            build, install, test
#   bash run.sh --demo     and show what ran: the agreement with the CPU and the calls that were made
#   bash run.sh --ascend-c     with the operator's kernel in Ascend C (../ascend_c) instead of the reference function
#
# It uses the `python` and `opwright` on the PATH; torch and torch_npu come from that environment.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

usage() { sed -n '2,8s/^# \{0,1\}//p' run.sh; }
step() { printf '\n== %s\n' "$*"; }
fail() { printf 'run.sh: %s\n' "$*" >&2; exit 1; }

demo=no
ascend_c=no
for argument in "$@"; do
    case "$argument" in
        --demo) demo=yes ;;
        --ascend-c) ascend_c=yes ;;
        -h | --help) usage; exit 0 ;;
        *) usage >&2; fail "unknown argument '$argument'" ;;
    esac
done

command -v opwright >/dev/null || fail "opwright is not on the PATH; activate its environment first"
command -v g++ >/dev/null || fail "g++ is not on the PATH; install a C++20 compiler first"
python=$(dirname "$(command -v opwright)")/python

mkdir -p build
rm -rf build/dist build/venv

step "Building the wheel (half a minute the first time)"
# Without isolation: it is built against the torch and torch_npu that it will run with.
opwright run -- "$python" -m pip wheel --quiet --disable-pip-version-check \
    --no-build-isolation --no-deps --wheel-dir build/dist .
wheel=$(ls build/dist/*.whl)
printf '%s\n' "$wheel"

step "Installing it into a clean virtual environment"
"$python" -m venv --without-pip build/venv
"$python" -m pip --python build/venv/bin/python install --quiet --disable-pip-version-check \
    --no-deps --no-index "$wheel"
# torch, torch_npu, pytest and opwright are shown to it rather than installed a second time. The
# line is executed by Python's site module, which also reads the .pth files of that folder.
outer=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
inner=$(build/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
printf 'import site; site.addsitedir(%s)\n' "'$outer'" >"$inner/outer.pth"
printf '%s\n' "build/venv"

# What computes aclnnAddCustom: the reference function, or the operator package that is deployed on hardware.
if [ "$ascend_c" = yes ]; then
    step "Building the operator package of ../ascend_c"
    opwright ascendc build ../ascend_c --out build/package
    export ASCEND_CUSTOM_OPP_PATH=$PWD/build/package/vendors/opwright_examples
    kernels=()
else
    kernels=(--kernels reference/add_custom.py)
fi

# PYTHONSAFEPATH keeps this folder off Python's path, where the sources would hide the installed wheel.
on_the_twin() { PYTHONSAFEPATH=1 opwright run "${kernels[@]}" "$@"; }

step "Testing the installed wheel"
# The outer environment's pytest plugins are visible too, but these tests use none.
PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 on_the_twin -- build/venv/bin/python -m pytest test

[ "$demo" = yes ] || exit 0

step "What was built"
"$python" -m zipfile -l "$wheel"

step "Forward, backward and Meta against the CPU"
on_the_twin --trace build/trace.json -- build/venv/bin/python demo/agree.py

step "Compiled with TorchAir, in both modes"
on_the_twin -- build/venv/bin/python demo/compiled.py 2>build/compiled.log ||
    { cat build/compiled.log >&2; exit 1; }

step "Calls that went through the twin (build/trace.json)"
"$python" demo/calls.py build/trace.json
