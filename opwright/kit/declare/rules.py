"""Rules as an author writes them: shapes, dtypes and layouts of arguments and outputs.

A text is a list of sizes between commas. In the shape of a tensor argument a name stands for the
axis at its place and `*name` for any number of axes; in the shape of an output, sizes are
expressions over these names, int arguments and `x.shape[i]`, `x.ndim`, `len(list)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from opwright.kit.declare.dtypes import DTYPES
from opwright.kit.declare.errors import DtypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = [
    "BroadcastOf",
    "Cpp",
    "Dims",
    "DtypeArgument",
    "DtypeRule",
    "DtypeSet",
    "EachOf",
    "Like",
    "Promoted",
    "ReducedOf",
    "SameDtype",
    "ShapeFunction",
    "ShapeRule",
    "broadcast",
    "cpp",
    "dtype_source",
    "each",
    "like",
    "promote",
    "read_dtypes",
    "reduced",
]


@dataclass(frozen=True, slots=True)
class Dims:
    """Sizes between commas; the empty text is the shape of a 0-d tensor."""

    text: str


@dataclass(frozen=True, slots=True)
class Like:
    """The shape of a tensor argument, and its dtype where no other rule gives one."""

    tensor: str


@dataclass(frozen=True, slots=True)
class BroadcastOf:
    """The shape that tensor arguments have together by PyTorch's broadcasting."""

    tensors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReducedOf:
    """A tensor's shape after a reduction; see `reduced`."""

    tensor: str
    dim: str | None
    keepdim: str | None


@dataclass(frozen=True, slots=True)
class EachOf:
    """The shapes of a list of tensors: how many there are, and the shape of each; see `each`."""

    count: str
    shape: Dims | Like | BroadcastOf | ReducedOf


@dataclass(frozen=True, slots=True)
class Cpp:
    """A C++ expression, for the built tier and for op-plugin's YAML only."""

    text: str


@dataclass(frozen=True, slots=True)
class ShapeFunction:
    """A Python function from the operator's arguments to the sizes of one output.

    It is called with the operator's arguments by name; of a tensor it may use `shape`, `ndim` and
    `size(i)`. It must compute sizes without branching on them, so that it can be lowered to C++ and
    works with symbolic sizes.
    """

    function: Callable[..., Sequence[object]]


ShapeRule: TypeAlias = Dims | Like | BroadcastOf | ReducedOf | EachOf | ShapeFunction | Cpp


def like(tensor: str) -> Like:
    """Give an output the shape, and the dtype unless another one is given, of a tensor argument.

    Parameters
    ----------
    tensor
        Its name; `"xs[0]"` is the first tensor of the list `xs`. A list of results (`Tensor[]`) is
        like a list: as many tensors, each like the one at its place.

    Examples
    --------
    >>> like("x")
    Like(tensor='x')
    """
    return Like(tensor)


def broadcast(*tensors: str) -> BroadcastOf:
    """Give an output the shape that tensor arguments have together after broadcasting.

    Examples
    --------
    >>> broadcast("x", "y")  # [4, 1] and [3]: [4, 3]
    BroadcastOf(tensors=('x', 'y'))
    """
    return BroadcastOf(tensors)


def reduced(tensor: str, *, dim: str | None = None, keepdim: str | None = None) -> ReducedOf:
    """Give an output the shape of a tensor argument after a reduction.

    Parameters
    ----------
    dim
        The int or int-list argument with the axes to reduce; without one, or where it is None or
        empty, all axes are.
    keepdim
        The bool argument that says whether reduced axes stay with size 1.

    Examples
    --------
    >>> reduced("x", dim="dim", keepdim="keepdim")  # of "sum(Tensor x, int[] dim, bool keepdim)"
    ReducedOf(tensor='x', dim='dim', keepdim='keepdim')
    """
    return ReducedOf(tensor, dim, keepdim)


def each(count: str, shape: str | Dims | Like | BroadcastOf | ReducedOf) -> EachOf:
    """Give a list of results (`Tensor[]`) its number of tensors, and each of these its shape.

    Parameters
    ----------
    count
        A size, for example `"n"` or `"len(xs)"`.
    shape
        The shape of each. In brackets, `i` is its place in the list: `"sizes[i], D"`,
        `like("xs[i]")`.

    Examples
    --------
    >>> each("len(sizes)", "sizes[i], D")
    EachOf(count='len(sizes)', shape=Dims(text='sizes[i], D'))
    """
    return EachOf(count, Dims(shape) if isinstance(shape, str) else shape)


