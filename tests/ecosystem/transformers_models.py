"""Models of transformers: any type of model that its automatic classes know, made small."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from tests.ecosystem import torchvision_operators
from tests.ecosystem.models import BATCH, Subject
from tests.ecosystem.small import TOKENS, shrink

torchvision_operators.define()

import transformers  # noqa: E402
from transformers.models.auto import modeling_auto  # noqa: E402

__all__ = ["MAKERS"]

transformers.logging.set_verbosity_error()

SAMPLES = 8000  # half a second of sound
PIXELS = 64


def tokens(length: int = 12) -> torch.Tensor:
    """Return tokens, none of which is the one for padding."""
    return torch.randint(1, TOKENS, (BATCH, length))


def text() -> dict[str, torch.Tensor]:
    """Return the inputs of a language model."""
    return {"input_ids": tokens()}


def two_texts() -> dict[str, torch.Tensor]:
    """Return the inputs of an encoder and a decoder."""
    return {"input_ids": tokens(), "decoder_input_ids": tokens(6)}


def image() -> dict[str, torch.Tensor]:
    """Return the inputs of an image model."""
    return {"pixel_values": torch.randn(BATCH, 3, PIXELS, PIXELS)}


def sound() -> dict[str, torch.Tensor]:
    """Return the inputs of an audio model."""
    return {"input_values": torch.randn(BATCH, SAMPLES)}


TASKS: dict[str, tuple[Any, Any]] = {
    "causal": (modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING, text),
    "masked": (modeling_auto.MODEL_FOR_MASKED_LM_MAPPING, text),
    "seq2seq": (modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING, two_texts),
    "image": (modeling_auto.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING, image),
    "detection": (modeling_auto.MODEL_FOR_OBJECT_DETECTION_MAPPING, image),
    "segmentation": (modeling_auto.MODEL_FOR_SEMANTIC_SEGMENTATION_MAPPING, image),
    "depth": (modeling_auto.MODEL_FOR_DEPTH_ESTIMATION_MAPPING, image),
    "audio": (modeling_auto.MODEL_FOR_AUDIO_CLASSIFICATION_MAPPING, sound),
    "ctc": (modeling_auto.MODEL_FOR_CTC_MAPPING, sound),
}


def make_of(task: str, name: str) -> Subject:
    """Make a model of a type (transformers' `model_type`) for a task."""
    classes, inputs = TASKS[task]
    configuration = transformers.CONFIG_MAPPING[name]
    config = configuration()
    shrink(config, transformers.PretrainedConfig)
    made = classes[configuration]
    module = (made[0] if isinstance(made, tuple) else made)(config)
    return Subject(module, inputs())


MAKERS = {task: partial(make_of, task) for task in TASKS}
