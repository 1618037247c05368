"""Operators with sources to change, and the declaration that each is checked against.

A source implements operators; the unchanged declaration describes them, and says what they compute.
So what a row finds is a contradiction between the two, as `opwright check NAMESPACE --load FILE
--declaration FILE` reports it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mutants.in_cpp import mutants_of_cpp
from mutants.in_declarations import mutants_of_declarations, without
from mutants.in_python import mutants_of
from opwright.check.request import Request
from opwright.kit.packaging.emitted_tree import read_sources
from opwright.project.config import read_project
from opwright.project.template import TEMPLATES, project_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mutants.mutant import Mutant

__all__ = ["Target", "all_targets"]

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
# The kernel's tiling refuses rows without elements, which the example's declaration allows: row
# numerics fails for that alone, and would see nothing else.
RMS_NORM = b'    dtypes={"x": "float16 float32", "gamma": "x", "rstd": "float32"},\n'
BUILD_TIME = 600  # seconds
OPWRIGHT = (sys.executable, "-m", "opwright")
# Without ccache, which torch's cpp_extension puts in front itself where it is installed.
COMPILER = "g++"
COMPILE = (
    *("env", "-C", "generated", f"CXX={COMPILER}"),
    *(sys.executable, "setup.py", "-q", "build_ext", "--inplace"),
)
COMPILE_EXTENSION = (
    *("env", f"CXX={COMPILER}", *OPWRIGHT, "run", "--", sys.executable, "setup.py", "-q"),
    *("build_ext", "--build-lib", "library", "--build-temp", "objects"),
)
LIBRARY = f"library/my_ops_npu{sysconfig.get_config_var('EXT_SUFFIX')}"
# Parts of an operator of examples/torchair: not its schema and OpDef, which are declared.
CHANGED_BY_HAND = ("meta.py", "converter.py", "kernel.py", "adapter.cpp")
# Emitted files that are of the operators alone; the others are the same in each project.
EMITTED = (
    "generated/mutated/_registration.py",
    "generated/mutated/converters.py",
    "generated/mutated/ge.py",
    "generated/csrc/operators.cpp",
    "generated/csrc/autograd.cpp",
    "generated/csrc/functionalization.cpp",
)
# Sources of examples/ascend_c -> the operator of its declaration.
ASCEND_C = {
    "add_custom": "add_custom",
    "inplace_axpy": "axpy_",
    "rms_norm_custom": "rms_norm",
    "matmul_custom": "matmul",
}
LOADS = re.compile(rb"^ops\.load\(\)\n", re.MULTILINE)
NAMESPACE = re.compile(rb'OperatorSet\("(\w+)"')
DECLARED = re.compile(rb'(?:operator|declare)\(\s*"(\w+(?:\.\w+)?)\(')


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A source to change, and how its operators are checked.

    Parameters
    ----------
    file
        The source, as a report names it.
    source, mutants
        Its content, and the changes.
    place
        Where it stands in the folder of the run.
    others
        The other files of that folder.
    namespace, load, declaration
        What `opwright check` is given; paths are relative to the folder.
    operators
        Names without namespace; those that are checked.
    is_split
        The operators of the source stand one after the other, so that a change is one operator's.
    variables
        Of the environment: paths in the folder.
    kernels, packages
        Kernel files and operator packages of the twin.
    on_device
        The change is in what runs on the device; what the CPU's kernel shows does not count. The
        twin has kernels of its own for some aclnn functions: there a reference is the CPU's alone.
    setup
        Commands that are run in the folder once.
    build
        Commands that are run in the folder after each change, such as a compiler.
    """

    name: str
    file: str
    source: bytes
    mutants: tuple[Mutant, ...]
    place: str
    others: Mapping[str, bytes]
    namespace: str
    load: tuple[str, ...] = ()
    declaration: str = "declared.py"
    operators: frozenset[str]
    is_split: bool = False
    on_device: bool = True
    variables: tuple[tuple[str, str], ...] = ()
    kernels: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    setup: tuple[tuple[str, ...], ...] = ()
    build: tuple[tuple[str, ...], ...] = ()

    def request(self, folder: Path) -> Request:
        """Return what the check is asked for."""
        return Request(
            target=self.namespace,
            load=tuple(str(folder / each) for each in self.load),
            declaration=str(folder / self.declaration),
        )

    def is_ours(self, operator: str) -> bool:
        """Return whether an operator is checked, by its name with namespace."""
        return operator.partition("::")[2] in self.operators

    def prepare(self, folder: Path) -> None:
        """Write the files of a run and build them.

        Raises
        ------
        RuntimeError
            The original does not compile.
        """
        for name, content in self.others.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        failure = self.put(folder, self.source) or run_all(self.setup, folder)
        if failure is not None:
            message = f"{self.name}: {failure}"
            raise RuntimeError(message)

    def put(self, folder: Path, source: bytes) -> str | None:
        """Write the source and build it; return why it does not compile."""
        path = folder / self.place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(source)
        return run_all(self.build, folder)

    def operators_at(self, line: int, places: Mapping[str, str]) -> frozenset[str]:
        """Return the operators that a line is of: the last one that starts before it, or all.

        Parameters
        ----------
        places
            Operator -> `FILE:LINE` of its declaration.
        """
        starts = {name: int(place.rpartition(":")[2]) for name, place in places.items()}
        if not self.is_split or line < min(starts.values()):
            return frozenset(starts)
        return frozenset(
            {max((name for name in starts if starts[name] <= line), key=starts.__getitem__)}
        )


