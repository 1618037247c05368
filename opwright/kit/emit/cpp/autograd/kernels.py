"""The autograd kernels: they run the operator, and record a node where a gradient is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.kit.declare.reserved import safe
from opwright.kit.derive.facts import SavedArgument, SavedOutput
from opwright.kit.emit.cpp.autograd.derivative import count_name
from opwright.kit.emit.cpp.layout import block, flow, message
from opwright.kit.emit.cpp.names import Locals
from opwright.kit.emit.cpp.operators import tensor_arguments
from opwright.kit.emit.cpp.types import declare, find_kept_type
from opwright.kit.expressions.errors import CppRuleError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opwright.kit.declare.schema import Argument
    from opwright.kit.derive.facts import BackwardArgument, Output
    from opwright.kit.emit.cpp.autograd.derivative import Derivative
    from opwright.kit.emit.cpp.operators import OperatorCode

__all__ = ["kernel", "refusal", "write_unimplemented"]


def autograd_function(code: OperatorCode, keys: str, body: Sequence[str]) -> list[str]:
    """Return the function of an autograd kernel.

    Parameters
    ----------
    keys
        What its parameter with the dispatch keys is called.
    """
    head = flow(
        f"{code.result} {code.name}_autograd(",
        [
            f"c10::DispatchKeySet {keys}",
            *(declare(a, where=code.where) for a in code.facts.schema.arguments),
        ],
        ") {",
        0,
    )
    return [*block(head, body), ""]


def kernel(code: Derivative) -> list[str]:
    """Return the autograd kernel."""
    operator = code.code
    names = Locals(operator.facts.schema)
    keys, below, graph = names.fresh("keys"), names.fresh("below"), names.fresh("node")
    redispatch = f"{operator.name}().redispatch("
    arguments = [below, *operator.arguments]
    watched = [safe(name) for name in code.watched]
    condition = flow(f"if (!needs_gradient({message(operator.qualified)}, ", watched, ")) {")
    returned = "return " if operator.result != "void" else ""
    early = flow(f"{returned}{redispatch}", arguments, ");")
    if not returned:
        early.append("return;")
    body = [
        f"const c10::DispatchKeySet {below} = {keys} & c10::after_autograd_keyset;",
        *block(condition, early),
        *(f"torch::autograd::check_inplace({safe(name)}, true);" for name in code.written),
        *refuse_views(code),
        f"const auto {graph} = new_node<{code.node}>();",
        *flow(
            f"{graph}->set_next_edges(torch::autograd::collect_next_edges(",
            [safe(name) for name in code.autograd.inputs],
            "));",
        ),
        *(line for value in code.saved for line in save_argument(code, value, graph)),
        *run_below(code, names, redispatch, arguments, graph),
    ]
    return autograd_function(operator, keys, body)


def refuse_views(code: Derivative) -> list[str]:
    """Return the statements that refuse views if there are several outputs: autograd cannot.

    The history of what a view shows is written with it, and that takes one output.
    """
    if len(code.autograd.outputs) == 1:
        return []
    lines: list[str] = []
    text = "an operator of several outputs cannot write into it, clone it before"
    for name in code.written:
        if code.argument(name).type.is_list:
            continue
        place = f": argument '{name}' is a view that needs a gradient; "
        lines += [
            f"TORCH_CHECK(!{safe(name)}.is_view(), {message(code.code.qualified)},",
            f"            {message(place)}",
            f"            {message(text)});",
        ]
    return lines


def save_argument(code: Derivative, value: BackwardArgument, graph: str) -> list[str]:
    """Return the statement that keeps the value of an argument; written ones are cloned before."""
    if not isinstance(value, SavedArgument):
        return []
    argument = code.argument(value.name)
    name, target = safe(value.name), f"{graph}->{code.saved[value]}"
    if code.is_list(value):
        if argument.type.optional:
            raise CppRuleError(
                where=f"{code.code.where}, backward",
                got=f"{value.name!r} of type {argument.type} as a saved value",
                fix="make it Tensor[] or Tensor?[]",
            )
        return [f"{target} = save({name});"]
    if code.is_tensor(value):
        kept = f"{name}.clone()" if argument.is_written else name
        return [f"{target} = torch::autograd::SavedVariable({kept}, false);"]
    return [f"{target} = {write_kept_value(argument, name)};"]


def write_kept_value(argument: Argument, name: str) -> str:
    """Return the value of an argument that is no tensor, in the form that is kept."""
    kept = find_kept_type(argument.type, where=name)
    if kept == "std::optional<std::string>":
        return f"{name}.has_value() ? {kept}(std::string(*{name})) : std::nullopt"
    if kept.startswith("std::vector"):
        return f"{name}.vec()"
    return f"std::string({name})" if kept == "std::string" else name


def run_below(
    code: Derivative, names: Locals, redispatch: str, arguments: Sequence[str], graph: str
) -> list[str]:
    """Return the statements that run the operator, record the graph and return the results."""
    operator = code.code
    guard = [f"const at::AutoDispatchBelowAutograd {names.fresh('guard')};"]
    if operator.result == "void":
        run = block(["{"], [*guard, *flow(redispatch, arguments, ");")])
        return [*run, *record(code, {}, names, graph)]
    results = names.fresh("results")
    call = flow(f"return {redispatch}", arguments, ");")
    places = result_places(operator, results)
    own = return_arguments(operator, places)
    hidden = [name for name in code.autograd.only_saved if code.output(name).argument is None]
    before: list[str] = []
    if hidden:
        inside = names.fresh("is_nested")
        outer = names.fresh("was_nested")
        before = [f"static thread_local bool {inside} = false;", f"const bool {outer} = {inside};"]
        guard.append(f"const Nested {names.fresh('nested')}({inside});")
        constants = [f"{places[name]} = {places[name]}.detach();" for name in hidden]
        own = [*block([f"if (!{outer}) {{"], constants), *own]
    run = block([f"auto {results} = [&] {{"], [*guard, *call], "}();")
    return [*before, *run, *record(code, places, names, graph), *own, f"return {results};"]


def result_places(operator: OperatorCode, results: str) -> dict[str, str]:
    """Return by output where it is among the results."""
    return {
        output.name: results if len(operator.returned) == 1 else f"std::get<{index}>({results})"
        for index, output in enumerate(operator.returned)
    }


def return_arguments(operator: OperatorCode, places: Mapping[str, str]) -> list[str]:
    """Return the statements that put arguments among the results, where these are arguments.

    In a transformation of torch.func what comes from below autograd is another tensor, without
    history.
    """
    return [
        f"{places[output.name]} = {safe(output.argument)};"
        for output in operator.returned
        if output.argument is not None and not operator.facts.argument(output.argument).type.is_list
    ]


def record(code: Derivative, places: Mapping[str, str], names: Locals, graph: str) -> list[str]:
    """Return the statements that make outputs part of the graph, and keep those that are saved."""
    lines: list[str] = []
    for name in code.autograd.outputs:
        output = code.output(name)
        if output.type.is_list:
            lines.append(
                f"{graph}->{count_name(name)} = {output_place(code, name, places)}.size();"
            )
        if output.argument is None and output.type.is_list:
            each = names.fresh("each")
            statement = f"torch::autograd::set_history(if_differentiable({each}), {graph});"
            lines += block([f"for (const at::Tensor& {each} : {places[name]}) {{"], [statement])
        elif output.argument is None:
            result = f"if_differentiable({places[name]})"
            lines.append(f"torch::autograd::set_history({result}, {graph});")
        else:
            lines += record_written(code, output.argument, graph)
    saved = {name: output_place(code, name, places) for name in code.autograd.outputs}
    for name in code.autograd.only_saved:
        # So a gradient that depends on it has a way to the node, which refuses.
        tensor = output_place(code, name, places)
        if code.output(name).argument is not None:
            # The caller's tensor gets no history: what is saved is another one of the same memory.
            alias = names.fresh(f"saved_{name}")
            lines.append(f"const at::Tensor {alias} = {tensor}.detach();")
            tensor = alias
        saved[name] = tensor
        lines.append(f"torch::autograd::set_history(if_differentiable({tensor}), {graph});")
    for value, member_name in code.saved.items():
        if isinstance(value, SavedOutput):
            tensor = saved[value.name]
            lines.append(
                f"{graph}->{member_name} = torch::autograd::SavedVariable({tensor}, true);"
            )
    return lines


def output_place(code: Derivative, name: str, places: Mapping[str, str]) -> str:
    """Return where an output is when the operator has run."""
    argument = code.output(name).argument
    return places[name] if argument is None else safe(argument)


def record_written(code: Derivative, name: str, graph: str) -> list[str]:
    """Return the statements that make a written argument part of the graph."""
    written = safe(name)
    statement = f"torch::autograd::rebase_history({written}, {graph});"
    if code.argument(name).type.is_list:
        return [statement]
    if len(code.autograd.outputs) == 1:
        return block([f"if (is_differentiable({written})) {{"], [statement])
    # For one tensor it takes the first gradient; for several, the place of each.
    written = f"variable_list{{if_differentiable({written})}}"
    return [f"torch::autograd::rebase_history({written}, {graph});"]


def refusal(code: OperatorCode) -> list[str]:
    """Return the autograd kernel of an out= operator, which refuses gradients as PyTorch's do."""
    keys = Locals(code.facts.schema).fresh("keys")
    tensors = [safe(name) for name in tensor_arguments(code.facts)]
    condition = flow(f"TORCH_CHECK(!needs_gradient({message(code.qualified)}, ", tensors, "),")
    text = message(
        ": arguments out= do not support gradients, but one of the arguments requires them"
    )
    redispatch = flow(
        f"{'return ' if code.result != 'void' else ''}{code.name}().redispatch(",
        [f"{keys} & c10::after_autograd_keyset", *code.arguments],
        ");",
    )
    body = [
        *condition,
        f"            {message(code.qualified)}",
        f"            {text});",
        *redispatch,
    ]
    return autograd_function(code, keys, body)


