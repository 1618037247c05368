# Put the twin into the environment of this shell:  source set_env.sh
# Works from bash and zsh, wherever the toolkit root is; sourcing it again changes nothing.

if [ -n "${BASH_VERSION:-}" ]; then
  _opwright_root=${BASH_SOURCE[0]}
elif [ -n "${ZSH_VERSION:-}" ]; then
  eval '_opwright_root=${(%):-%x}'  # zsh only; hidden from other shells' parsers
else
  echo "set_env.sh: source this file from bash or zsh" >&2
  return 1 2>/dev/null || exit 1
fi
_opwright_root=$(cd -P -- "$(dirname -- "$_opwright_root")" >/dev/null && pwd -P) || return 1

export ASCEND_HOME_PATH="$_opwright_root"
export ASCEND_TOOLKIT_HOME="$_opwright_root"
export ASCEND_OPP_PATH="$_opwright_root/opp"

# Puts a folder in front of a search path unless it is in it:  _opwright_prepend VARIABLE FOLDER
_opwright_prepend() {
  eval "_opwright_path=\${$1:-}"
  case ":$_opwright_path:" in
    *":$2:"*) ;;
    *) export "$1=$2${_opwright_path:+:$_opwright_path}" ;;
  esac
}

_opwright_prepend LD_LIBRARY_PATH "$_opwright_root/lib64"
_opwright_prepend PATH "$_opwright_root/tools/profiler/bin"  # torch_npu's profiler looks for msprof there
_opwright_prepend PATH "$_opwright_root/bin"
_opwright_prepend CMAKE_PREFIX_PATH "$_opwright_root"  # CMake's find_package(ASC)

# C programs that link to libopapi need libtorch, which lives in the torch of the python3 on PATH.
_opwright_torch=$(python3 -c 'import importlib.util as u; s = u.find_spec("torch"); print(s.submodule_search_locations[0] if s else "")' 2>/dev/null)
if [ -n "$_opwright_torch" ]; then
  case ":${LD_LIBRARY_PATH:-}:" in
    *":$_opwright_torch/lib:"*) ;;
    *) export LD_LIBRARY_PATH="$LD_LIBRARY_PATH:$_opwright_torch/lib" ;;
  esac
fi

unset _opwright_root _opwright_torch _opwright_path
unset -f _opwright_prepend
