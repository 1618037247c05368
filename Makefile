# opwright: every target sets up what it needs; a second run does only what changed.
#
#   make demo    build the sample operators, run them on the twin, show what happened
#   make test    linters, native tests, Python tests
#   make quick   the Python tests that take no time, for the inner loop
#   make examples      everything in examples/ (VERB=test: their tests; EXAMPLES="training torchair": only these)
#   make setup   only the set-up     make native   only the native libraries (make native-twin: without torch_aie)
#   make conformance   PyTorch's own operator tests, all of them, on the twin (an hour on two cores)
#   make torchair-tests TORCHAIR=FOLDER   TorchAir's own system tests, of a checkout of its repository (a quarter of an hour)
#   make ecosystem     models of transformers, timm and diffusers against the CPU, and docs/ecosystem.md (ten minutes)
#   make op-plugin-tests OP_PLUGIN=FOLDER   op-plugin's own tests, of a checkout of its repository (an hour)
#   make matrix  build and test several pairs of torch and torch_npu, and write docs/versions.md (hours)
#   make wheel   the wheel for the pair and this Python in dist/, for any Linux that torch's own wheels run on
#   make docs    the site, from docs/ and docstrings, into build/docs
#   make release-notes TAG=v0.1.0   does the tag fit the version and CHANGELOG.md? its notes, into build/
#   make release TAG=v0.1.0         publish the wheels of dist/ under that tag, with the notes (needs gh)
#   make lint | format | bench | clean
#
# Targets that build or test take another pair than the default one, which then has its own tree below build/pairs:
#   make demo TORCH=2.10.0 PYTHON=python3.12
#   make demo TORCH=2.10.0 ARCH=aarch64    for another processor, emulated: Debian's cross compiler and qemu-user
# pip may find no CPU build of torch for it: a CUDA build runs as well, but is large. To name an index with CPU builds:
#   make setup PIP_ARGS="--extra-index-url <index of CPU builds>"

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
# Hundreds of processes import the package; each would compile it again.
unexport PYTHONDONTWRITEBYTECODE

DEFAULT_TORCH := 2.13.0
DEFAULT_PYTHON := 3.11
# opwright/pairs.json has the pairs that there are.
TORCH ?= $(DEFAULT_TORCH)
# A release of torch_npu that belongs to it; that of the table if it is not given.
TORCH_NPU ?=
# aarch64, on a machine with another processor (tools/aarch64.py); empty for the machine's own.
ARCH ?=
PIP_ARGS ?=
JOBS ?= $(shell nproc)
# Pytest's workers: one more than there are cores, since a test that waits for a process or a disk leaves its core idle.
WORKERS ?= $(shell expr $(JOBS) + 1)
PYTEST_ARGS ?=
CASES ?=

VENV := .venv
BIN := $(abspath $(VENV))/bin
# Inside the virtual environment, so that removing it starts from the beginning.
STAMPS := $(VENV)/stamps
# The first interpreter of the default version; else python3, so that the preflight check can say what is wrong.
PYTHON ?= $(shell for p in python$(DEFAULT_PYTHON) python3; do \
	$$p -c 'import sys; sys.exit("{}.{}".format(*sys.version_info) != "$(DEFAULT_PYTHON)")' 2>/dev/null \
	  && { echo $$p; exit; }; done; echo python3)

