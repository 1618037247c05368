"""Models of transformers, timm and diffusers: time on npu divided by time on the CPU.

Start it with `opwright run -- python benchmarks/library_models.py [NAME ...]`; it needs the
packages that `make ecosystem` installs.

Ten architectures with random weights in float32: a forward pass, sixteen tokens generated with the
library's cache, and a step of training with AdamW, each as the library has it, with the same
weights on both sides. The sides take turns, and the fastest of their rounds counts. The second
ratio of each is that of processor time, all threads together, which other load on the machine
changes less.
"""

from __future__ import annotations

import copy
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import torch_npu

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

LIBRARIES = ("transformers", "timm", "diffusers")
if missing := [name for name in LIBRARIES if find_spec(name) is None]:
    print(f"not measured: {', '.join(missing)} not installed; make ecosystem installs them")
    sys.exit()

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.ecosystem import torchvision_operators  # noqa: E402 - after the look at packages

torchvision_operators.define()

import diffusers  # noqa: E402
import timm  # noqa: E402
import transformers  # noqa: E402

ROUNDS, CALLS = 8, 3
VOCABULARY, WIDTH, LAYERS, HEADS = 1000, 256, 4, 8
LENGTH, TOKENS = 64, 16
PIXELS = 96
Inputs = dict[str, torch.Tensor]


def tokens(length: int = LENGTH) -> torch.Tensor:
    """Return int64 [2, length]."""
    return torch.randint(3, VOCABULARY, (2, length))


def pixels(side: int = PIXELS) -> torch.Tensor:
    """Return float32 [2, 3, side, side]."""
    return torch.randn(2, 3, side, side)


class Case(NamedTuple):
    """A model with its inputs."""

    make: Callable[[], Any]
    inputs: Callable[[], Inputs]
    writes: bool = False  # whether it generates tokens


def causal(kind: str, **sizes: object) -> Case:
    """Return a language model of transformers."""

    def make() -> Any:  # noqa: ANN401 - each library has its own classes
        config = transformers.AutoConfig.for_model(
            kind, vocab_size=VOCABULARY, pad_token_id=0, bos_token_id=1, eos_token_id=None, **sizes
        )
        return transformers.AutoModelForCausalLM.from_config(config)

    return Case(make, lambda: {"input_ids": tokens()}, writes=True)


