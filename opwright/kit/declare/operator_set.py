"""How an author declares operators: a set, and a decorator for each operator's reference function.

An `OperatorSet` only collects while its module runs. Everything that uses it works on the frozen
`Declaration` that `freeze` returns.
"""

from __future__ import annotations

import dataclasses
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from typing_extensions import Unpack

from opwright.kit.declare.declared_operator import DeclaredOperator
from opwright.kit.declare.errors import DuplicateOperatorError, FieldError
from opwright.kit.declare.fields import OperatorFields, read_operator
from opwright.kit.declare.operator import Declaration, Operator, Source
from opwright.kit.declare.place import caller
from opwright.kit.declare.reserved import check_namespace
from opwright.kit.declare.to_live import load_again, register_kernels

if TYPE_CHECKING:
    from collections.abc import Callable

    from opwright.kit.declare.backward import Backward
    from opwright.kit.declare.place import Place
    from opwright.kit.live.loading import Loaded

__all__ = ["OperatorSet"]

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class OperatorSet:
    """A namespace with operators.

    Parameters
    ----------
    namespace
        Where the operators are in `torch.ops`.
    version
        Version of the package that ships them.
    torch, torch_npu
        Version specifiers (`">=2.13,<2.14"`) of what they work with; the minor version of the build
        if none are given.
    existing
        True if the operators are another library's and work eagerly, as those of torch_npu
        (namespace `npu`): `load` adds what they lack in graphs, Meta and functionalization.

    Examples
    --------
    >>> import opwright as ow
    >>> ops = ow.OperatorSet("my_ops", version="1.0")
    >>> @ops.operator("rescale(Tensor x, float factor=1.0) -> Tensor", shapes={"out": ow.like("x")})
    ... def rescale(x, factor=1.0):
    ...     return x * factor
    >>> ops.freeze().operators[0].name
    'rescale'
    """

    def __init__(
        self,
        namespace: str,
        *,
        version: str = "0.1.0",
        torch: str | None = None,
        torch_npu: str | None = None,
        existing: bool = False,
    ) -> None:
        place = caller()
        if not existing:
            check_namespace(namespace, where=str(place))
        self.namespace = namespace
        self.version = version
        self.torch = torch
        self.torch_npu = torch_npu
        self.existing = existing
        self.place = place
        self.declared: dict[str, Operator] = {}
        self.loaded: Loaded | None = None
        self.changes = 0  # how often operators were added or changed, and when it was loaded
        self.loaded_changes = 0

    def operator(
        self, schema: str | None = None, **fields: Unpack[OperatorFields]
    ) -> Callable[[Callable[Parameters, Result]], DeclaredOperator[Parameters, Result]]:
        """Declare an operator by its reference function. Every field may be left out.

        Parameters
        ----------
        schema
            In PyTorch's grammar, without a namespace; or only a name (`"rescale.scalar"`), or
            nothing: then it is derived from the function's annotations.
        mutates
            With annotations: the parameters that the operator writes.
        aclnn
            The aclnn function that runs it: its name, or a call of it
            (`"aclnnRescale(x, float factor, out)"`), or False: the operator is made of others. By
            default `aclnn` and the operator's name in camel case, with inputs, attributes and
            outputs in the order of the schema.
        prototype
            REG_OP text, the path of a file with it, an operator type ("AddCustom"), or False: no
            graph mode. By default derived from the schema, with the name of the aclnn function.
        converter
            The function that adds the operator to a graph of GE, where the derived converter does
            not fit; or the decorator `.converter` on what this returns.
        requires
            What has to hold, beyond the patterns: `"0 < k <= N"`, `"-x.ndim <= dim < x.ndim"`,
            `"mode in ('sum', 'mean')"`.
        unspecified
            By output: when its values are open, because the kernel does not write it then:
            `{"mask": "not training"}`, or a comparison as in `requires`. Its shape and dtype stay
            as declared; `opwright check` and tests compare what it holds only in other calls.
        relations
            What must hold between calls, for `opwright check`: `"batch N"` (the elements along this
            axis do not know of each other), `"linear in x"`, `"padding of x along S behind
            lengths"`, `"padding of x where mask"` (or `where not mask`).
        shapes
            By argument: a pattern (`"*batch, N, D"`). By output: the same text with expressions,
            `like("x")`, `broadcast("x", "y")`, `reduced("x", dim="dim")`, a function of the
            arguments, or `cpp(...)`; "" is a 0-d tensor. Of a list of tensors (`Tensor[]`):
            `each("n", "N, D")`, or `like("xs")` for one like each of a list. By default an output
            is like the first tensor argument.
        dtypes
            By argument: names of dtypes (`"float16 float32"`), or an argument that it equals. By
            output: a dtype, an argument (one of type ScalarType is the dtype itself),
            `promote("x", "y")`, `"dtype or x"` where that may be None. A text or sequence alone
            is for all tensor arguments, which then have one dtype.
        layouts
            By tensor argument: "contiguous" where the aclnn function needs it (the adapter copies);
            "any" is the default.
        backward
            "reference" (the reference function is differentiated), a call of an operator
            (`"rescale_backward(grad, x)"`), formulas by input as in derivatives.yaml, which may
            call operators of the set and of torch (`{"x": "grad * cos(x)"}`), or the decorator
            `.backward` on what this returns.
        vmap
            "loop" (default), "batch first", or the decorator `.vmap`.
        autocast
            What floating-point tensor arguments become under autocast; nothing by default.
        samples, errors
            From `sample(...)` and `error(...)`.
        tolerances
            By dtype: (rtol, atol).
        deterministic
            False if two calls may differ in the last bits.
        cost_budget
            How much processor time of the calling thread an eager call on a tiny sample may take,
            in multiples of `torch.add` on two NPU tensors of one element, which `opwright check`
            measures beside it. No limit by default.
        functional
            Name of the functional twin of a mutating operator; by default `<name>_functional`.
        tags
            Names of torch.Tag.
        torch, torch_npu
            Version specifiers, where this operator needs others than the set.
        deprecated
            Since which version, or a `Deprecation`.
        upstream
            Of an operator that was read from another format: what that says and no field here
            does, by key, and under "section" its section.

        Returns
        -------
        decorator
            For the reference function, which gets the operator's arguments and returns its results;
            that of a mutating operator writes its arguments.

        Raises
        ------
        SchemaError, FunctionSchemaError, RuleError, DtypeError, CallError, FieldError
            OPW-D001 to OPW-D009, at the line of the declaration.
        """
        place = caller()

        def declare(
            function: Callable[Parameters, Result],
        ) -> DeclaredOperator[Parameters, Result]:
            operator = operator_of(self, schema, function, fields, place)
            self.add(operator)
            return DeclaredOperator(self, operator.name, function)

        return declare

    def declare(self, schema: str, **fields: Unpack[OperatorFields]) -> None:
        """Declare an operator that has no reference function.

        It runs where its aclnn function is, and not on the CPU. Otherwise as `operator`: the schema
        has to be a whole one, and the fields are those of `operator`.

        Raises
        ------
        SchemaError, RuleError, DtypeError, CallError, FieldError
            OPW-D001, OPW-D004 to OPW-D009, at the line of the declaration.
        """
        place = caller()
        self.add(operator_of(self, schema, None, fields, place))

    def freeze(self) -> Declaration:
        """Return what was declared so far, as data: what validation, emitters and `load` take."""
        path = Path(self.place.file)
        return Declaration(
            namespace=self.namespace,
            version=self.version,
            torch=self.torch,
            torch_npu=self.torch_npu,
            existing=self.existing,
            place=self.place,
            source=Source(
                name=path.name,
                text=read_source(path) if path.is_file() else "",
            ),
            operators=tuple(self.declared.values()),
        )

    def load(self) -> Loaded:
        """Register all operators in this process, or return the handle if they are.

        What was declared since is registered as well.

        Returns
        -------
        loaded
            The handle; `unload()` or leaving its `with` block removes all registrations.

        Raises
        ------
        InvalidDeclarationError
            OPW-D010, with all that validation finds.
        NamespaceTakenError, RegistrationError, CppRuleError
            OPW-L001 to OPW-L003. Nothing is registered then.

        Examples
        --------
        >>> with ops.load() as loaded:  # doctest: +SKIP
        ...     loaded.overload("rescale")(x, 2.0)
        """
        loaded = self.loaded
        if loaded is not None and self.loaded_changes == self.changes and not loaded.is_removed:
            return loaded
        return load_again(self)

    def __opwright_kernels__(self, has_function: Callable[[str], bool]) -> None:
        """Let references stand in for kernels: the set is in a file of kernels for the twin."""
        register_kernels(self, has_function)

    def add(self, operator: Operator) -> None:
        """Add an operator that is data already, as importers of other formats do.

        Raises
        ------
        DuplicateOperatorError
            OPW-D007.
        """
        known = self.declared.get(operator.name)
        if known is not None:
            raise DuplicateOperatorError(
                where=f"{operator.place}, operator {self.namespace}::{operator.name}",
                got=f"a declaration at {known.place}",
            )
        self.declared[operator.name] = operator
        self.changes += 1

    def change(
        self,
        name: str,
        *,
        backward: Backward | None = None,
        vmap: Callable[..., object] | None = None,
        converter: Callable[..., object] | None = None,
    ) -> None:
        """Set what a decorator adds to an operator: one of the three.

        Parameters
        ----------
        name
            Of a declared operator.
        backward, vmap, converter
            See the fields of `operator`.

        Raises
        ------
        FieldError
            OPW-D009: it was declared already.
        """
        known = self.declared[name]
        what = "backward" if backward else "vmap" if vmap else "converter"
        taken = {
            "backward": known.backward is not None,
            "vmap": known.vmap != "loop",
            "converter": known.converter is not None,
        }
        if taken[what]:
            raise FieldError(
                where=f"{caller(2)}, {what} of {name!r}",
                got="a second one",
                fix="declare it once",
            )
        self.declared[name] = dataclasses.replace(
            known,
            backward=backward or known.backward,
            vmap=vmap or known.vmap,
            converter=converter or known.converter,
        )
        self.changes += 1


def operator_of(
    ops: OperatorSet,
    schema: str | None,
    function: Callable[..., object] | None,
    fields: OperatorFields,
    place: Place,
) -> Operator:
    """Turn what an author wrote into data; the names of existing operators are as they are."""
    return read_operator(ops.namespace, schema, function, fields, place, is_existing=ops.existing)


def read_source(path: Path) -> str:
    """Return the text of a Python file, in the encoding that it says it has."""
    with tokenize.open(path) as file:
        return file.read()