def record_new(output: Output, place: str, graph: str) -> list[str]:
    """Return the statements that note that the gradient of a new output is not implemented."""
    if output.type.is_list:
        inner = [f"record_new(tensor, {graph});"]
        return block([f"for (const at::Tensor& tensor : {place}) {{"], inner)
    return [f"record_new({place}, {graph});"]


def for_tensors(argument: Argument, statement: str) -> list[str]:
    """Return a statement for each tensor of an argument."""
    name = safe(argument.name)
    if argument.type.is_list:
        return block([f"for (const at::Tensor& tensor : {name}) {{"], [statement.format("tensor")])
    if argument.type.optional:
        return block([f"if ({name}.has_value()) {{"], [statement.format(f"*{name}")])
    return [statement.format(name)]


def write_unimplemented(code: OperatorCode) -> list[str]:
    """Return the autograd kernel of a mutating operator without backward.

    autogradNotImplementedFallback would skip ADInplaceOrView: writes were not counted.
    """
    names = Locals(code.facts.schema)
    keys, below, graph = names.fresh("keys"), names.fresh("below"), names.fresh("node")
    tensors = [safe(name) for name in tensor_arguments(code.facts)]
    mutated = code.facts.schema.mutated
    redispatch, arguments = f"{code.name}().redispatch(", [below, *code.arguments]
    returned = "return " if code.result != "void" else ""
    early = flow(f"{returned}{redispatch}", arguments, ");") + ([] if returned else ["return;"])
    guard = f"const at::AutoDispatchBelowAutograd {names.fresh('guard')};"
    results = names.fresh("results")
    opened, closed = (f"auto {results} = [&] {{", "}();") if returned else ("{", "}")
    places = result_places(code, results)
    checked = "torch::autograd::check_inplace({}, true);"
    recorded = f"record_written({{}}, {graph});"
    body = [
        f"const c10::DispatchKeySet {below} = {keys} & c10::after_autograd_keyset;",
        *block(flow(f"if (!needs_gradient({message(code.qualified)}, ", tensors, ")) {"), early),
        *(line for each in mutated for line in for_tensors(each, checked)),
        f"const auto {graph} = new_node<NotImplemented>({message(code.qualified)});",
        *flow(f"{graph}->set_next_edges(torch::autograd::collect_next_edges(", tensors, "));"),
        *block([opened], [guard, *flow(f"{returned}{redispatch}", arguments, ");")], closed),
        *(line for each in code.new for line in record_new(each, places[each.name], graph)),
        *(line for each in mutated for line in for_tensors(each, recorded)),
        *return_arguments(code, places),
        *([f"return {results};"] if returned else []),
    ]
    return autograd_function(code, keys, body)