def llama_like(kind: str, **sizes: object) -> Case:
    """Return a language model whose sizes have Llama's names."""
    return causal(
        kind,
        hidden_size=WIDTH,
        intermediate_size=688,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        **({"num_key_value_heads": HEADS // 2} | sizes),
    )


def bert() -> Any:  # noqa: ANN401
    """Return an encoder with a head for masked tokens."""
    config = transformers.BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=WIDTH,
        intermediate_size=4 * WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
    )
    return transformers.BertForMaskedLM(config)


def t5() -> Any:  # noqa: ANN401
    """Return an encoder and a decoder for text."""
    config = transformers.T5Config(
        vocab_size=VOCABULARY,
        d_model=WIDTH,
        d_kv=WIDTH // HEADS,
        d_ff=4 * WIDTH,
        num_layers=LAYERS,
        num_heads=HEADS,
        decoder_start_token_id=0,
        eos_token_id=None,
    )
    return transformers.T5ForConditionalGeneration(config)


def whisper() -> Any:  # noqa: ANN401
    """Return an encoder for sound and a decoder for text."""
    config = transformers.WhisperConfig(
        vocab_size=VOCABULARY,
        d_model=WIDTH,
        encoder_layers=LAYERS,
        decoder_layers=LAYERS,
        encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS,
        encoder_ffn_dim=4 * WIDTH,
        decoder_ffn_dim=4 * WIDTH,
        max_source_positions=150,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
    )
    return transformers.WhisperForConditionalGeneration(config)


def unet() -> Any:  # noqa: ANN401
    """Return a network of diffusers that predicts noise."""
    return diffusers.UNet2DModel(
        sample_size=32,
        block_out_channels=(32, 64, 64),
        down_block_types=("DownBlock2D", "AttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "AttnUpBlock2D", "UpBlock2D"),
        norm_num_groups=8,
    )


def image(name: str, **options: object) -> Case:
    """Return a model of timm."""
    return Case(lambda: timm.create_model(name, **options), lambda: {"x": pixels()})


CASES: Mapping[str, Case] = {
    "llama": llama_like("llama"),
    "qwen3": llama_like("qwen3", head_dim=WIDTH // HEADS),
    "mixtral": llama_like("mixtral", num_local_experts=4),
    "gpt2": causal("gpt2", n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS),
    "bert": Case(bert, lambda: {"input_ids": tokens()}),
    "t5": Case(t5, lambda: {"input_ids": tokens(), "decoder_input_ids": tokens(16)}),
    "whisper": Case(
        whisper,
        lambda: {"input_features": torch.randn(2, 80, 300), "decoder_input_ids": tokens(16)},
    ),
    "resnet18": image("resnet18"),
    "vit_tiny": image("vit_tiny_patch16_224", img_size=PIXELS),
    "unet": Case(unet, lambda: {"sample": pixels(32), "timestep": torch.tensor(10)}),
}


def result_of(output: Any) -> Any:  # noqa: ANN401
    """Return the tensor that a model's output is about."""
    for name in ("logits", "sample"):
        if hasattr(output, name):
            return getattr(output, name)
    return output


def forward(model: Any, inputs: Inputs) -> Callable[[], None]:  # noqa: ANN401
    """Return a function that runs the model without gradients."""
    model.eval()

    def run() -> None:
        with torch.no_grad():
            model(**inputs)

    return run


def generation(model: Any, inputs: Inputs) -> Callable[[], None]:  # noqa: ANN401
    """Return a function that lets the model write."""
    model.eval()
    ids = inputs["input_ids"]
    mask = torch.ones_like(ids)

    def run() -> None:
        model.generate(
            ids,
            attention_mask=mask,
            do_sample=False,
            max_new_tokens=TOKENS,
            min_new_tokens=TOKENS,
        )

    return run


def training(model: Any, inputs: Inputs) -> Callable[[], None]:  # noqa: ANN401
    """Return a function that makes a step of training."""
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def run() -> None:
        optimizer.zero_grad()
        result_of(model(**inputs)).square().mean().backward()
        optimizer.step()

    return run


class Times(NamedTuple):
    """Of one call, in milliseconds."""

    wall: float
    processor: float


def once(side: Callable[[], None]) -> Times:
    """Measure some calls, the wait for the device included."""
    begin, processor = time.perf_counter(), time.process_time()
    for _ in range(CALLS):
        side()
    torch_npu.npu.synchronize()
    taken = time.perf_counter() - begin, time.process_time() - processor
    return Times(*(each / CALLS * 1e3 for each in taken))


def measure(sides: Sequence[Callable[[], None]]) -> list[Times]:
    """Return the fastest times of the sides, which take turns."""
    for side in sides:
        once(side)
    rounds = [[once(side) for side in sides] for _ in range(ROUNDS)]
    return [
        Times(min(each.wall for each in taken), min(each.processor for each in taken))
        for taken in zip(*rounds, strict=True)
    ]


def main(names: Sequence[str]) -> None:
    """Print the table."""
    transformers.logging.set_verbosity_error()
    print(f"{'milliseconds':10} {'':9} {'npu':>9} {'CPU':>9} {'ratio':>6} {'processor':>10}")
    for name in names or CASES:
        case = CASES[name]
        torch.manual_seed(0)
        model, inputs = case.make(), case.inputs()
        placed = {key: value.to("npu") for key, value in inputs.items()}
        for kind in (forward, generation, training) if case.writes else (forward, training):
            npu, cpu = measure(
                [kind(copy.deepcopy(model).to("npu"), placed), kind(copy.deepcopy(model), inputs)]
            )
            print(
                f"{name:12} {kind.__name__:>10} {npu.wall:9.2f} {cpu.wall:9.2f} "
                f"{npu.wall / cpu.wall:6.2f} {npu.processor / cpu.processor:10.2f}",
                flush=True,
            )
    print(f"\n{torch.get_num_threads()} threads")


if __name__ == "__main__":
    main(sys.argv[1:])
