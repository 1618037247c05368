"""Each model of the table gives the results and the gradients of the CPU."""

from __future__ import annotations

import pytest

from tests.ecosystem.comparison import assert_same_step
from tests.ecosystem.models import Model, make, models

pytestmark = pytest.mark.filterwarnings("default")  # the libraries use what others deprecate


@pytest.mark.parametrize("model", models("transformers"), ids=str)
def test_results_and_gradients_of_transformers(model: Model) -> None:
    assert_same_step(make(model))


@pytest.mark.parametrize("model", models("timm"), ids=str)
def test_results_and_gradients_of_timm(model: Model) -> None:
    assert_same_step(make(model))


@pytest.mark.parametrize("model", models("diffusers"), ids=str)
def test_results_and_gradients_of_diffusers(model: Model) -> None:
    assert_same_step(make(model))
