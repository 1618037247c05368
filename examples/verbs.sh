# Sourced by the run.sh of each example: the verbs, and what several of them do.
#
# A run.sh goes to its folder, sources this, and defines `show` (build, run, show the result) and `check` (its tests), which
# get the options behind the verb. It names in `needs` the programs that it cannot do without, in `made` what it writes
# besides build/, and ends with `verbs "$@"`. The comment at its top is what --help prints.

needs=(opwright)
made=(build)
# Python would write files beside the sources.
export PYTHONDONTWRITEBYTECODE=1

usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' run.sh; }
step() { printf '\n== %s\n' "$*"; }
fail() { printf 'run.sh: %s\n' "$*" >&2; exit 1; }
unknown() { usage >&2; fail "unknown argument '$1'"; }
no_options() { [ $# -eq 0 ] || unknown "$1"; }

verbs() {
    local verb=show argument program
    for argument in "$@"; do
        case "$argument" in -h | --help) usage; return ;; esac
    done
    case "${1:-}" in
        clean) shift; no_options "$@"; rm -rf -- "${made[@]}"; return ;;
        test) verb=check; shift ;;
    esac
    for program in "${needs[@]}"; do
        command -v "$program" >/dev/null && continue
        case "$program" in
            g++) fail "g++ is not on the PATH; install a C++20 compiler first" ;;
            *) fail "$program is not on the PATH; activate its environment first" ;;
        esac
    done
    # The first program is installed beside it.
    python=$(dirname "$(command -v "${needs[0]}")")/python
    mkdir -p build
    "$verb" "$@"
}

# logged FILE COMMAND...: what the command prints goes to the file; if it fails, the end of that is shown.
logged() {
    local log=$1
    shift
    "$@" >"$log" 2>&1 || { tail -n 40 "$log" >&2; fail "$(basename "$log" .log) failed; $log has all of it"; }
}

# wheel_of FOLDER: the wheel of a setup.py, built into build/dist, against the torch and torch_npu that it will run with.
wheel_of() {
    # setuptools would put the folders build and *.egg-info beside setup.py.
    printf '[build]\nbuild_base = %s\n[egg_info]\negg_base = %s\n' "$PWD/build/setuptools" "$PWD/build" >build/setup.cfg
    DIST_EXTRA_CONFIG=$PWD/build/setup.cfg opwright run -- "$python" -m pip wheel --quiet --disable-pip-version-check \
        --no-build-isolation --no-deps --wheel-dir build/dist "$1"
}

# install_clean WHEEL...: into a new virtual environment, build/venv.
install_clean() {
    local outer inner
    step "Installing into a clean virtual environment, build/venv"
    "$python" -m venv --without-pip --clear build/venv
    "$python" -m pip --python build/venv/bin/python install --quiet --disable-pip-version-check --no-deps --no-index "$@"
    # torch, torch_npu, pytest and opwright are shown to it rather than installed a second time. The line is executed by
    # Python's site module, which also reads the .pth files of that folder.
    outer=$("$python" -c 'import sysconfig; print(repr(sysconfig.get_path("purelib")))')
    inner=$(build/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    printf 'import site; site.addsitedir(%s)\n' "$outer" >"$inner/outer.pth"
}

# The Python of build/venv on an NPU or its twin; `twin` has options of `opwright run`.
twin=()
run_installed() { opwright run "${twin[@]}" -- build/venv/bin/python "$@"; }

# Tests of the installed wheel. PYTHONSAFEPATH keeps the sources off Python's path, where they would hide it; the plugins of
# pytest that the outer environment has are visible, but not needed.
test_installed() {
    PYTHONSAFEPATH=1 PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 run_installed -m pytest -q -p no:cacheprovider "$@"
}
