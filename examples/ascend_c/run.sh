#!/usr/bin/env bash
# Builds the kernels in Ascend C for this CPU, the wheel of their operators, and runs both beneath torch_npu.
#
#   bash run.sh            everything
#   bash run.sh --checks   and with each instruction of the kernels checked
#
# It uses the `python` and `opwright` on the PATH; torch and torch_npu come from that environment.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

step() { printf '\n== %s\n' "$*"; }
fail() { printf 'run.sh: %s\n' "$*" >&2; exit 1; }

checks=()
for argument in "$@"; do
    case "$argument" in
        --checks) checks=(--kernel-checks) ;;
        *) sed -n '2,5s/^# \{0,1\}//p' run.sh >&2; fail "unknown argument '$argument'" ;;
    esac
done
command -v opwright >/dev/null || fail "opwright is not on the PATH; activate its environment first"
python=$(dirname "$(command -v opwright)")/python

# What an earlier run left would be taken for this run's.
rm -rf dist build/dist build/venv single_source/build

step "Building the operator project: op_host and op_kernel"
opwright ascendc build . --out build/package

step "Building the wheel of the declared operators"
opwright build

step "Building the wheel of the single source, with the Ascend C compiler"
opwright run -- "$python" -m pip wheel --quiet --disable-pip-version-check \
    --no-build-isolation --no-deps --wheel-dir build/dist ./single_source

step "Installing both into a clean virtual environment"
"$python" -m venv --without-pip build/venv
"$python" -m pip --python build/venv/bin/python install --quiet --disable-pip-version-check \
    --no-deps --no-index dist/*.whl build/dist/*.whl
# torch, torch_npu and pytest are shown to it rather than installed a second time.
outer=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
inner=$(build/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
printf 'import site; site.addsitedir(%s)\n' "'$outer'" >"$inner/outer.pth"

step "The kernels against the references"
export ASCEND_CUSTOM_OPP_PATH=$PWD/build/package/vendors/opwright_examples
PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 opwright run "${checks[@]}" -- \
    build/venv/bin/python -m pytest -q test single_source
