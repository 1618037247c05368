"""How an author declares operators: a set, and a decorator for each operator's reference function.

An `OperatorSet` only collects while its module runs. Everything that uses it works on the frozen
`Declaration` that `freeze` returns.
"""

from __future__ import annotations

import dataclasses
import inspect
import keyword
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Literal, ParamSpec, TypedDict, TypeVar, Unpack, cast

from opwright.aclnn.prototype import Prototype
from opwright.aclnn.reg_op import parse_reg_op
from opwright.declare.backward import (
    Backward,
    BackwardCall,
    BackwardFunction,
    BackwardReference,
    Formula,
)
from opwright.declare.call import parse_call
from opwright.declare.errors import (
    DuplicateOperatorError,
    FieldError,
    ReservedNameError,
    UnknownNameError,
)
from opwright.declare.function_schema import function_schema
from opwright.declare.operator import Declaration, Deprecation, Operator, Source, Upstream
from opwright.declare.place import Place, caller
from opwright.declare.rules import Dims, ShapeFunction, read_dtypes
from opwright.declare.sample import Tolerance
from opwright.declare.schema import parse_schema, split
from opwright.errors import nearest_first

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from opwright.declare.call import Call
    from opwright.declare.operator import Autocast, Layout, Vmap
    from opwright.declare.rules import DtypeRule, ShapeRule
    from opwright.declare.sample import ErrorSample, Sample
    from opwright.declare.schema import Schema
    from opwright.live.loading import Loaded

__all__ = ["DeclaredOperator", "OperatorFields", "OperatorSet"]

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Function = TypeVar("Function", bound="Callable[..., object]")

# Namespaces that PyTorch and torch_npu define themselves.
RESERVED_NAMESPACES = frozenset(
    {"aten", "prim", "prims", "prims_common", "quantized", "c10d", "c10d_functional", "inductor"}
    | {
        "npu",
        "npu_inference",
        "torchair",
        "higher_order",
        "_c10d_functional",
        "profiler",
        "debugprims",
    }
)
# Attributes of torch.ops.<namespace> itself.
RESERVED_NAMES = frozenset({"name", "load_library", "loaded_libraries", "import_module"})
# Words of C++ that are no words of Python, as far as they are likely names.
CPP_WORDS = frozenset(
    {"auto", "bool", "case", "catch", "char", "const", "delete", "default", "do", "double", "enum"}
    | {
        "explicit",
        "export",
        "extern",
        "float",
        "friend",
        "goto",
        "inline",
        "int",
        "long",
        "mutable",
    }
    | {"namespace", "new", "operator", "private", "protected", "public", "register", "requires"}
    | {"short", "signed", "sizeof", "static", "struct", "switch", "template", "this", "throw"}
    | {"typedef", "typename", "union", "unsigned", "using", "virtual", "void", "volatile"}
)


class OperatorFields(TypedDict, total=False):
    """The fields of an operator; `OperatorSet.operator` documents them."""

    mutates: Sequence[str]
    aclnn: str | Literal[False]
    prototype: str | Path | Prototype | Literal[False]
    requires: Sequence[str]
    shapes: Mapping[str, ShapeRule | str | Callable[..., Sequence[object]]]
    dtypes: str | Sequence[str] | Mapping[str, str | Sequence[str] | DtypeRule]
    layouts: Mapping[str, Layout]
    backward: str | Mapping[str, str] | Backward
    vmap: Vmap | Callable[..., object]
    autocast: Autocast
    samples: Sequence[Sample]
    errors: Sequence[ErrorSample]
    tolerances: Mapping[str, Tolerance | tuple[float, float]]
    deterministic: bool
    functional: str
    tags: Sequence[str]
    torch: str
    torch_npu: str
    deprecated: str | Deprecation
    upstream: Mapping[str, str] | Upstream


