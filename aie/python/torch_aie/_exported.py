"""ir="dynamo": modules by way of torch.export, with engines inside."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import torch
from torch.export.graph_signature import ConstantArgument, InputKind, TensorArgument

from torch_aie._aten_graph import script_module
from torch_aie._compile import compiled
from torch_aie._enums import to_torch_dtype
from torch_aie._input import Input
from torch_aie._internals import pytree
from torch_aie._options import DEFAULTS, profiles_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["CompiledProgram", "compile_module", "expect_options", "script_of"]

# Sizes 0 and 1 have a meaning of their own in torch.export: examples of other sizes stand for all.
_LEAST_EXAMPLE = 2


class CompiledProgram(torch.nn.Module):
    """An exported program on engines: the calling convention of the module it was exported from.

    It is saved with torch.save, and loaded with torch.load(..., weights_only=False).
    """

    def __init__(
        self, script: torch.jit.ScriptModule, program: torch.export.ExportedProgram
    ) -> None:
        super().__init__()
        self.script = script
        signature = program.graph_signature
        self._is_tensor = [
            isinstance(spec.arg, TensorArgument)
            for spec in signature.input_specs
            if spec.kind == InputKind.USER_INPUT
        ]
        # Whether an output is no tensor, and its value then.
        self._outputs = [
            (isinstance(spec.arg, ConstantArgument), getattr(spec.arg, "value", None))
            for spec in signature.output_specs
        ]
        self._in_spec = program.call_spec.in_spec
        self._out_spec = program.call_spec.out_spec

    def forward(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as the exported module
        """Run the program; the arguments are those it was exported with."""
        given, spec = pytree.tree_flatten((args, kwargs))
        if spec != self._in_spec:
            msg = f"arguments: got {spec}, allowed is {self._in_spec}: as they were exported"
            raise TypeError(msg)
        tensors = [
            value for value, is_tensor in zip(given, self._is_tensor, strict=True) if is_tensor
        ]
        results = iter(self.script(*tensors))
        flat = [value if constant else next(results) for constant, value in self._outputs]
        return pytree.tree_unflatten(flat, self._out_spec)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        file = io.BytesIO()
        torch.jit.save(self.script, file)
        modules = dict(state["_modules"])
        modules["script"] = file.getvalue()
        return {
            **state,
            "_modules": modules,
            "_in_spec": pytree.treespec_dumps(self._in_spec),
            "_out_spec": pytree.treespec_dumps(self._out_spec),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        state["_in_spec"] = pytree.treespec_loads(state["_in_spec"])
        state["_out_spec"] = pytree.treespec_loads(state["_out_spec"])
        script = torch.jit.load(io.BytesIO(state["_modules"]["script"]))  # type: ignore[no-untyped-call]  # torch's
        state["_modules"] = {**state["_modules"], "script": script}
        super().__setstate__(state)  # type: ignore[no-untyped-call]  # torch's


def compile_module(
    module: object, inputs: Sequence[Any] | None, options: Mapping[str, object]
) -> CompiledProgram:
    """Compile what torch.export takes; the options are checked."""
    program = program_of(module, inputs, options)
    script, profiles = _script(program, inputs)
    return CompiledProgram(compiled(script, profiles, options), program)


def script_of(
    module: object, inputs: Sequence[Any] | None, options: Mapping[str, object]
) -> tuple[torch.jit.ScriptModule, list[list[Input]]]:
    """Return the module as TorchScript, with the profiles of its inputs."""
    return _script(program_of(module, inputs, options), inputs)


def program_of(
    module: object, inputs: Sequence[Any] | None, options: Mapping[str, object]
) -> torch.export.ExportedProgram:
    """Export the module, or take it as it is."""
    expect_options(options)
    if isinstance(module, torch.export.ExportedProgram):
        return module
    if not isinstance(module, torch.nn.Module) or isinstance(module, torch.jit.ScriptModule):
        msg = (
            f"module: got {type(module).__name__}, allowed for dynamo are torch.nn.Module,"
            " torch.fx.GraphModule and torch.export.ExportedProgram"
        )
        raise TypeError(msg)
    (profile,) = _one(profiles_of(inputs))
    examples = tuple(_example(given, _device_of(module)) for given in profile)
    shapes = tuple(_dynamic(given) for given in profile)
    dynamic = shapes if any(shapes) else None
    with torch.no_grad():
        return torch.export.export(module, examples, dynamic_shapes=dynamic)


def expect_options(options: Mapping[str, object]) -> None:
    """Raise ValueError for options that exported programs do not have."""
    for name in ("optimization_level", "torch_executed_modules"):
        if options[name]:
            msg = (
                f"{name}: got {options[name]!r}, allowed for dynamo and torch_compile is"
                f" {DEFAULTS[name]!r}"
            )
            raise ValueError(msg)


def _script(
    program: torch.export.ExportedProgram, inputs: Sequence[Any] | None
) -> tuple[torch.jit.ScriptModule, list[list[Input]]]:
    own = _inputs_of(program)
    profiles = _one(profiles_of(inputs)) if inputs is not None else [own]
    if len(profiles[0]) != len(own):
        msg = f"inputs: got {len(profiles[0])}, but the program takes {len(own)} tensors"
        raise ValueError(msg)
    return script_module(program), profiles


def _one(profiles: list[list[Input]]) -> list[list[Input]]:
    if len(profiles) != 1:
        msg = f"inputs: got {len(profiles)} gears, allowed for dynamo is one list of inputs"
        raise ValueError(msg)
    return profiles


def _inputs_of(program: torch.export.ExportedProgram) -> list[Input]:
    """Return what the program was exported for; sizes that vary have the exported range."""
    names = set(program.graph_signature.user_inputs)
    found = []
    for node in program.graph_module.graph.nodes:
        value = node.meta.get("val")
        if node.op != "placeholder" or node.name not in names:
            continue
        if isinstance(value, torch.Tensor):
            sizes = [_range(size, program) for size in value.shape]
            least, most = [size[0] for size in sizes], [size[1] for size in sizes]
            found.append(Input(min_shape=least, max_shape=most, dtype=value.dtype))
    return found


def _range(size: int | torch.SymInt, program: torch.export.ExportedProgram) -> tuple[int, int]:
    if isinstance(size, int):
        return size, size
    allowed = program.range_constraints[size.node.expr]
    if not allowed.upper.is_Integer:  # unbounded
        return -1, -1
    return int(allowed.lower), int(allowed.upper)


def _device_of(module: torch.nn.Module) -> torch.device:
    tensors = [*module.parameters(), *module.buffers()]
    return tensors[0].device if tensors else torch.device("cpu")


def _example(given: Input, device: torch.device) -> torch.Tensor:
    sizes = [
        _example_size(least, most)
        for least, most in zip(given.min_shape, given.max_shape, strict=True)
    ]
    return torch.zeros(sizes, dtype=to_torch_dtype(given.dtype), device=device)


def _example_size(least: int, most: int) -> int:
    if least == most != -1:
        return least
    example = max(least, _LEAST_EXAMPLE)
    return example if most == -1 else min(example, most)


def _dynamic(given: Input) -> dict[int, Any]:
    """Return the dimensions that vary; torch.export finds which of them are equal."""
    return {
        dimension: torch.export.Dim.AUTO
        if least == -1
        else torch.export.Dim.AUTO(min=least, max=most)
        for dimension, (least, most) in enumerate(
            zip(given.min_shape, given.max_shape, strict=True)
        )
        if least != most or least == -1
    }
