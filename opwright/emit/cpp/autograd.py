"""The unit with derivatives: one node per operator that has a backward, as PyTorch's own code has.

torch::autograd::Function would do the same with half the text, but its templates take five seconds
of compile time per unit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.derive.facts import Gradient, SavedArgument, SavedOutput
from opwright.emit.cpp.errors import CppRuleError
from opwright.emit.cpp.layout import block, flow, message
from opwright.emit.cpp.names import Locals, pascal, safe
from opwright.emit.cpp.operators import registrations, tensor_arguments
from opwright.emit.cpp.text import sections
from opwright.emit.cpp.types import declared, kept_type
from opwright.emit.cpp.units import is_out_variant, mutating, namespaced

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opwright.declare.schema import Argument
    from opwright.derive.facts import Autograd, BackwardArgument, Output
    from opwright.emit.cpp.operators import OperatorCode

__all__ = ["autograd_unit"]


# The sections with functions -> what a unit's text has where it uses one.
FUNCTIONS = {
    "any defined": ("any_defined(",),
    "if defined": ("if_defined(",),
    "save list": ("unpack(",),
    "save optional list": ("unpack_optional(",),
    "refuse": ("refuse_gradient(",),
    "nested": ("const Nested ",),
    "unimplemented": ("NotImplemented",),
    "is differentiable": ("_differentiable(", "record_new(", "record_written("),
    "if differentiable": ("if_differentiable(",),
    "new unimplemented": ("record_new(",),
    "written unimplemented": ("record_written(",),
}


def function_lines(name: str) -> list[str]:
    """Return a function that does not depend on the declaration, and a blank line."""
    return [*sections("autograd.cpp")[name].splitlines(), ""]


class AutogradCode:
    """The derivative of one operator.

    Parameters
    ----------
    code, backward
        The operator, and the operator that is its backward.
    """

    def __init__(self, code: OperatorCode, backward: OperatorCode) -> None:
        autograd = code.facts.autograd
        assert autograd is not None
        optional = [a.name for a in code.facts.schema.mutated if a.type.optional]
        if optional:
            raise CppRuleError(
                where=f"{code.where}, backward",
                got=f"{optional[0]!r}, a written argument that may be None",
                fix="make it a tensor, leave out the backward, or use the operator live only",
            )
        self.code = code
        self.backward = backward
        self.autograd: Autograd = autograd
        self.node = f"{pascal(code.name)}Node"
        self.saved = {
            value: member_name(code, value)
            for value in dict.fromkeys(autograd.arguments)
            if not isinstance(value, Gradient)
        }

    def argument(self, name: str) -> Argument:
        """Return an argument of the operator."""
        return self.code.facts.argument(name)

    def output(self, name: str) -> Output:
        """Return an output of the operator."""
        output = self.code.facts.output(name)
        assert output is not None, name
        return output

    def is_tensor(self, value: BackwardArgument) -> bool:
        """Tell whether a saved value is a tensor."""
        return isinstance(value, SavedOutput) or self.argument(value_name(value)).type.is_tensor

    def is_list(self, value: BackwardArgument) -> bool:
        """Tell whether a saved value is a list of tensors."""
        return isinstance(value, SavedArgument) and (
            self.argument(value.name).type.has_tensors and self.argument(value.name).type.is_list
        )

    @property
    def written(self) -> list[str]:
        """The arguments that are differentiable outputs."""
        outputs = [self.output(name) for name in self.autograd.outputs]
        return [output.argument for output in outputs if output.argument is not None]

    @property
    def watched(self) -> list[str]:
        """The arguments whose gradients decide whether a graph is recorded."""
        return list(dict.fromkeys([*self.autograd.inputs, *self.written]))


def member_name(code: OperatorCode, value: SavedArgument | SavedOutput) -> str:
    """Return the name of the member that keeps a value: a written argument may be kept twice."""
    argument = code.facts.schema.argument(value.name)
    is_written = isinstance(value, SavedOutput) and argument is not None
    return f"{'written_' if is_written else ''}{safe(value.name)}_"


def value_name(value: BackwardArgument) -> str:
    """Return the name of a saved value."""
    return value.output if isinstance(value, Gradient) else value.name


def member(code: AutogradCode, value: SavedArgument | SavedOutput) -> str:
    """Return the declaration of a member that keeps a value."""
    name = code.saved[value]
    if code.is_list(value):
        return f"std::vector<torch::autograd::SavedVariable> {name};"
    if code.is_tensor(value):
        return f"torch::autograd::SavedVariable {name};"
    argument = code.argument(value_name(value))
    where = f"{code.code.where}, argument {argument.name!r}"
    return f"{kept_type(argument.type, where=where)} {name}{{}};"


def node(code: AutogradCode) -> list[str]:
    """Return the node."""
    name = pascal(code.code.name)
    members = [member(code, value) for value in code.saved]
    body = [
        *block(["variable_list apply(variable_list&& grads) override {"], apply(code)),
        *release(code),
        f'std::string name() const override {{ return "{name}Backward"; }}',
    ]
    return [
        *block(
            [f"struct {code.node} final : torch::autograd::Node {{"], [*body, "", *members], "};"
        ),
        "",
    ]


def release(code: AutogradCode) -> list[str]:
    """Return the function that frees saved tensors after backward."""
    lines = [
        f"{name}.clear();" if code.is_list(value) else f"{name}.reset_data();"
        for value, name in code.saved.items()
        if code.is_list(value) or code.is_tensor(value)
    ]
    return block(["void release_variables() override {"], lines) if lines else []


def apply(code: AutogradCode) -> list[str]:
    """Return the body that calls the backward operator."""
    taken = code.backward.facts.schema.arguments
    values = [
        passed(code, value, argument)
        for value, argument in zip(code.autograd.arguments, taken, strict=True)
    ]
    call = f"{code.backward.name}().call("
    results = code.backward.facts.schema.results
    count = len(results)
    nothing = "if (!any_defined(grads)) {"
    guard = block([nothing], ["return variable_list(num_outputs());"])
    guard += refuse_only_saved(code)
    if count == 1 and not results[0].type.is_list:
        return [*guard, *flow(f"return {{{call}", values, ")};")]
    if count == 1:
        return [*guard, *flow(f"return {call}", values, ");")]
    names = [f"grad_{name}" for name in code.autograd.inputs]
    lines = [*guard, *flow(f"auto [{', '.join(names)}] = {call}", values, ");")]
    if not any(result.type.is_list for result in results):
        return [*lines, *flow("return {", names, "};")]
    lines.append("variable_list results;")
    for name, result in zip(names, results, strict=True):
        one = f"results.push_back({name});"
        many = f"results.insert(results.end(), {name}.begin(), {name}.end());"
        lines.append(many if result.type.is_list else one)
    return [*lines, "return results;"]


def refuse_only_saved(code: AutogradCode) -> list[str]:
    """Return the statements that raise for a gradient of an output that is only saved."""
    first = len(code.autograd.outputs)
    return [
        line
        for index, name in enumerate(code.autograd.only_saved, first)
        for line in flow(
            "refuse_gradient(",
            ["grads", str(index), message(f"{code.code.qualified}, output '{name}'")],
            ");",
        )
    ]


def passed(code: AutogradCode, value: BackwardArgument, argument: Argument) -> str:
    """Return what the backward operator gets for an argument."""
    if isinstance(value, Gradient):
        index = code.autograd.outputs.index(value.output)
        if argument.type.optional:
            return f"if_defined(grads[{index}])"
        if len(code.autograd.outputs) == 1:
            return f"grads[{index}]"
        return f"grads[{index}].defined() ? grads[{index}] : input_metadata({index}).zeros_like()"
    name = code.saved[value]
    if code.is_list(value):
        optional = code.argument(value.name).type.optional_elements
        return f"unpack{'_optional' if optional else ''}({name})"
    if not code.is_tensor(value):
        return name
    # An output has this node in its graph.
    own = "getptr()" if isinstance(value, SavedOutput) else ""
    unpacked = f"{name}.unpack({own})"
    return f"if_defined({unpacked})" if argument.type.optional else unpacked


def kernel(code: AutogradCode) -> list[str]:
    """Return the autograd kernel."""
    operator = code.code
    names = Locals(operator.facts.schema, ["keys"])
    below, graph = names.fresh("below"), names.fresh("node")
    redispatch = f"{operator.name}().redispatch("
    arguments = [below, *operator.arguments]
    watched = [safe(name) for name in code.watched]
    condition = flow(f"if (!needs_gradient({message(operator.qualified)}, ", watched, ")) {")
    returned = "return " if operator.result != "void" else ""
    early = flow(f"{returned}{redispatch}", arguments, ");")
    if not returned:
        early.append("return;")
    body = [
        f"const c10::DispatchKeySet {below} = keys & c10::after_autograd_keyset;",
        *block(condition, early),
        *(f"torch::autograd::check_inplace({safe(name)}, true);" for name in code.written),
        *refuse_views(code),
        f"const auto {graph} = c10::make_intrusive<{code.node}>();",
        *flow(
            f"{graph}->set_next_edges(torch::autograd::collect_next_edges(",
            [safe(name) for name in code.autograd.inputs],
            "));",
        ),
        *(line for value in code.saved for line in save_argument(code, value, graph)),
        *run_below(code, names, redispatch, arguments, graph),
    ]
    head = flow(
        f"{operator.result} {operator.name}_autograd(",
        [
            "c10::DispatchKeySet keys",
            *(declared(a, where=operator.where) for a in operator.facts.schema.arguments),
        ],
        ") {",
        0,
    )
    return [*block(head, body), ""]


def refuse_views(code: AutogradCode) -> list[str]:
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


def save_argument(code: AutogradCode, value: BackwardArgument, graph: str) -> list[str]:
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
    return [f"{target} = {kept_value(argument, name)};"]


def kept_value(argument: Argument, name: str) -> str:
    """Return the value of an argument that is no tensor, in the form that is kept."""
    kept = kept_type(argument.type, where=name)
    if kept == "std::optional<std::string>":
        return f"{name}.has_value() ? {kept}(std::string(*{name})) : std::nullopt"
    if kept.startswith("std::vector"):
        return f"{name}.vec()"
    return f"std::string({name})" if kept == "std::string" else name


def run_below(
    code: AutogradCode, names: Locals, redispatch: str, arguments: Sequence[str], graph: str
) -> list[str]:
    """Return the statements that run the operator, record the graph and return the results."""
    operator = code.code
    guard = ["const at::AutoDispatchBelowAutograd guard;"]
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


def record(code: AutogradCode, places: Mapping[str, str], names: Locals, graph: str) -> list[str]:
    """Return the statements that make outputs part of the graph, and keep those that are saved."""
    lines: list[str] = []
    for name in code.autograd.outputs:
        output = code.output(name)
        if output.argument is None:
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


def output_place(code: AutogradCode, name: str, places: Mapping[str, str]) -> str:
    """Return where an output is when the operator has run."""
    argument = code.output(name).argument
    return places[name] if argument is None else safe(argument)


def record_written(code: AutogradCode, name: str, graph: str) -> list[str]:
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
    tensors = [safe(name) for name in tensor_arguments(code.facts)]
    condition = flow(f"TORCH_CHECK(!needs_gradient({message(code.qualified)}, ", tensors, "),")
    text = message(
        ": arguments out= do not support gradients, but one of the arguments requires them"
    )
    redispatch = flow(
        f"{'return ' if code.result != 'void' else ''}{code.name}().redispatch(",
        ["keys & c10::after_autograd_keyset", *code.arguments],
        ");",
    )
    body = [
        *condition,
        f"            {message(code.qualified)}",
        f"            {text});",
        *redispatch,
    ]
    head = flow(
        f"{code.result} {code.name}_autograd(",
        [
            "c10::DispatchKeySet keys",
            *(declared(a, where=code.where) for a in code.facts.schema.arguments),
        ],
        ") {",
        0,
    )
    return [*block(head, body), ""]


def for_tensors(argument: Argument, statement: str) -> list[str]:
    """Return a statement for each tensor of an argument."""
    name = safe(argument.name)
    if argument.type.is_list:
        return block([f"for (const at::Tensor& tensor : {name}) {{"], [statement.format("tensor")])
    if argument.type.optional:
        return block([f"if ({name}.has_value()) {{"], [statement.format(f"*{name}")])
    return [statement.format(name)]


def unimplemented(code: OperatorCode) -> list[str]:
    """Return the autograd kernel of a mutating operator without backward.

    autogradNotImplementedFallback would skip ADInplaceOrView (torch 2.13): writes were not counted.
    """
    names = Locals(code.facts.schema, ["keys"])
    below, graph = names.fresh("below"), names.fresh("node")
    tensors = [safe(name) for name in tensor_arguments(code.facts)]
    mutated = code.facts.schema.mutated
    redispatch, arguments = f"{code.name}().redispatch(", [below, *code.arguments]
    returned = "return " if code.result != "void" else ""
    early = flow(f"{returned}{redispatch}", arguments, ");") + ([] if returned else ["return;"])
    guard = "const at::AutoDispatchBelowAutograd guard;"
    results = names.fresh("results")
    opened, closed = (f"auto {results} = [&] {{", "}();") if returned else ("{", "}")
    places = result_places(code, results)
    checked = "torch::autograd::check_inplace({}, true);"
    recorded = f"record_written({{}}, {graph});"
    body = [
        f"const c10::DispatchKeySet {below} = keys & c10::after_autograd_keyset;",
        *block(flow(f"if (!needs_gradient({message(code.qualified)}, ", tensors, ")) {"), early),
        *(line for each in mutated for line in for_tensors(each, checked)),
        f"const auto {graph} = c10::make_intrusive<NotImplemented>({message(code.qualified)});",
        *flow(f"{graph}->set_next_edges(torch::autograd::collect_next_edges(", tensors, "));"),
        *block([opened], [guard, *flow(f"{returned}{redispatch}", arguments, ");")], closed),
        *(f"record_new({places[output.name]}, {graph});" for output in code.new),
        *(line for each in mutated for line in for_tensors(each, recorded)),
        *return_arguments(code, places),
        *([f"return {results};"] if returned else []),
    ]
    head = flow(
        f"{code.result} {code.name}_autograd(",
        [
            "c10::DispatchKeySet keys",
            *(declared(a, where=code.where) for a in code.facts.schema.arguments),
        ],
        ") {",
        0,
    )
    return [*block(head, body), ""]


def shared_functions(
    derivatives: Sequence[AutogradCode], others: Sequence[OperatorCode]
) -> list[str]:
    """Return the functions at the top of the unit, as far as they are used."""
    types = [each.argument(name).type for each in derivatives for name in each.watched] + [
        code.facts.argument(name).type for code in others for name in tensor_arguments(code.facts)
    ]
    names = ["needs gradient"]
    optional_list = any(each.is_list and each.optional_elements for each in types)
    if optional_list or any(each.is_tensor and each.optional for each in types):
        names.append("optional")
    if any(each.is_list and not each.optional_elements for each in types):
        names.append("list")
    if optional_list:
        names.append("optional list")
    names.append("needs gradient end")
    return [line for name in names for line in function_lines(name)]


def autograd_unit(
    codes: Sequence[OperatorCode], by_name: Mapping[str, OperatorCode], namespace: str
) -> str | None:
    """Return autograd.cpp; None if no operator needs it.

    Parameters
    ----------
    by_name
        All operators of the set, among them those that are backwards.
    """
    derivatives = [
        AutogradCode(code, by_name[code.facts.autograd.operator])
        for code in codes
        if code.facts.autograd is not None
    ]
    others = [code for code in mutating(codes) if code.facts.autograd is None]
    refusing = [code for code in others if is_out_variant(code)]
    raising = [code for code in others if not is_out_variant(code)]
    if not derivatives and not others:
        return None
    functions = [line for each in derivatives for line in [*node(each), *kernel(each)]]
    functions += [line for code in refusing for line in refusal(code)]
    functions += [line for code in raising for line in unimplemented(code)]
    shared = ["using torch::autograd::variable_list;", ""] if derivatives else []
    shared += shared_functions(derivatives, others)
    text = "\n".join(functions).replace(".unpack(", "")
    for name, used in FUNCTIONS.items():
        shared += function_lines(name) if any(each in text for each in used) else []
    entries = [each.code for each in derivatives] + others
    return namespaced(
        namespace,
        head(text),
        [*shared, *functions],
        registrations(
            namespace, "Autograd", {code.facts.name: f"&{code.name}_autograd" for code in entries}
        ),
    )


def head(functions: str) -> list[str]:
    """Return the first lines of the unit: what its functions need."""
    lines = ["// autograd.cpp: derivatives."]
    if "check_inplace(" in functions:
        lines.append("#include <torch/csrc/autograd/VariableTypeUtils.h>")
    if "NotImplemented" in functions:
        lines.append("#include <torch/csrc/autograd/functions/basic_ops.h>")
    if "Node" in functions or "NotImplemented" in functions:
        lines.append("#include <torch/csrc/autograd/functions/utils.h>")
    return [
        *lines,
        "#include <torch/library.h>",
        "",
        "#include <algorithm>",
        "",
        '#include "handles.h"',
    ]