class DeclaredOperator(Generic[Parameters, Result]):
    """What the decorator leaves in place of the reference function.

    Calling it calls the operator, so the set must be loaded; `reference` is the function itself.
    """

    def __init__(
        self,
        owner: OperatorSet,
        name: str,
        reference: Callable[Parameters, Result],
    ) -> None:
        self.owner = owner
        self.name = name
        self.reference = reference
        self.__doc__ = reference.__doc__
        self.__name__ = name
        self.__wrapped__ = reference

    def __call__(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        """Call the operator through PyTorch's dispatcher."""
        loaded = self.owner.load()
        return cast("Result", loaded.overload(self.name)(*args, **kwargs))

    def backward(
        self,
        *,
        saves: Sequence[str] = (),
        inputs: Sequence[str] = (),
        outputs: Sequence[str] = (),
    ) -> Callable[[Function], Function]:
        """Declare the backward function.

        It is called with the gradient of each differentiable output (None if it is not needed),
        then the saved values; it returns one gradient for each differentiable input.

        Parameters
        ----------
        saves
            Names of arguments (their values at the call) and outputs that it needs.
        inputs
            The differentiable inputs in the order of what it returns; all floating-point tensor
            arguments if none are given.
        outputs
            The differentiable outputs; all floating-point outputs if none are given.
        """

        def declare(function: Function) -> Function:
            backward = BackwardFunction(function, tuple(saves), tuple(inputs), tuple(outputs))
            self.owner.change(self.name, backward=backward)
            return function

        return declare

    def vmap(self, function: Function) -> Function:
        """Declare the batching rule: `function(info, in_dims, *args) -> (outputs, out_dims)`.

        It is what torch.library.register_vmap takes.
        """
        self.owner.change(self.name, vmap=function)
        return function

    def __repr__(self) -> str:
        return f"<operator {self.owner.namespace}::{self.name}>"


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

    Examples
    --------
    >>> import opwright as ow
    >>> ops = ow.OperatorSet("my_ops", version="1.0")
    >>> @ops.operator("scale(Tensor x, float factor=1.0) -> Tensor", shapes={"out": ow.like("x")})
    ... def scale(x, factor=1.0):
    ...     return x * factor
    >>> ops.freeze().operators[0].name
    'scale'
    """

    def __init__(
        self,
        namespace: str,
        *,
        version: str = "0.1.0",
        torch: str | None = None,
        torch_npu: str | None = None,
    ) -> None:
        place = caller()
        check_word(namespace, "namespace", where=str(place))
        if namespace in RESERVED_NAMESPACES:
            raise ReservedNameError(
                where=f"{place}, namespace",
                got=repr(namespace),
                fix="choose a name that neither PyTorch nor torch_npu uses",
            )
        self.namespace = namespace
        self.version = version
        self.torch = torch
        self.torch_npu = torch_npu
        self.place = place
        self.declared: dict[str, Operator] = {}
        self.loaded: Loaded | None = None

    def operator(
        self, schema: str | None = None, **fields: Unpack[OperatorFields]
    ) -> Callable[[Callable[Parameters, Result]], DeclaredOperator[Parameters, Result]]:
        """Declare an operator by its reference function. Every field may be left out.

        Parameters
        ----------
        schema
            In PyTorch's grammar, without a namespace; or only a name (`"scale.scalar"`), or
            nothing: then it is derived from the function's annotations.
        mutates
            With annotations: the parameters that the operator writes.
        aclnn
            The aclnn function that runs it: its name, or a call of it
            (`"aclnnScale(x, float factor, out)"`), or False: the operator is made of others. By
            default `aclnn` and the operator's name in camel case, with inputs, attributes and
            outputs in the order of the schema.
        prototype
            REG_OP text, the path of a file with it, an operator type ("AddCustom"), or False: no
            graph mode. By default derived from the schema, with the name of the aclnn function.
        requires
            What has to hold, beyond the patterns: `"0 < k <= N"`, `"mode in ('sum', 'mean')"`.
        shapes
            By argument: a pattern (`"*batch, N, D"`). By output: the same text with expressions,
            `like("x")`, `broadcast("x", "y")`, `reduced("x", dim="dim")`, a function of the
            arguments, or `cpp(...)`. By default an output is like the first tensor argument.
        dtypes
            By argument: names of dtypes (`"float16 float32"`), or an argument that it equals. By
            output: a dtype, an argument, `promote("x", "y")`, `"dtype or x"`. A text or sequence
            alone is for all tensor arguments, which then have one dtype.
        layouts
            By tensor argument: "contiguous" where the aclnn function needs it (the adapter copies);
            "any" is the default.
        backward
            "reference" (the reference function is differentiated), a call of an operator
            (`"scale_backward(grad, x)"`), formulas by input as in derivatives.yaml, or the
            decorator `.backward` on what this returns.
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
            operator = self.read(schema, function, fields, place)
            self.add(operator)
            return DeclaredOperator(self, operator.name, function)

        return declare

    def declare(self, schema: str, **fields: Unpack[OperatorFields]) -> None:
        """Declare an operator that has no reference function; otherwise as `operator`."""
        place = caller()
        self.add(self.read(schema, None, fields, place))

    def freeze(self) -> Declaration:
        """Return what was declared so far."""
        path = Path(self.place.file)
        return Declaration(
            namespace=self.namespace,
            version=self.version,
            torch=self.torch,
            torch_npu=self.torch_npu,
            place=self.place,
            source=Source(
                name=path.name,
                text=read_source(path) if path.is_file() else "",
            ),
            operators=tuple(self.declared.values()),
        )

    def load(self) -> Loaded:
        """Register all operators in this process, or return the handle if they are.

        Returns
        -------
        loaded
            The handle; `unload()` or leaving its `with` block removes all registrations.
        """
        from opwright.live.loading import load  # noqa: PLC0415 - imports torch; declaring does not

        if self.loaded is None or self.loaded.is_removed:
            self.loaded = load(self.freeze())
        return self.loaded

    def add(self, operator: Operator) -> None:
        """Add an operator.

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

    def change(
        self,
        name: str,
        *,
        backward: Backward | None = None,
        vmap: Callable[..., object] | None = None,
    ) -> None:
        """Set what a decorator adds to an operator.

        Raises
        ------
        FieldError
            OPW-D009: it was declared already.
        """
        known = self.declared[name]
        taken = known.backward if backward else known.vmap != "loop"
        if taken:
            raise FieldError(
                where=f"{caller(2)}, {'backward' if backward else 'vmap'} of {name!r}",
                got="a second one",
                fix="declare it once",
            )
        self.declared[name] = dataclasses.replace(
            known, backward=backward or known.backward, vmap=vmap or known.vmap
        )

    def read(
        self,
        text: str | None,
        function: Callable[..., object] | None,
        fields: OperatorFields,
        place: Place,
    ) -> Operator:
        """Turn what the author wrote into data."""
        unknown = fields.keys() - OperatorFields.__annotations__.keys()
        if unknown:
            name = min(unknown)
            raise FieldError(
                where=str(place),
                got=f"a field {name!r}",
                allowed=nearest_first(name, OperatorFields.__annotations__),
            )
        schema = read_schema(text, function, fields.get("mutates", ()), where=str(place))
        where = f"{place}, operator {self.namespace}::{schema.full_name}"
        if "upstream" not in fields:  # what exists elsewhere has its names already
            check_word(schema.name, "operator", where=where)
            for argument in schema.arguments:
                check_word(argument.name, "argument", where=where)
        arguments = [argument.name for argument in schema.arguments]
        deprecated = fields.get("deprecated")
        return Operator(
            schema=schema,
            place=place,
            reference=function,
            doc=inspect.cleandoc(function.__doc__ or "") if function else "",
            call=read_call(fields.get("aclnn"), where=where),
            prototype=read_prototype(fields.get("prototype"), place, where=where),
            requires=tuple(fields.get("requires", ())),
            shapes={
                name: read_shape(rule, where=f"{where}, shape of {name!r}")
                for name, rule in fields.get("shapes", {}).items()
            },
            dtypes=dtype_rules(fields.get("dtypes", {}), schema, where=where),
            layouts=read_layouts(fields.get("layouts", {}), where=where),
            backward=read_backward(fields.get("backward"), arguments, where=where),
            vmap=fields.get("vmap", "loop"),
            autocast=fields.get("autocast"),
            samples=tuple(fields.get("samples", ())),
            errors=tuple(fields.get("errors", ())),
            tolerances={
                dtype: value if isinstance(value, Tolerance) else Tolerance(*value)
                for dtype, value in fields.get("tolerances", {}).items()
            },
            deterministic=fields.get("deterministic", True),
            functional=fields.get("functional"),
            tags=tuple(fields.get("tags", ())),
            torch=fields.get("torch"),
            torch_npu=fields.get("torch_npu"),
            deprecated=Deprecation(since=deprecated) if isinstance(deprecated, str) else deprecated,
            upstream=read_upstream(fields.get("upstream")),
        )


def read_source(path: Path) -> str:
    """Return the text of a Python file, in the encoding that it says it has."""
    with tokenize.open(path) as file:
        return file.read()


def check_word(name: str, kind: str, *, where: str) -> None:
    """Raise if a name is a word of Python or C++, or PyTorch's own."""
    if not name.isidentifier() or name.startswith("__"):
        raise ReservedNameError(
            where=f"{where}, {kind}", got=repr(name), fix="use letters, digits and _"
        )
    words = CPP_WORDS | (RESERVED_NAMES if kind == "operator" else set())
    if keyword.iskeyword(name) or name in words:
        raise ReservedNameError(
            where=f"{where}, {kind}",
            got=repr(name),
            fix=f"choose another name, for example {name}_",
        )


def read_schema(
    text: str | None,
    function: Callable[..., object] | None,
    mutates: Sequence[str],
    *,
    where: str,
) -> Schema:
    """Parse the schema, or derive it from the function."""
    if text is None or "(" not in text:
        if function is None:
            raise FieldError(
                where=where, got=f"schema {text!r}", fix="write the whole schema: NAME(...) -> ..."
            )
        name = text or function.__name__
        return function_schema(function, name=name, mutates=mutates, where=where)
    if mutates:
        raise FieldError(
            where=where,
            got="mutates beside a schema",
            fix="annotate what is written in the schema: Tensor(a!)",
        )
    return parse_schema(text, where=where)


def read_call(value: str | Literal[False] | None, *, where: str) -> Call | Literal[False] | None:
    """Read the field aclnn."""
    return parse_call(value, where=f"{where}, aclnn") if isinstance(value, str) else value


def read_prototype(
    value: str | Path | Prototype | Literal[False] | None, place: Place, *, where: str
) -> Prototype | str | Literal[False] | None:
    """Read the field prototype; a relative path is one beside the declaring file."""
    if value is None or value is False or isinstance(value, Prototype):
        return value
    if isinstance(value, str) and value.isidentifier():
        return value
    if isinstance(value, Path):
        path = Path(place.file).parent / value
        if not path.is_file():
            raise FieldError(
                where=f"{where}, prototype",
                got=f"no file {str(value)!r}",
                fix="name a file that exists",
            )
        found = parse_reg_op(path.read_text(encoding="utf-8"), where=str(value))
    else:
        found = parse_reg_op(value, where=f"{where}, prototype")
    if len(found) != 1:
        raise FieldError(
            where=f"{where}, prototype",
            got=f"{len(found)} prototypes",
            fix="give the REG_OP of one operator",
        )
    return found[0]


def read_shape(rule: ShapeRule | str | Callable[..., Sequence[object]], *, where: str) -> ShapeRule:
    """Read one entry of the field shapes."""
    if isinstance(rule, str):
        return Dims(rule)
    if isinstance(rule, list | tuple):
        raise FieldError(where=where, got=repr(rule), fix='write the sizes as a text: "N, 2 * D"')
    return ShapeFunction(rule) if callable(rule) else rule


def dtype_rules(
    value: str | Sequence[str] | Mapping[str, str | Sequence[str] | DtypeRule],
    schema: Schema,
    *,
    where: str,
) -> dict[str, DtypeRule]:
    """Read the field dtypes."""
    names = [argument.name for argument in schema.arguments]
    if not isinstance(value, str | list | tuple | set | frozenset):
        rules = cast("Mapping[str, str | Sequence[str] | DtypeRule]", value)
        return {
            name: read_dtypes(rule, names, where=f"{where}, dtype of {name!r}")
            for name, rule in rules.items()
        }
    tensors = [argument.name for argument in schema.arguments if argument.type.has_tensors]
    if not tensors:
        raise FieldError(
            where=f"{where}, dtypes", got=repr(value), fix="give the dtype of each output by name"
        )
    first, *rest = tensors
    same = {name: read_dtypes(first, names, where=where) for name in rest}
    return {first: read_dtypes(value, (), where=f"{where}, dtypes"), **same}


def read_upstream(value: Mapping[str, str] | Upstream | None) -> Upstream | None:
    """Read the field upstream."""
    if value is None or isinstance(value, Upstream):
        return value
    entries = tuple((key, text) for key, text in value.items() if key != "section")
    return Upstream(section=value.get("section", "custom"), entries=entries)


def read_layouts(value: Mapping[str, Layout], *, where: str) -> dict[str, Layout]:
    """Read the field layouts."""
    for name, layout in value.items():
        if layout not in {"any", "contiguous"}:
            raise FieldError(
                where=f"{where}, layout of {name!r}",
                got=repr(layout),
                allowed=nearest_first(layout, ("any", "contiguous")),
                fix="use one of them",
            )
    return dict(value)


def read_backward(
    value: str | Mapping[str, str] | Backward | None, arguments: Sequence[str], *, where: str
) -> Backward | None:
    """Read the field backward."""
    if value is None or isinstance(value, BackwardReference | BackwardFunction | BackwardCall):
        return value
    if value == "reference":
        return BackwardReference()
    if isinstance(value, str):
        return BackwardCall((Formula((), value),))
    formulas = []
    for names, expression in value.items():
        inputs = tuple(name.strip() for name in split(names))
        for name in inputs:
            if name not in arguments:
                raise UnknownNameError(
                    where=f"{where}, backward",
                    got=repr(name),
                    allowed=nearest_first(name, arguments),
                    fix="name the argument that the formula gives the gradient of",
                )
        formulas.append(Formula(inputs, expression))
    return BackwardCall(tuple(formulas))
