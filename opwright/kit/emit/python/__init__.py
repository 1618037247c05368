"""The Python package around the C++ library, its tests and its build: {path: text}. Pure.

api, docs, authored     a typed, documented function for each operator
stubs                   `torch.ops.<namespace>` with types
source, scopes          the author's functions, taken from the declaration's file
kernels                 those functions and derived ones, and their registration
meta                    Meta kernels where C++ cannot have them
prototypes, ge, converters   graph mode: REG_OP text, GE API, TorchAir's converters
converter_checks, converter_samples   whether an author's fits, what converters support
raw_ops, raw_names      graph-building functions of prototypes, as TorchAir's build makes them
suite, twin_kernels     tests from the samples, on opwright's twin too
pyproject, package      what builds it, what loads it
annotations, names, module, text   how Python is written
errors                  what keeps a declaration's Python from being shipped
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.kit.derive.functional import has_graph_form
from opwright.kit.emit.python.api import emit_api
from opwright.kit.emit.python.converters import emit_converters, list_authored
from opwright.kit.emit.python.ge import emit_ge
from opwright.kit.emit.python.kernels import emit_kernels, emit_reference, emit_registration
from opwright.kit.emit.python.meta import emit_meta
from opwright.kit.emit.python.package import emit_init, read_shipped
from opwright.kit.emit.python.prototypes import emit_reg_op, graph_operators
from opwright.kit.emit.python.pyproject import emit_pyproject
from opwright.kit.emit.python.source import extract
from opwright.kit.emit.python.stubs import emit_init_stub, emit_ops, emit_ops_stub
from opwright.kit.emit.python.suite import emit_suite
from opwright.kit.emit.python.twin_kernels import emit_conftest, emit_twin_kernels

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.kit.derive.facts import SetFacts
    from opwright.kit.emit.options import EmitOptions

__all__ = ["emit_python"]


def emit_python(facts: SetFacts, options: EmitOptions) -> Mapping[str, str]:
    """Return the Python files by their path in the generated tree.

    Raises
    ------
    OpwrightUseError, ForeignFunctionError, SourceMissingError
        OPW-E001 to OPW-E003: a function of the declaration that cannot be shipped.
    """
    source = facts.declaration.source.name
    extracted = extract(facts)
    kinds = {each.python.kind for each in facts.operators if each.python is not None}
    graph = graph_operators(facts)
    package = {
        "__init__.py": emit_init(facts, options, converters=bool(graph or list_authored(facts))),
        "__init__.pyi": emit_init_stub(facts, options),
        "_internals.py": read_shipped("_internals", source),
        "_loading.py": read_shipped("loading", source),
        "_ops.py": emit_ops(facts, options),
        "_ops.pyi": emit_ops_stub(facts, options),
        "_registration.py": emit_registration(facts, extracted, options),
        "_runtime.py": read_shipped("runtime", source),
        "api.py": emit_api(facts, options),
        "py.typed": "",
    }
    if extracted.names:
        package["_reference.py"] = emit_reference(facts, extracted, options)
    if kinds & {"formula", "vjp"}:
        package["_kernels.py"] = emit_kernels(facts, extracted, options)
    if any(has_graph_form(each) for each in facts.operators):
        package["_graphs.py"] = read_shipped("graphs", source)
    if any(has_graph_form(each) for each in graph):
        package["_writing.py"] = read_shipped("writing", source)
    if "vjp" in kinds:
        package["_vjp.py"] = read_shipped("vjp", source)
    if options.stable_abi:
        package |= {
            "_autograd.py": read_shipped("autograd", source),
            "_meta.py": emit_meta(facts, options),
            "_rules.py": read_shipped("rules", source),
        }
    if graph or list_authored(facts):
        package["_converting.py"] = read_shipped("converting", source)
        package["_internals_of_torchair.py"] = read_shipped("_internals_of_torchair", source)
        package["ge.py"] = emit_ge(facts, options)
        package["converters.py"] = emit_converters(facts, extracted.names, options)
    if any(each.prototype is not None for each in facts.operators):
        package["op_proto.h"] = emit_reg_op(facts)
    kernels = emit_twin_kernels(facts, extracted, options)
    on_twin = {"conftest.py": emit_conftest(facts), "twin_kernels.py": kernels} if kernels else {}
    tests = {
        **on_twin,
        "support.py": read_shipped("support", source),
        f"test_{options.package}.py": emit_suite(facts, extracted, options),
    }
    return {
        "setup.py": read_shipped("setup_script", source),
        "pyproject.toml": emit_pyproject(facts, options),
        **{f"{options.package}/{name}": text for name, text in package.items()},
        **{f"tests/{name}": text for name, text in tests.items()},
    }


def __dir__() -> list[str]:
    return __all__
