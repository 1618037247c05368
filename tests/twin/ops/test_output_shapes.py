"""Phase 1 refuses outputs of another shape than the operator produces, in float32 and in float16.

The calls are made by a process without torch_npu, in which the tables of documented operands hold
for all functions. Half precision is widened first, so that a body that compares shapes behind that
would leave the error to the task.
"""

from __future__ import annotations

import ctypes
import json
import sys
from dataclasses import dataclass, field

from opwright.aclnn.known import find_known_parameters
from opwright.aclnn.signature import CType
from tests.twin import acl, on_twin

FLOAT32, FLOAT16, BOOL = 0, 1, 12
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A call that phase 1 accepts, and shapes of single operands with which it does not.

    Parameters
    ----------
    shapes
        Of the tensors; those that are not named are null.
    values
        Of the other parameters.
    dtypes
        Of tensors whose dtype is not that of the call.
    """

    function: str
    shapes: dict[str, Shape | list[Shape]]
    wrong: dict[str, Shape]
    values: dict[str, object] = field(default_factory=dict)
    dtypes: dict[str, int] = field(default_factory=dict)
    halves: bool = True  # whether the function takes float16


X: Shape = (3, 4, 8)
ROWS: Shape = (3, 4, 1)
HALF: Shape = (3, 4, 4)
LONGER: Shape = (4, 4, 8)
STATISTICS = {"meanOut": FLOAT32, "rstdOut": FLOAT32, "mean": FLOAT32, "rstd": FLOAT32}
CLIPPED: dict[str, object] = {
    "dim": -1,
    "alpha": 1.0,
    "limit": 7.0,
    "bias": 1.0,
    "interleaved": True,
    "clampMode": 0,
}
CASES = [
    Case(
        function="aclnnAdaptiveAvgPool2dBackward",
        shapes={"gradOutput": (2, 3, 2, 2), "self": (2, 3, 4, 4), "out": (2, 3, 4, 4)},
        wrong={"out": (3, 3, 4, 4)},
    ),
    Case(
        function="aclnnAddLayerNorm",
        shapes={
            "x1": X,
            "x2": X,
            "gamma": (8,),
            "beta": (8,),
            "yOut": X,
            "meanOut": ROWS,
            "rstdOut": ROWS,
            "xOut": X,
        },
        values={"epsilon": 1e-5, "additionalOutput": True},
        dtypes=STATISTICS,
        wrong={"meanOut": (4, 4, 1), "rstdOut": (3, 1, 1), "yOut": LONGER, "xOut": LONGER},
    ),
    Case(
        function="aclnnAddLayerNormGrad",
        shapes={
            "dy": X,
            "x1": X,
            "x2": X,
            "rstd": ROWS,
            "mean": ROWS,
            "gamma": (8,),
            "dxOut": X,
            "dgammaOut": (8,),
            "dbetaOut": (8,),
        },
        dtypes={**STATISTICS, "dgammaOut": FLOAT32, "dbetaOut": FLOAT32},
        wrong={"dxOut": LONGER, "dgammaOut": (9,)},
    ),
    Case(
        function="aclnnAddRmsNorm",
        shapes={"x1": X, "x2": X, "gamma": (8,), "yOut": X, "rstdOut": ROWS, "xOut": X},
        values={"epsilon": 1e-5},
        dtypes=STATISTICS,
        wrong={"rstdOut": (4, 4, 1), "yOut": LONGER, "xOut": LONGER, "x2": LONGER},
    ),
    Case(
        function="aclnnRmsNorm",
        shapes={"x": X, "gamma": (4, 8), "yOut": X, "rstdOut": (3, 1, 1)},
        values={"epsilon": 1e-5},
        dtypes=STATISTICS,
        wrong={"rstdOut": ROWS, "yOut": LONGER},
    ),
    Case(
        function="aclnnDeepNorm",
        shapes={
            "x": X,
            "gx": X,
            "beta": (8,),
            "gamma": (8,),
            "meanOut": ROWS,
            "rstdOut": ROWS,
            "yOut": X,
        },
        values={"alpha": 0.3, "epsilon": 1e-5},
        dtypes=STATISTICS,
        wrong={"meanOut": (4, 4, 1), "rstdOut": (3, 1, 1), "yOut": LONGER},
    ),
    Case(
        function="aclnnLayerNormBackward",
        shapes={
            "gradOut": X,
            "input": X,
            "mean": ROWS,
            "rstd": ROWS,
            "weightOptional": (8,),
            "gradInputOut": X,
            "gradWeightOut": (8,),
            "gradBiasOut": (8,),
        },
        values={"normalizedShape": [8], "outputMask": [True, True, True]},
        dtypes=STATISTICS,
        wrong={"gradInputOut": LONGER, "gradWeightOut": (9,), "gradBiasOut": (1, 8)},
    ),
    Case(
        function="aclnnClippedSwiglu",
        shapes={"x": X, "out": HALF},
        values=CLIPPED,
        wrong={"out": (4, 4, 4)},
    ),
    Case(
        function="aclnnClippedSwigluV2",
        shapes={"x": X, "out": HALF},
        values=CLIPPED,
        wrong={"out": (4, 4, 4)},
    ),
    Case(
        function="aclnnEqual",
        shapes={"self": X, "other": X, "out": (1,)},
        dtypes={"out": BOOL},
        wrong={"out": (2,)},
    ),
    Case(
        function="aclnnGeGluV3",
        shapes={"self": X, "out": (3, 2, 8), "outGelu": (3, 2, 8)},
        values={"dim": 1, "approximate": 1, "activateLeft": True},
        wrong={"out": (4, 2, 8), "outGelu": HALF},
    ),
    Case(
        function="aclnnGeluMul",
        shapes={"input": X, "out": HALF},
        values={"approximateOptional": "none"},
        wrong={"out": (4, 4, 4)},
    ),
    Case(
        function="aclnnSwiGlu",
        shapes={"x": X, "out": HALF},
        values={"dim": -1},
        wrong={"out": (4, 4, 4)},
    ),
    Case(
        function="aclnnSituGlu",
        shapes={"x": X, "out": HALF},
        values={"dim": -1, "beta": 1.0, "linearBeta": 0.0, "activateLeft": True},
        wrong={"out": (4, 4, 4)},
    ),
    Case(
        function="aclnnGluBackward",
        shapes={"gradOut": HALF, "self": X, "out": X},
        values={"dim": -1},
        wrong={"gradOut": (4, 4, 4), "out": LONGER},
    ),
    Case(
        function="aclnnGroupNorm",
        shapes={
            "self": (2, 4, 3),
            "gamma": (4,),
            "beta": (4,),
            "out": (2, 4, 3),
            "meanOut": (2, 2),
            "rstdOut": (2, 2),
        },
        values={"N": 2, "C": 4, "HxW": 3, "group": 2, "eps": 1e-5},
        wrong={"meanOut": (3, 2), "rstdOut": (2, 4), "out": (3, 4, 3)},
    ),
    Case(
        function="aclnnGroupNormSwish",
        shapes={
            "x": (2, 4, 3),
            "gamma": (4,),
            "beta": (4,),
            "yOut": (2, 4, 3),
            "meanOut": (2, 2),
            "rstdOut": (2, 2),
        },
        values={
            "numGroups": 2,
            "dataFormatOptional": "NCHW",
            "eps": 1e-5,
            "activateSwish": True,
            "swishScale": 1.0,
        },
        wrong={"meanOut": (3, 2), "rstdOut": (2, 4), "yOut": (3, 4, 3)},
    ),
    Case(
        function="aclnnLogSoftmaxBackward",
        shapes={"gradOutput": X, "output": X, "out": X},
        values={"dim": -1},
        wrong={"output": LONGER, "out": LONGER},
    ),
    Case(
        function="aclnnLogdet",
        shapes={"self": (3, 2, 2), "out": (3,)},
        wrong={"out": (4,)},
        halves=False,
    ),
    Case(
        function="aclnnMaxPool",
        shapes={"self": (1, 2, 6, 6), "out": (1, 2, 3, 3)},
        values={
            "kernelShape": [2, 2],
            "strides": [2, 2],
            "autoPad": 0,
            "pads": [0, 0, 0, 0],
            "dilations": [1, 1, 1, 1],
            "ceilMode": 0,
        },
        wrong={"out": (2, 2, 3, 3)},
    ),
    Case(
        function="aclnnMaxPool",
        shapes={"self": (1, 2, 6, 6), "out": (1, 2, 4, 3)},
        values={
            "kernelShape": [2],
            "strides": [2],
            "autoPad": 0,
            "pads": [1, 0, 0, 0],
            "dilations": [1, 1, 1, 1],
            "ceilMode": 1,
        },
        wrong={"out": (1, 2, 3, 4)},
    ),
    Case(
        function="aclnnMinN",
        shapes={"tensors": [(3, 1), (1, 4)], "out": (3, 4)},
        wrong={"out": (4, 4)},
    ),
    Case(
        function="aclnnScaledMaskedSoftmaxBackward",
        shapes={
            "gradOutput": (2, 3, 4, 4),
            "y": (2, 3, 4, 4),
            "mask": (2, 1, 4, 4),
            "out": (2, 3, 4, 4),
        },
        values={"scale": 1.0, "fixTriuMask": False},
        dtypes={"mask": BOOL},
        wrong={"out": (3, 3, 4, 4)},
    ),
]


def array_of(
    kind: str, values: ctypes.Array[ctypes.c_int64] | ctypes.Array[ctypes.c_bool]
) -> ctypes.c_void_p:
    """Make an aclIntArray or aclBoolArray."""
    create = acl.nnopbase[f"aclCreate{kind}Array"]
    create.restype = ctypes.c_void_p
    return ctypes.c_void_p(create(values, ctypes.c_uint64(len(values))))


def attribute(ctype: CType, value: object) -> object:
    """Return what phase 1 gets for a parameter that is no tensor."""
    match ctype, value:
        case CType.INT_ARRAY, list():
            return array_of("Int", (ctypes.c_int64 * len(value))(*value))
        case CType.BOOL_ARRAY, list():
            return array_of("Bool", (ctypes.c_bool * len(value))(*value))
        case CType.TEXT, str():
            return ctypes.c_char_p(value.encode())
        case CType.DOUBLE, float():
            return ctypes.c_double(value)
        case CType.BOOL, bool():
            return ctypes.c_bool(value)
        case CType.INT64, int():
            return ctypes.c_int64(value)
    raise AssertionError((ctype, value))


def status_of(case: Case, memory: int, dtype: int, **other: Shape) -> int:
    """Call phase 1 with other shapes of some operands."""
    parameters = find_known_parameters(case.function)
    assert parameters is not None
    shapes = case.shapes | other
    assert shapes.keys() <= {each.name for each in parameters}
    arguments: list[object] = []
    for each in parameters:
        if not each.ctype.is_tensor:
            arguments.append(attribute(each.ctype, case.values[each.name]))
            continue
        match shapes.get(each.name):
            case None:
                arguments.append(ctypes.c_void_p())
            case tuple(shape):
                own = case.dtypes.get(each.name, dtype)
                arguments.append(acl.tensor(memory, shape, dtype=own))
            case list(several):
                tensors = [acl.tensor(memory, shape, dtype=dtype) for shape in several]
                create = acl.nnopbase.aclCreateTensorList
                create.restype = ctypes.c_void_p
                handles = (ctypes.c_void_p * len(tensors))(*(tensor.value for tensor in tensors))
                arguments.append(ctypes.c_void_p(create(handles, ctypes.c_uint64(len(tensors)))))
    return acl.prepare(case.function, *arguments).status


def print_answers() -> None:
    """Print what phase 1 answers to each call, as JSON."""
    assert acl.ascendcl.aclInit(None) == 0
    assert acl.ascendcl.aclrtSetDevice(0) == 0
    memory = acl.malloc(1 << 16)
    answers = []
    for case in CASES:
        for dtype in (FLOAT32, FLOAT16) if case.halves else (FLOAT32,):
            right = status_of(case, memory, dtype)
            answers.append((f"{case.function} {dtype}", right, "" if right == 0 else acl.message()))
            for operand, shape in case.wrong.items():
                status = status_of(case, memory, dtype, **{operand: shape})
                answers.append((f"{case.function} {dtype} {operand}", status, acl.message()))
    sys.stdout.write(json.dumps(answers))


def test_an_output_of_another_shape_is_refused_at_the_call() -> None:
    script = f"import torch\nfrom {__name__} import print_answers\nprint_answers()"
    command = ("-m", "opwright", "run", "--", sys.executable, "-c", script)
    result = on_twin.python(*command, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert result.returncode == 0, result.stderr
    answers: list[tuple[str, int, str]] = json.loads(result.stdout)
    assert len(answers) > 100
    wrong = []
    for call, status, message in answers:
        _, _, operand = (*call.split(), "")[:3]
        expected = acl.INVALID_PARAMETER if operand else 0
        if status != expected or (operand and f"{operand}' has shape" not in message):
            wrong.append((call, status, message))
    assert wrong == []