def run_all(commands: Iterable[tuple[str, ...]], folder: Path) -> str | None:
    """Run commands until one fails; return what that one printed."""
    for command in commands:
        done = subprocess.run(
            command,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
            timeout=BUILD_TIME,
        )
        if done.returncode != 0:
            errors = [line for line in done.stdout.splitlines() if "error" in line.lower()]
            return " ".join((errors or ["no message"])[0].split())[:300]
    return None


def all_targets() -> list[Target]:
    """Return all targets, quick ones first."""
    return [
        *templates(),
        *declared_examples(),
        *written_by_hand(),
        *reference_kernels(),
        *from_scratch(),
        *emitted_sources(),
        *ascend_c_sources(),
    ]


def templates() -> list[Target]:
    """Return the projects of `opwright new`: their declarations."""
    found = []
    for template in TEMPLATES.values():
        source = project_texts("mutated", template)["operators.py"].encode()
        name = f"template {template.name}"
        file = f"opwright/project/templates/{template.name.replace('-', '_')}.py.in"
        found.append(declared(name, file, source))
    return found


def declared_examples() -> list[Target]:
    """Return the examples with a declaration."""
    files = [EXAMPLES / "moe_gating_top_k/operators.py", EXAMPLES / "ascend_c/operators.py"]
    files += sorted(EXAMPLES.glob("torchair/*/declared/operators.py"))
    found = []
    for path in files:
        name = str(path.parent.relative_to(EXAMPLES))
        source = path.read_bytes()
        kernel = path.parents[1] / "kernel.py"
        others = {"kernel.py": kernel.read_bytes()} if kernel.is_file() else {}
        found.append(declared(name, str(path.relative_to(ROOT)), source, others=others))
    return found


def declared(
    name: str, file: str, source: bytes, *, others: Mapping[str, bytes] | None = None
) -> Target:
    """Return the target of an operator file that is loaded as it is."""
    others = others or {}
    library = without(source, "samples", "errors", "tolerances")
    library = library if LOADS.search(library) else library + b"\n\nops.load()\n"
    return Target(
        name=name,
        file=file,
        source=library,
        mutants=tuple(mutants_of_declarations(library, is_existing=b"existing=True" in library)),
        place="library.py",
        others={"declared.py": described(source), **others},
        namespace=namespace_of(source),
        load=("library.py",),
        operators=operators_of(source),
        is_split=True,
        on_device=b"aclnnMoeGatingTopK" not in source,
        kernels=tuple(others),
    )


def written_by_hand() -> list[Target]:
    """Return the plugins that examples/torchair has without a declaration as well."""
    found = []
    for folder in sorted(EXAMPLES.glob("torchair/*_plugin")):
        files = {path.name: path.read_bytes() for path in (folder / "by_hand").glob("*.py")}
        declaration = (folder / "declared/operators.py").read_bytes()
        kernel = folder / "kernel.py"
        kernels = {"kernel.py": kernel.read_bytes()} if kernel.is_file() else {}
        for name, source in sorted(files.items()):
            changes = tuple(mutants_of(source))
            if not changes:
                continue
            found.append(
                Target(
                    name=f"{folder.relative_to(EXAMPLES)}/by_hand/{name}",
                    file=str((folder / "by_hand" / name).relative_to(ROOT)),
                    source=source,
                    mutants=changes,
                    place=f"by_hand/{name}",
                    others={
                        "declared.py": described(declaration),
                        **{f"by_hand/{each}": text for each, text in files.items()},
                        **kernels,
                    },
                    namespace=namespace_of(declaration),
                    load=("by_hand/operators.py",),
                    operators=operators_of(declaration),
                    variables=(("PYTHONPATH", "by_hand"),),
                    kernels=tuple(kernels),
                )
            )
    return found


def reference_kernels() -> list[Target]:
    """Return the kernels of examples/torchair that stand in for a device's."""
    found = []
    for path in sorted(EXAMPLES.glob("torchair/*/kernel.py")):
        declaration = (path.parent / "declared/operators.py").read_bytes()
        found.append(
            Target(
                name=f"{path.parent.relative_to(EXAMPLES)}/kernel.py",
                file=str(path.relative_to(ROOT)),
                source=path.read_bytes(),
                mutants=tuple(mutants_of(path.read_bytes())),
                place="kernel.py",
                others={"declared.py": described(declaration), "library.py": declaration},
                namespace=namespace_of(declaration),
                load=("library.py",),
                operators=operators_of(declaration),
                kernels=("kernel.py",),
            )
        )
    return found


