"""Small models train on old chips as on the CPU."""

from __future__ import annotations

import pytest

from tests.twin import on_twin

HARNESS = """
    from torch import nn
    from torch.nn import functional

    def losses(make, step, optimizer, clipped, device):
        torch.manual_seed(0)
        model = make().to(device)
        chosen = optimizer(model.parameters())
        found = []
        for _ in range(3):
            chosen.zero_grad()
            loss = step(model, device)
            loss.backward()
            if clipped:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            chosen.step()
            found.append(loss.item())
        return found

    def check(make, step, optimizer, clipped=False):
        first = losses(make, step, optimizer, clipped, "npu")
        second = losses(make, step, optimizer, clipped, "cpu")
        assert all(abs(a - b) < 1e-4 for a, b in zip(first, second)), (first, second)
        assert first[-1] < first[0]
"""
RESIDUAL = """
    class Block(nn.Module):
        def __init__(self, width, stride):
            super().__init__()
            self.main = nn.Sequential(
                nn.Conv2d(8, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
                nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width))
            self.short = nn.Sequential(
                nn.Conv2d(8, width, 1, stride, bias=False), nn.BatchNorm2d(width))

        def forward(self, x):
            return functional.relu(self.main(x) + self.short(x))

    def make():
        return nn.Sequential(
            nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
            nn.MaxPool2d(3, 2, 1), Block(8, 1), Block(16, 2), nn.AdaptiveAvgPool2d(1),
            nn.Flatten(), nn.Linear(16, 5))

    images = torch.linspace(-1, 1, 4 * 3 * 24 * 24).mul(50).sin().reshape(4, 3, 24, 24)

    def step(model, device):
        return functional.cross_entropy(
            model(images.to(device)), torch.tensor([0, 3, 1, 4]).to(device))

    check(make, step, lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=1e-4))
"""
TRANSFORMER = """
    words = torch.arange(24).mul(7).remainder(20).reshape(2, 12)
    labels = torch.where(words % 3 == 0, -100, words)
    hidden = torch.zeros(2, 1, 1, 12).masked_fill(torch.arange(12) > 9, -10000.0)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(20, 16, padding_idx=0), nn.Embedding(12, 16)
            self.first, self.second = nn.LayerNorm(16, 1e-12), nn.LayerNorm(16)
            self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
            self.up, self.down = nn.Linear(16, 32), nn.Linear(32, 16)
            self.drop, self.head = nn.Dropout(0.0), nn.Linear(16, 20)

        def forward(self, ids, mask):
            x = self.words(ids) + self.places(torch.arange(12, device=ids.device))
            x = self.drop(self.first(x))
            q, k, v = self.qkv(x).reshape(2, 12, 3, 2, 8).permute(2, 0, 3, 1, 4)
            scores = self.drop(torch.softmax(q @ k.transpose(-1, -2) / 8 ** 0.5 + mask, -1))
            x = self.second(x + self.out((scores @ v).transpose(1, 2).reshape(2, 12, 16)))
            return self.head(x + self.down(functional.gelu(self.up(x), approximate="tanh")))

    def step(model, device):
        found = model(words.to(device), hidden.to(device))
        return functional.cross_entropy(found.flatten(0, 1), labels.flatten().to(device))

    check(Model, step, lambda p: torch.optim.AdamW(p, lr=1e-2), clipped=True)
"""


@pytest.mark.parametrize(("soc", "model"), [("Ascend910A", RESIDUAL), ("Ascend310P3", TRANSFORMER)])
def test_models_train(soc: str, model: str) -> None:
    on_twin.output(HARNESS + model, OPWRIGHT_SOC=soc)
