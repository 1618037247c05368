"""Scopes, operators and functions of TorchAir that docs/torchair_features.md says work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu
import torchair

from opwright.twin.dump import find_dumps
from tests.graph_engine.agreement import compiled

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.twin, pytest.mark.isolated]


def in_mode(mode: str) -> torchair.CompilerConfig:
    """Return a configuration with another mode."""
    config = torchair.CompilerConfig()
    config.mode = mode
    return config


def test_tensors_over_addresses_share_their_memory() -> None:
    x = torch.arange(6, dtype=torch.float32).to("npu")
    torch_npu.npu.synchronize()
    (over,) = torchair.llm_datadist.create_npu_tensors([2, 3], torch.float32, [x.data_ptr()])
    over.add_(1)
    assert str(over.device) == "npu:0"
    assert x.tolist() == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("mode", ["max-autotune", "reduce-overhead"])
def test_a_record_that_is_waited_for_changes_no_numbers(mode: str) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        doubled = x * 2
        recorded = torchair.ops.record()
        more = doubled + 1
        torchair.ops.wait([recorded])
        return more * doubled

    x = torch.randn(4).to("npu")
    result = compiled(function, config=in_mode(mode))(x)
    torch.testing.assert_close(result, x * 2 * (x * 2 + 1))


def test_tagged_events_order_the_streams_of_a_captured_graph() -> None:
    there = torchair.ops.npu_create_tagged_event("there")
    back = torchair.ops.npu_create_tagged_event("back")

    def function(x: torch.Tensor) -> torch.Tensor:
        doubled = x * 2
        torchair.ops.npu_tagged_event_record(there)
        with torchair.scope.npu_stream_switch("side"):
            torchair.ops.npu_tagged_event_wait(there)
            more = doubled + 1
            torchair.ops.npu_record_tagged_stream(doubled, "side")
            torchair.ops.npu_tagged_event_record(back)
        torchair.ops.npu_tagged_event_wait(back)
        return more * doubled

    captured = compiled(function, config=in_mode("reduce-overhead"))
    for _ in range(4):
        x = torch.randn(4).to("npu")
        torch.testing.assert_close(captured(x), x * 2 * (x * 2 + 1))


@pytest.mark.parametrize("version", ["", "_v2"])
def test_lengths_of_fused_attention_may_be_tensors_of_the_device(version: str) -> None:
    query, key, value = (torch.randn(2, size, 32).half().to("npu") for size in (1, 16, 16))
    lengths = torch.tensor([5, 16])
    heads, scale, of_keys = (
        ("num_query_heads", "softmax_scale", "actual_seq_kvlen")
        if version
        else ("num_heads", "scale", "actual_seq_lengths_kv")
    )
    name = f"npu_fused_infer_attention_score{version}"
    options = {heads: 2, "input_layout": "BSH", scale: 0.5}

    def function(lengths: torch.Tensor) -> torch.Tensor:
        operator = getattr(torchair.ops, name)
        result: torch.Tensor
        result, _ = operator(query, key, value, **{of_keys: lengths}, **options)
        return result

    expected, _ = getattr(torch_npu, name)(
        query, key, value, **{of_keys: lengths.tolist()}, **options
    )
    result = compiled(function)(lengths.to("npu"))
    torch.testing.assert_close(result, expected)


class Cached(torch.nn.Module):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)
        self.step = torchair.inference.cache_compile(self.compute, cache_dir=str(folder))

    def compute(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x)) + x.sum()


def test_a_model_is_compiled_from_its_cache(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    with torch.no_grad():
        for _ in range(2):  # the second one finds what the first has written
            model = Cached(folder).to("npu").eval()
            for rows in (5, 7):
                x = torch.randn(rows, 4).to("npu")
                torch.testing.assert_close(model.step(x), model.compute(x))
            (file,) = folder.rglob("compiled_module")
            written = file.stat().st_mtime_ns
    assert written == file.stat().st_mtime_ns
    shown = tmp_path / "shown.py"
    torchair.inference.readable_cache(str(file), print_output=False, file=str(shown))
    text = shown.read_text(encoding="utf-8")
    assert "ModelCacheMeta(" in text
    assert "aten.relu.default" in text


def test_exports_with_experimental_options_have_their_graph(tmp_path: Path) -> None:
    options = "enable_record_nn_module_stack", "auto_atc_config_generated", "enable_lite_export"
    for option in options:
        config = torchair.CompilerConfig()
        setattr(config.export.experimental, option, True)
        model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()).to("npu")
        folder = tmp_path / option
        torchair.dynamo_export(
            torch.randn(5, 4).to("npu"), model=model, export_path=str(folder), config=config
        )
        (text,) = folder.rglob("dynamo.pbtxt")
        graph = text.read_text(encoding="utf-8")
        assert 'op: "Relu"' in graph, option
        assert ("nn_module_stack" in graph) == (option == "enable_record_nn_module_stack")


def test_a_scope_dumps_the_types_of_its_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # TorchAir leaves its own notes in the working directory
    config = torchair.CompilerConfig()
    config.dump_config.enable_dump = True
    folder = tmp_path / "dump"
    folder.mkdir()
    config.dump_config.dump_path = str(folder)

    def function(x: torch.Tensor) -> torch.Tensor:
        positive = torch.relu(x)
        with torchair.scope.data_dump():
            inside = torch.sigmoid(positive)
        return inside * 2

    x = torch.randn(4).to("npu")
    result = compiled(function, config=config)(x)
    torch.testing.assert_close(result, function(x))
    torch_npu.npu.synchronize()
    assert {each.type for each in find_dumps(folder)} == {"Sigmoid"}
