"""All rules: identifier, severity, title, why it matters, how to mend it."""

from __future__ import annotations

from opwright.lint.finding import Rule, Severity
from opwright.lint.rules import converters, metas, registration, schemas, writes

__all__ = ["RULES", "SUPPRESSION_RULES"]

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

RULES = (
    Rule(
        id="missing-meta",
        severity=ERROR,
        title="an operator has kernels, but no Meta",
        why="torch.compile, export and FakeTensorMode stop at the operator: NotImplementedError.",
        fix="register a function for the Meta key that returns empty tensors of the results' "
        "shapes and dtypes",
        run=registration.find_missing_metas,
    ),
    Rule(
        id="missing-meta-void",
        severity=NOTE,
        title="an operator that only writes has no Meta",
        why="torch makes an empty Meta for it under FakeTensorMode, but not for tensors on the "
        "meta device.",
        fix="register a function for the Meta key that returns nothing",
        run=registration.find_missing_void_metas,
    ),
    Rule(
        id="stale-meta",
        severity=ERROR,
        title="a Meta is registered for a name that nothing defines",
        why="The operator that it was meant for has no Meta, or the Meta is left over.",
        fix="register it under the operator's name, or remove it",
        run=registration.find_stale_metas,
    ),
    Rule(
        id="impl-without-definition",
        severity=ERROR,
        title="a kernel is registered for a name that nothing defines",
        why="torch keeps such a kernel silently: the operator cannot be called.",
        fix="define the operator with m.def, or register the kernel under the right name",
        run=registration.impl_without_definition,
    ),
    Rule(
        id="no-kernel",
        severity=WARNING,
        title="an operator is defined, but nothing implements it",
        why="Every call raises NotImplementedError.",
        fix="register a kernel with m.impl, or remove the definition",
        run=registration.no_kernel,
    ),
    Rule(
        id="missing-function",
        severity=ERROR,
        title="a registered C++ function does not exist in the sources",
        why="The library does not build, or another file than these has the function.",
        fix="name the function that implements the operator",
        run=registration.find_missing_functions,
    ),
    Rule(
        id="duplicate-definition",
        severity=ERROR,
        title="an operator is defined twice",
        why="torch refuses the second definition when the library is loaded.",
        fix="remove one, or give it an overload name",
        run=registration.duplicate_definition,
    ),
    Rule(
        id="duplicate-implementation",
        severity=WARNING,
        title="a dispatch key gets two implementations of one operator",
        why="The one that is registered last wins, which depends on the order of loading.",
        fix="remove one",
        run=registration.duplicate_implementation,
    ),
    Rule(
        id="schema-unreadable",
        severity=ERROR,
        title="a schema does not parse",
        why="Loading the library fails with an error of the parser.",
        fix='write it in PyTorch\'s grammar: "name(Tensor x, int k=1) -> Tensor"',
        run=schemas.find_unreadable_schemas,
    ),
    Rule(
        id="default-type",
        severity=ERROR,
        title="a default does not fit its argument's type",
        why="torch takes the schema and fails, or gives the kernel garbage, when the argument is "
        "left out.",
        fix="make the type optional (int? x=None), or write a default of the type",
        run=schemas.default_type,
    ),
    Rule(
        id="derivative-schema",
        severity=ERROR,
        title="an entry of derivatives.yaml does not fit the operator's schema",
        why="The code generator of torch_npu finds no operator of that schema and stops, or the "
        "operator has no backward.",
        fix="repeat the schema of op_plugin_functions.yaml, with formulas for its arguments",
        run=schemas.derivative_schema,
    ),
    Rule(
        id="bare-write",
        severity=NOTE,
        title="Tensor! without the letter of an alias set",
        why="Only the C++ parser knows it; torchgen, custom_op and most tools do not.",
        fix="write Tensor(a!), for the next argument Tensor(b!)",
        run=schemas.bare_write,
    ),
    Rule(
        id="alias-shared",
        severity=WARNING,
        title="several arguments are in one alias set that is written",
        why="The schema says that they may be one tensor; torch.compile treats them as one.",
        fix="give each its own letter",
        run=schemas.find_shared_aliases,
    ),
    Rule(
        id="alias-unknown",
        severity=ERROR,
        title="a result is in an alias set that no argument has",
        why="No tool can know what the result aliases; functionalization refuses the operator.",
        fix="annotate the argument too, or leave the annotation out",
        run=schemas.find_unknown_aliases,
    ),
    Rule(
        id="void-pure",
        severity=ERROR,
        title="an operator returns nothing and declares no write",
        why="For torch.compile it has no effect: it is removed as dead code, and what it writes is "
        "never seen.",
        fix="annotate what it writes: Tensor(a!) x; an operator with an effect outside of its "
        "tensors needs an effect token (torch.library._register_effectful_op)",
        run=schemas.void_pure,
    ),
    Rule(
        id="undeclared-write",
        severity=ERROR,
        title="a kernel writes an argument that the schema declares as read only",
        why="torch.compile reorders, reuses and removes what it believes is not written: results "
        "are silently wrong.",
        fix="annotate the argument: Tensor(a!) x",
        run=writes.find_undeclared_writes,
    ),
    Rule(
        id="mutable-reference",
        severity=WARNING,
        title="a kernel takes an argument by Tensor&, which the schema declares as read only",
        why="Among const Tensor& it says that the argument is written.",
        fix="annotate the argument: Tensor(a!) x; or take it by const Tensor&",
        run=writes.mutable_reference,
    ),
    Rule(
        id="over-declared",
        severity=WARNING,
        title="an argument is declared as written, but only read",
        why="Functionalization clones it at every call, and compiled graphs lose their order.",
        fix="remove the annotation",
        run=writes.find_over_declared,
    ),
    Rule(
        id="all-written",
        severity=WARNING,
        title="all tensors of an operator are declared as written",
        why="An operator that reads nothing is rare. Each annotation costs a clone in compiled "
        "programs.",
        fix="annotate only what the kernel writes",
        run=schemas.find_all_written,
    ),
    Rule(
        id="returned-argument",
        severity=ERROR,
        title="a kernel returns one of its arguments",
        why="The schema promises a new tensor. Autograd, torch.compile and opcheck rely on that.",
        fix="return a new tensor, or nothing if the argument is written in place",
        run=writes.find_returned_arguments,
    ),
    Rule(
        id="returned-result",
        severity=ERROR,
        title="a result has the name of a written argument, and no alias annotation",
        why="Is it the argument, torch.compile takes it for a new tensor; if not, the name lies.",
        fix="return nothing for what is written in place",
        run=writes.find_returned_results,
    ),
    Rule(
        id="frozen-size",
        severity=ERROR,
        title="a Meta reads sizes as numbers",
        why="In C++ size() and sizes() raise for symbolic shapes; in Python int() and item() make "
        "a program compile again for every size.",
        fix="use sym_size, sym_sizes, sym_numel and at::empty_symint in C++; in Python compute "
        "with x.shape[i] as it is",
        run=metas.find_frozen_sizes,
    ),
    Rule(
        id="hard-coded-size",
        severity=ERROR,
        title="a Meta has a constant in place of an argument of the operator",
        why="The shape is right for one value of the argument only.",
        fix="give the argument to the function that computes the shape",
        run=metas.find_hard_coded_sizes,
    ),
    Rule(
        id="meta-arguments",
        severity=ERROR,
        title="a Python kernel or Meta does not take what the schema has",
        why="The dispatcher calls it with the schema's arguments: TypeError, or values in the "
        "wrong place.",
        fix="give it the schema's arguments in the schema's order",
        run=metas.kernel_arguments,
    ),
    Rule(
        id="meta-defaults",
        severity=WARNING,
        title="a Python kernel or Meta has other defaults than the schema",
        why="The dispatcher leaves out arguments that equal their default in the schema, so the "
        "function computes with its own default, or raises TypeError if it has none.",
        fix="give the parameter the schema's default",
        run=metas.kernel_defaults,
    ),
    Rule(
        id="converter-arguments",
        severity=ERROR,
        title="a converter does not take what the schema has",
        why="Graphs that use the argument fail in TorchAir, or the value lands in the wrong place.",
        fix="give the converter the schema's arguments in the schema's order, and meta_outputs",
        run=converters.converter_arguments,
    ),
    Rule(
        id="converter-defaults",
        severity=WARNING,
        title="a converter has other defaults than the schema",
        why="A graph leaves out arguments that equal their default, so eager and graph differ.",
        fix="give the parameter the schema's default",
        run=converters.converter_defaults,
    ),
    Rule(
        id="converter-extra",
        severity=WARNING,
        title="a converter has a parameter that no argument of the schema is for",
        why="No graph ever gives it: an argument was renamed or removed, or the converter is for "
        "another version of the operator.",
        fix="remove the parameter, or add the argument to the schema",
        run=converters.converter_extra,
    ),
    Rule(
        id="converter-unused",
        severity=WARNING,
        title="a converter takes an argument and drops it",
        why="The GE node computes with its own default, whatever the caller asked for.",
        fix="pass it on to the GE node as input or attribute, or refuse values other than the "
        "default",
        run=converters.converter_unused,
    ),
    Rule(
        id="stale-converter",
        severity=ERROR,
        title="a converter is registered for a name that nothing defines",
        why="Importing the converter fails, or it is never used.",
        fix="register it for the operator's name",
        run=registration.find_stale_converters,
    ),
    Rule(
        id="double-for-float",
        severity=ERROR,
        title="a C++ double is given to an aclnn function that takes float",
        why="EXEC_NPU_CMD passes the value with the type that it has in C++: the function reads "
        "half of a double.",
        fix="static_cast<float>(value) into a local variable, and pass that",
        run=writes.double_for_float,
    ),
)

# Faults of the suppressions themselves.
SUPPRESSION_RULES = (
    Rule(
        id="suppression",
        severity=WARNING,
        title="a suppression without a rule, without a reason, or for nothing",
        why="Nobody will know later why the finding was silenced.",
        fix="write opwright-lint: ignore[RULE] reason, and remove it when nothing is found there",
        run=lambda _: (),
    ),
)