def from_scratch() -> list[Target]:
    """Return the operators of examples/torchair that are written by hand, all parts of them."""
    return [
        target
        for folder in sorted(EXAMPLES.glob("torchair/*_from_scratch"))
        for target in parts_of(folder)
    ]


def parts_of(folder: Path) -> Iterator[Target]:
    """Yield Meta, converter, kernel and adapter of one operator."""
    paths = [path for path in (folder / "by_hand").rglob("*") if path.suffix in {".py", ".cpp"}]
    files = {str(path.relative_to(folder)): path.read_bytes() for path in sorted(paths)}
    declaration = (folder / "declared/operators.py").read_bytes()
    for name, source in files.items():
        if not name.endswith(CHANGED_BY_HAND):
            continue
        is_cpp = name.endswith(".cpp")
        yield Target(
            name=f"{folder.relative_to(EXAMPLES)}/{name}",
            file=str((folder / name).relative_to(ROOT)),
            source=source,
            mutants=tuple(mutants_of_cpp(source) if is_cpp else mutants_of(source)),
            place=name,
            others={
                **files,
                "setup.py": (EXAMPLES / "torchair/setup.py").read_bytes(),
                "declared.py": described(declaration),
            },
            namespace=namespace_of(declaration),
            load=("by_hand/operators.py",),
            operators=operators_of(declaration),
            variables=(("PYTHONPATH", "by_hand"), ("MY_OPS_LIBRARY", LIBRARY)),
            kernels=("by_hand/step2_operator/kernel.py",),
            setup=() if is_cpp else (COMPILE_EXTENSION,),
            build=(COMPILE_EXTENSION,) if is_cpp else (),
        )


def emitted_sources() -> list[Target]:
    """Return what is emitted for the projects of `opwright new`, Python and C++."""
    return [
        target
        for template in TEMPLATES.values()
        for target in emitted_for(template.name, project_texts("mutated", template))
    ]


def emitted_for(name: str, texts: Mapping[str, str]) -> Iterator[Target]:
    """Yield the targets of one project: each emitted file that is of its operator alone."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for path, text in texts.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        project = read_project(folder)
        files = read_sources(project, project.options).files
    declaration = texts["operators.py"].encode()
    tree = {f"generated/{path}": text.encode() for path, text in files.items()}
    for path in EMITTED:
        source = tree.get(path)
        if source is None:
            continue
        is_cpp = path.endswith(".cpp")
        mutants = mutants_of_cpp(source) if is_cpp else mutants_of(source)
        yield Target(
            name=f"emitted {name}/{Path(path).name}",
            file=f"{name}/{path}",
            source=source,
            mutants=tuple(mutants),
            place=path,
            others={**tree, "declared.py": declaration},
            namespace="mutated",
            operators=operators_of(declaration),
            variables=(("PYTHONPATH", "generated"),),
            kernels=("declared.py",),
            setup=() if is_cpp else (COMPILE,),
            build=(COMPILE,) if is_cpp else (),
        )


def ascend_c_sources() -> list[Target]:
    """Return the operator projects of examples/ascend_c, host and kernel, one for each operator."""
    folder = EXAMPLES / "ascend_c"
    declaration = (folder / "operators.py").read_bytes()
    declaration = declaration.replace(RMS_NORM, RMS_NORM + b'    requires=["D > 0"],\n')
    found = []
    for stem, operator in ASCEND_C.items():
        paths = [f"op_host/{stem}_tiling.h", "op_host/split.h", "CMakePresets.json"]
        sources = [f"op_kernel/{stem}.cpp", f"op_host/{stem}.cpp"]
        files = {path: (folder / path).read_bytes() for path in [*paths, *sources]}
        found += [
            Target(
                name=f"ascend_c/{path}",
                file=str((folder / path).relative_to(ROOT)),
                source=files[path],
                mutants=tuple(mutants_of_cpp(files[path])),
                place=path,
                others={
                    **files,
                    "declared.py": declaration,
                    "library.py": declaration + b"\n\nops.load()\n",
                },
                namespace=namespace_of(declaration),
                load=("library.py",),
                operators=frozenset({operator}),
                packages=("package/vendors/opwright_examples",),
                build=((*OPWRIGHT, "ascendc", "build", ".", "--out", "package"),),
            )
            for path in sources
        ]
    return found


def described(source: bytes) -> bytes:
    """Return a declaration that describes what is registered elsewhere."""
    return without(LOADS.sub(b"", source), "converter")


def namespace_of(source: bytes) -> str:
    """Return the namespace of a declaration."""
    found = NAMESPACE.search(source)
    assert found is not None
    return found[1].decode()


def operators_of(source: bytes) -> frozenset[str]:
    """Return the names that a declaration has operators for."""
    return frozenset(each.decode() for each in DECLARED.findall(source))
