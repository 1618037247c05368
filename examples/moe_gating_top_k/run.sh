#!/usr/bin/env bash
# Runs the declared operator live, then builds its wheel and tests that in a clean virtual environment.
# It uses the `python` and `opwright` on the PATH; torch and torch_npu come from that environment.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

step() { printf '\n== %s\n' "$*"; }

command -v opwright >/dev/null || { echo "run.sh: opwright is not on the PATH; activate its environment first" >&2; exit 1; }
python=$(dirname "$(command -v opwright)")/python

step "Live: no compiler; the reference function stands in for the device kernel"
opwright run -- "$python" demo.py

step "Building the wheel"
opwright build

step "Installing it into a clean virtual environment"
rm -rf build/venv
"$python" -m venv --without-pip build/venv
"$python" -m pip --python build/venv/bin/python install --quiet --disable-pip-version-check \
    --no-deps --no-index dist/*.whl
# torch, torch_npu and pytest are shown to it rather than installed a second time.
outer=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
inner=$(build/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
printf 'import site; site.addsitedir(%s)\n' "'$outer'" >"$inner/outer.pth"

step "The tests that were emitted with it"
PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 opwright run --kernels operators.py -- \
    build/venv/bin/python -m pytest -q generated/tests
