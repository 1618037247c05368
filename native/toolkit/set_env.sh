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

# Puts a folder in front of LD_LIBRARY_PATH unless it is in it.
_opwright_prepend() {
  case ":${LD_LIBRARY_PATH:-}:" in
    *":$1:"*) ;;
    *) export LD_LIBRARY_PATH="$1${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" ;;
  esac
}

_opwright_prepend "$_opwright_root/lib64"

# torch_npu's profiler looks for msprof there.
case ":$PATH:" in
  *":$_opwright_root/tools/profiler/bin:"*) ;;
  *) export PATH="$_opwright_root/tools/profiler/bin:$PATH" ;;
esac

# C programs that link to libopapi need libtorch, which lives in the torch of the python3 on PATH.
_opwright_torch=$(python3 -c 'import importlib.util as u; s = u.find_spec("torch"); print(s.submodule_search_locations[0] if s else "")' 2>/dev/null)
if [ -n "$_opwright_torch" ]; then
  case ":${LD_LIBRARY_PATH:-}:" in
    *":$_opwright_torch/lib:"*) ;;
    *) export LD_LIBRARY_PATH="$LD_LIBRARY_PATH:$_opwright_torch/lib" ;;
  esac
fi

unset _opwright_root _opwright_torch
unset -f _opwright_prepend