def cpp(text: str) -> Cpp:
    """Give a rule as a C++ expression, which only the built tier can use.

    Parameters
    ----------
    text
        For a shape, an expression that converts to c10::SymDimVector; for a dtype, to
        at::ScalarType. The operator's arguments are in scope.

    Examples
    --------
    >>> cpp("c10::SymDimVector{x.sym_size(0), 2 * x.sym_size(1)}").text
    'c10::SymDimVector{x.sym_size(0), 2 * x.sym_size(1)}'
    """
    return Cpp(text)


@dataclass(frozen=True, slots=True)
class DtypeSet:
    """The dtypes that an argument may have; for an output, the one that it has."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SameDtype:
    """The dtype of a tensor argument; of a list, that of its first tensor.

    Parameters
    ----------
    each
        Whether each tensor of a list of results has that of the tensor at its place.
    """

    tensor: str
    each: bool = False


@dataclass(frozen=True, slots=True)
class Promoted:
    """The dtype that tensor arguments have together by PyTorch's type promotion."""

    tensors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DtypeArgument:
    """The value of a ScalarType argument, and where it is None what another rule gives.

    Parameters
    ----------
    otherwise
        None if the argument is never None.
    """

    name: str
    otherwise: DtypeRule | None = None


DtypeRule: TypeAlias = DtypeSet | SameDtype | Promoted | DtypeArgument | Cpp


def dtype_source(dtypes: Mapping[str, DtypeRule], name: str) -> str:
    """Return the argument whose dtype an argument has, itself if its rule names no other."""
    seen = {name}
    while isinstance(rule := dtypes.get(name), SameDtype) and rule.tensor not in seen:
        name = rule.tensor
        seen.add(name)
    return name


def promote(*tensors: str) -> Promoted:
    """Give an output the dtype that tensor arguments have together by type promotion.

    Examples
    --------
    >>> promote("x", "y")  # float16 and float32: float32
    Promoted(tensors=('x', 'y'))
    """
    return Promoted(tensors)


def read_dtypes(
    value: str | Sequence[str] | DtypeRule,
    names: Sequence[str],
    *,
    where: str,
    given: Sequence[str] = (),
) -> DtypeRule:
    """Read a dtype rule.

    Parameters
    ----------
    value
        Names of dtypes (`"float16 float32"` or a sequence), the name of an argument, `"xs[0]"` for
        the first tensor of a list and `"xs[i]"` for the one at the place of a result, or
        `"argument or rule"` for a ScalarType argument that may be None.
    names
        The operator's arguments.
    given
        Those of type ScalarType.

    Raises
    ------
    DtypeError
        OPW-D005.

    Examples
    --------
    >>> read_dtypes("float16 float32", ["x"], where="example")
    DtypeSet(names=('float16', 'float32'))
    >>> read_dtypes("dtype or x", ["x", "dtype"], where="example")
    DtypeArgument(name='dtype', otherwise=SameDtype(tensor='x', each=False))
    """
    if isinstance(value, DtypeSet | SameDtype | Promoted | DtypeArgument | Cpp):
        return value
    if isinstance(value, str) and " or " in value:
        name, _, rest = value.partition(" or ")
        otherwise = read_dtypes(rest.strip(), names, where=where, given=given)
        return DtypeArgument(name.strip(), otherwise)
    words = tuple(value.replace(",", " ").split()) if isinstance(value, str) else tuple(value)
    if len(words) == 1 and words[0] in names and words[0] not in DTYPES:
        return DtypeArgument(words[0]) if words[0] in given else SameDtype(words[0])
    if len(words) == 1 and words[0].endswith(("[0]", "[i]")) and strip_index(words[0]) in names:
        return SameDtype(strip_index(words[0]), each=words[0].endswith("[i]"))
    plain = tuple(word.removeprefix("torch.") for word in words)
    unknown = [word for word in plain if word not in DTYPES]
    if unknown:
        raise DtypeError(
            where=where,
            got=repr(unknown[0]),
            allowed=[*DTYPES, *names],
            near=unknown[0],
        )
    if not plain:
        raise DtypeError(
            where=where,
            got="an empty set",
            allowed=DTYPES,
            fix="name at least one dtype, or leave the rule out to allow all",
        )
    if len(set(plain)) < len(plain):
        raise DtypeError(
            where=where, got=f"{value!r}, which names a dtype twice", fix="name it once"
        )
    return DtypeSet(plain)


def strip_index(tensor: str) -> str:
    """Return the argument of a tensor, which may be an element of a list.

    >>> strip_index("x"), strip_index("xs[1]")
    ('x', 'xs')
    """
    return tensor.partition("[")[0]
