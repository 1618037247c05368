"""Dynamic graphs whose inputs are transposed first: TorchAir notes the sizes behind that."""

from __future__ import annotations

import pytest

from tests.graph_engine.agreement import errors

FUNCTIONS = {
    "product": "lambda x: x @ x.transpose(1, 2)",
    "product_of_transposed": "lambda x: x.transpose(1, 2) @ x",
    "both_forms": "lambda x: torch.relu(x.transpose(1, 2)) @ torch.relu(x)",
    "permuted": "lambda x: x.permute(2, 0, 1).flatten(1)",
    "summed": "lambda x: x.transpose(0, 1).sum(-1) + x.sum(-1).t()",
}


@pytest.fixture(scope="module")
def found() -> dict[str, str]:
    return errors(FUNCTIONS, arguments="[[torch.randn(n, 6, 8)] for n in (2, 3)]", dynamic=True)


@pytest.mark.twin
@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_transposed_inputs_are_not_refused(found: dict[str, str], name: str) -> None:
    assert found[name] == ""