PYTHON_VERSION := $(shell $(PYTHON) -c 'import sys; print("{}.{}".format(*sys.version_info))' 2>/dev/null)
ifeq ($(PYTHON_VERSION)$(wildcard .sources),)
$(error PYTHON=$(PYTHON) does not run: `$(PYTHON) --version` says why. \
  Give PYTHON= the path of an interpreter that runs; for one of pyenv's, `pyenv global` or PYENV_VERSION chooses its version)
endif

# The tree of another pair; empty for the default pair, and in such a tree itself.
PAIR := $(TORCH)$(addprefix -npu-,$(TORCH_NPU))-python-$(PYTHON_VERSION)$(addprefix -,$(ARCH))
ifneq ($(PAIR),$(DEFAULT_TORCH)-python-$(DEFAULT_PYTHON))
TREE := $(if $(wildcard .sources),,build/pairs/torch-$(PAIR))
endif

# In an emulated environment there is no linter, and nothing that draws.
GROUPS := $(if $(ARCH),build test wheel,dev)
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
# pip install, with elapsed and remaining time.
PACKAGES := $(BIN)/python -m tools.packages
# A compiler cache, where there is one, knows sources that another clone has compiled: it sees their paths from here.
LAUNCHER := $(if $(shell command -v ccache),-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
CACHE := CCACHE_BASEDIR="$(CURDIR)" CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
# $(call BUILD,FOLDER): build a folder that CMake has configured, and show how much is left.
BUILD = $(CACHE) NINJA_STATUS='[%f of %t, %w, about %W left] ' $(BIN)/cmake --build $(1) --parallel $(JOBS)
CXX_SOURCES = git ls-files -z --cached --others --exclude-standard -- 'native/*.cpp' 'native/*.h' 'tests/native/*.cpp' 'tests/native/*.h' 'aie/*.cpp' 'aie/*.h' 'benchmarks/*.cpp' 'benchmarks/*.asc' 'examples/aclnn_program/*.cpp' 'examples/aclnn_program/*.h' 'examples/torch_aie_cumsum/*.cpp' 'examples/ascend_c/*.cpp' 'examples/ascend_c/*.h' 'examples/ascend_c/*.asc'

.PHONY: demo examples test quick setup native native-twin native-tests conformance torchair-tests op-plugin-tests ecosystem matrix wheel docs lint format bench clean
.DEFAULT_GOAL := test

ifneq ($(TREE),)

INTERPRETER := $(if $(ARCH),$(abspath $(TREE))/build/sysroot/usr/bin/python$(PYTHON_VERSION),$(abspath $(shell command -v $(PYTHON))))

demo examples test quick setup native native-twin native-tests conformance torchair-tests op-plugin-tests ecosystem wheel bench:
	@$(PYTHON) -m tools.preflight machine --venv $(VENV) --torch $(TORCH) --torch-npu "$(TORCH_NPU)" --arch "$(ARCH)"
	$(PYTHON) -m tools.pair_tree $(TREE)
	$(if $(ARCH),$(PYTHON) -m tools.$(ARCH) machine $(TREE))
	$(MAKE) -C $(TREE) $@ TORCH=$(TORCH) TORCH_NPU=$(TORCH_NPU) ARCH=$(ARCH) PYTHON=$(INTERPRETER)

else

# It needs no torch_aie, which takes a third of the compiler's time.
demo: native-twin $(STAMPS)/package
	@echo "[5/5] demo: a custom operator's wheel by hand, then one declared; each built and tested on the twin"
	PATH="$(BIN):$$PATH" bash examples/cpp_extension_wheel/run.sh --demo
	PATH="$(BIN):$$PATH" bash examples/moe_gating_top_k/run.sh
	PATH="$(BIN):$$PATH" bash examples/moe_gating_top_k/run.sh test
	ls aie/python/torch_aie/_C.*.so >/dev/null 2>&1 || echo "not built yet: torch_aie (make native, or any target that needs it)"

EXAMPLES := $(sort $(patsubst examples/%/run.sh,%,$(wildcard examples/*/run.sh)))
VERB ?=

examples: setup
	@echo "[5/5] examples: $(words $(EXAMPLES)), one after the other; logs in build/examples/"
	mkdir -p build/examples
	failed=()
	for name in $(EXAMPLES); do
	  log=build/examples/$$name.log begin=$$SECONDS
	  printf '%-22s' "$$name"
	  if PATH="$(BIN):$$PATH" bash examples/$$name/run.sh $(VERB) >$$log 2>&1; then word=ok; else word=FAILED; failed+=("$$name"); fi
	  printf '%-8s%5d s\n' $$word $$((SECONDS - begin))
	  [[ $$word == ok ]] || { tail -n 40 $$log | sed 's/^/    /'; echo "    all of it: $$log"; }
	done
	[[ $${#failed[@]} -eq 0 ]] || { echo "failed: $${failed[*]}"; exit 1; }

# The linters, which use one core, beside the compiler; both are the same for every pair.
test: setup
	@$(MAKE) --no-print-directory --jobs 2 $(if $(wildcard .sources),,lint) native-tests
	echo "[5/5] tests"
	PATH="$(BIN):$$PATH" $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

# The inner loop: without what tests/slow.txt names, which is measured (--record-slow).
quick: setup
	@PATH="$(BIN):$$PATH" $(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile --no-loadscope-reorder --quick $(PYTEST_ARGS)

setup: native $(STAMPS)/package

$(STAMPS)/machine: tools/preflight.py opwright/pairs.py opwright/pairs.json
	@echo "[1/5] checking this machine"
	$(PYTHON) -m tools.preflight machine --venv $(VENV) --torch $(TORCH) --torch-npu "$(TORCH_NPU)"
	mkdir -p $(@D) && touch $@

# torch_npu by itself: releases of it name a torch that no index has, beside the one that they are built for.
$(STAMPS)/python: pyproject.toml opwright/pairs.json | $(STAMPS)/machine
	@torch_npu=$$($(PYTHON) -m tools.preflight torch-npu --torch $(TORCH) --torch-npu "$(TORCH_NPU)")
	echo "[2/5] Python packages: torch $(TORCH), torch_npu $$torch_npu, tools (a few minutes the first time)"
	[[ -x $(BIN)/python ]] || $(PYTHON) -m venv $(VENV)
	$(PIP) install $(PIP_ARGS) 'pip>=25.1'  # the first version that reads dependency groups
	$(BIN)/python -m tools.preflight torch --torch $(TORCH) --pip-args='$(PIP_ARGS)'
	$(PACKAGES) $(PIP_ARGS) torch==$(TORCH) $(addprefix --group ,$(GROUPS))
	$(PACKAGES) $(PIP_ARGS) --no-deps torch_npu==$$torch_npu
	$(if $(ARCH),$(PYTHON) -m tools.$(ARCH) tools .)
	mkdir -p $(@D) && touch $@

# Always asked, because ninja knows better than make what changed; it is quick when nothing did.
native: build/native/build.ninja
	@echo "[3/5] native libraries"
	$(call BUILD,build/native)
	$(BIN)/cmake --install build/native > build/native/install.log

native-twin: build/native/build.ninja
	@echo "[3/5] native libraries of the twin"
	$(call BUILD,build/native) --target native/all
	for component in twin tree; do $(BIN)/cmake --install build/native --component $$component; done > build/native/install.log

build/native/build.ninja: | $(STAMPS)/python
	@PATH="$(BIN):$$PATH" $(BIN)/cmake -S . -B build/native -G Ninja \
	  -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$(CURDIR)" \
	  -DPython3_EXECUTABLE=$(BIN)/python -DCMAKE_MAKE_PROGRAM=$(BIN)/ninja $(LAUNCHER) \
	  $(if $(ARCH),-DCMAKE_TOOLCHAIN_FILE="$(CURDIR)/native/cmake/$(ARCH).cmake")

$(STAMPS)/package: pyproject.toml $(STAMPS)/python
	@echo "[4/5] opwright itself (editable)"
	PATH="$(BIN):$$PATH" $(PIP) install $(PIP_ARGS) --no-build-isolation -C wheel.cmake=false --editable .
	touch $@

# The scenarios and the libraries that they link, which know no torch, under each sanitizer. tests/native runs them.
native-tests: $(STAMPS)/python
	@echo "[5/5] native scenarios: building with sanitizers"
	build() {
	  [[ -f build/$$1/build.ninja ]] || $(BIN)/cmake -S . -B build/$$1 -G Ninja -DOPWRIGHT_TORCH=OFF \
	    -DOPWRIGHT_TESTS=ON -DOPWRIGHT_SANITIZE=$$2 -DCMAKE_MAKE_PROGRAM=$(BIN)/ninja $(LAUNCHER)
	  $(call BUILD,build/$$1) --target tests/native/all
	}
	build asan address,undefined
	build tsan thread

# PAIRS="2.10.0/3.11 2.14.0/3.13": only these.
matrix: $(STAMPS)/python
	@$(BIN)/python -m tools.matrix $(PAIRS)

# CASES="*/float32/*": only these, and the page stays as it is.
conformance: setup
	@$(BIN)/python -m tests.conformance --jobs $(JOBS) $(if $(CASES),'$(CASES)',--page docs/conformance.md) \
	  --log build/conformance.tsv --counts build/conformance.json

# CASES="torchair_gear_st.*": only these.
torchair-tests: setup
	@$(BIN)/python -m tests.torchair_upstream "$(or $(TORCHAIR),$(error TORCHAIR=FOLDER names a checkout of TorchAir's repository))" \
	  $(if $(CASES),'$(CASES)') --jobs $(JOBS) --log build/torchair_tests.jsonl

$(STAMPS)/ecosystem: pyproject.toml $(STAMPS)/python
	@echo "Python packages of the ecosystem"
	$(PACKAGES) $(PIP_ARGS) torch==$(TORCH) --group ecosystem
	touch $@

# CASES="generation or timm": only these, as pytest's -k has it, and the page stays as it is.
ECOSYSTEM := $(addprefix tests/ecosystem/,compiled.py forward_and_backward.py generation.py training.py)
ecosystem: setup $(STAMPS)/ecosystem
	@mkdir -p build
	PATH="$(BIN):$$PATH" $(BIN)/python -m pytest -q -n $(JOBS) --npu-twin --junitxml build/ecosystem.xml $(if $(CASES),-k '$(CASES)') $(ECOSYSTEM)
	$(if $(CASES),,$(BIN)/python -m tests.ecosystem.page docs/ecosystem.md build/ecosystem.xml)

$(STAMPS)/op-plugin-tests: pyproject.toml $(STAMPS)/python
	@echo "Python packages that op-plugin's tests import"
	$(PACKAGES) $(PIP_ARGS) --group op-plugin-tests
	touch $@

# CASES="test_custom_ops.*": only these.
op-plugin-tests: setup $(STAMPS)/op-plugin-tests
	@$(BIN)/python -m tests.op_plugin_upstream "$(or $(OP_PLUGIN),$(error OP_PLUGIN=FOLDER names a checkout of op-plugin's repository))" \
	  $(if $(CASES),'$(CASES)') --jobs $(JOBS) --log build/op_plugin_tests.jsonl

wheel: native
	@PATH="$(BIN):$$PATH" $(BIN)/python -m tools.wheel

$(STAMPS)/docs: pyproject.toml $(STAMPS)/python
	@echo "Python packages of the site"
	$(PACKAGES) $(PIP_ARGS) --group docs
	touch $@

# Warnings are errors: a page that is not in the menu, a dead link or anchor, a name of the reference that is not there.
docs: $(STAMPS)/docs
	@$(BIN)/python -m tools.links
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	echo "the site is in build/docs: open build/docs/index.html"

lint: setup
	@echo "[5/5] ruff, mypy, clang-format"
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(CXX_SOURCES) | xargs -0 --no-run-if-empty $(BIN)/clang-format --dry-run --Werror

format: setup
	@$(BIN)/ruff check --fix-only
	$(BIN)/ruff format
	$(CXX_SOURCES) | xargs -0 --no-run-if-empty $(BIN)/clang-format -i

bench: setup
	@$(call BUILD,build/native) --target small_call live_call_peer
	PATH="$(BIN):$$PATH" $(BIN)/python tools/performance_page.py

clean:
	@rm -rf build opwright/cann
	for script in examples/*/run.sh; do bash $$script clean; done

endif

# The standard library is enough for these; they need no set-up and know no pair.
.PHONY: release-notes release
TAG ?=

release-notes:
	@mkdir -p build
	$(PYTHON) -m tools.release notes "$(TAG)" > build/release-notes.md
	cat build/release-notes.md

release: release-notes
	@wheels=$$($(PYTHON) -m tools.release wheels)
	gh release create "$(TAG)" $$wheels --verify-tag --title "opwright $(TAG)" --notes-file build/release-notes.md
