#!/usr/bin/env bash
# Builds the wheel custom_pypto into dist/ and installs it.
#
#   bash build_and_install.sh            into the environment of the `python` on the PATH
#   bash build_and_install.sh VENV       into that virtual environment, which is made if it is missing
#
# torch and torch_npu are those of the `python` on the PATH. Where there is no CANN, the twin of `opwright` stands in for
# it; with CANN, opwright is not needed.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
fail() { printf 'build_and_install.sh: %s\n' "$*" >&2; exit 1; }

[ $# -le 1 ] || fail "one virtual environment at most, got $# arguments"
case "${1:-}" in
    -h | --help) sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) fail "unknown option '$1'" ;;
esac
command -v python >/dev/null || fail "python is not on the PATH; activate its environment first"
command -v g++ >/dev/null || fail "g++ is not on the PATH; install a C++20 compiler first"
on_the_npu=()
if command -v opwright >/dev/null; then
    on_the_npu=(opwright run --)
fi
pip=(python -m pip --disable-pip-version-check)
venv=
if [ $# -eq 1 ]; then
    mkdir -p "$(dirname "$1")"
    venv=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
fi

cd "$here"
rm -rf dist
# setuptools would put *.egg-info beside setup.py.
mkdir -p build
printf '[egg_info]\negg_base = build\n' >build/setup.cfg
export DIST_EXTRA_CONFIG=$here/build/setup.cfg
# Without isolation: it is built against the torch and torch_npu that it will run with.
"${on_the_npu[@]}" "${pip[@]}" wheel --quiet --no-build-isolation --no-deps --wheel-dir dist .
wheel=$(ls dist/*.whl)
printf 'built %s\n' "$wheel"

if [ -n "$venv" ]; then
    [ -x "$venv/bin/python" ] || python -m venv --without-pip "$venv"
    # torch, torch_npu and pytest are shown to it rather than installed a second time. The line is executed by
    # Python's site module, which also reads the .pth files of that folder.
    outer=$(python -c 'import sysconfig; print(repr(sysconfig.get_path("purelib")))')
    inner=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    printf 'import site; site.addsitedir(%s)\n' "$outer" >"$inner/outer.pth"
    pip+=(--python "$venv/bin/python")
fi
# The same version may be there from an earlier build.
"${pip[@]}" install --quiet --no-deps --no-index --force-reinstall "$wheel"
printf 'installed into %s\n' "${venv:-$(python -c 'import sys; print(sys.prefix)')}"
