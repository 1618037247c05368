"""Train a small ResNet: torch_npu's SGD on NPU, torch's on the CPU."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

import loop

CLASSES, BATCH, SIDE = 10, 16, 32


class Block(nn.Module):
    """Two convolutions with batch norm, around which the input passes."""

    def __init__(self, before, after, stride):
        super().__init__()
        self.first = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.last = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.first_norm, self.last_norm = nn.BatchNorm2d(after), nn.BatchNorm2d(after)
        self.around = nn.Identity()
        if stride != 1 or before != after:
            self.around = nn.Sequential(
                nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
            )

    def forward(self, x):
        """Compute one block."""
        y = functional.relu(self.first_norm(self.first(x)), inplace=True)
        return functional.relu(self.last_norm(self.last(y)) + self.around(x))


def build():
    """Return the model."""
    model = nn.Sequential(
        nn.Conv2d(3, 16, 7, 2, 3, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
        Block(16, 16, 1),
        Block(16, 32, 2),
        Block(32, 64, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, CLASSES),
    )
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    return model


def loss(model, batch):
    """Return the cross entropy, with smoothed labels."""
    images, labels = batch
    return functional.cross_entropy(model(images), labels, label_smoothing=0.1)


@torch.no_grad()
def accuracy(model, batches, device):
    """Return the share of images that are named rightly."""
    model.eval()
    hits = [
        model(images.to(device)).argmax(-1).eq(labels.to(device)).float().mean()
        for images, labels in batches
    ]
    return torch.stack(hits).mean().item()


def dataset(size, seed):
    """Return noisy images of a pattern for each class."""
    generator = torch.Generator().manual_seed(seed)
    patterns = torch.randn(CLASSES, 3, 4, 4, generator=torch.Generator().manual_seed(seed // 10))
    patterns = functional.interpolate(patterns, size=SIDE, mode="bilinear", align_corners=False)
    labels = torch.randint(CLASSES, (size,), generator=generator)
    noise = torch.randn(size, 3, SIDE, SIDE, generator=generator)
    return TensorDataset(patterns[labels] + noise, labels)


def options():
    """Return what the script understands."""
    parser = loop.options(__doc__)
    parser.set_defaults(rate=0.05)
    parser.add_argument(
        "--channels-last",
        action="store_true",
        help="images and filters end with their channels; torch_npu's own optimizers refuse that",
    )
    return parser


def prepare(chosen):
    """Return the trainer and its batches."""
    torch.manual_seed(chosen.seed)
    layout = torch.channels_last if chosen.channels_last else torch.contiguous_format
    model = build().to(memory_format=layout).to(chosen.device)
    groups = loop.decayed(model, 1e-4)
    if chosen.optimizer == "npu":
        optimizer = loop.operators(chosen.device).sgd(groups, chosen.rate)
    else:
        optimizer = torch.optim.SGD(
            groups, lr=chosen.rate, momentum=0.9, nesterov=True, **{chosen.optimizer: True}
        )
    trainer = loop.Trainer(model, optimizer, loss, chosen, clip=5.0)
    batches = DataLoader(
        dataset(chosen.steps * BATCH, seed=10 * chosen.seed + 1),
        BATCH,
        shuffle=True,
        pin_memory=chosen.device == "npu",
        generator=torch.Generator().manual_seed(chosen.seed + 1),
    )
    return trainer, ((images.to(memory_format=layout), labels) for images, labels in batches)


def main():
    """Train, then count how many images of a second set are named rightly."""
    chosen = options().parse_args()
    trainer, batches = prepare(chosen)
    seconds = trainer.run(batches)
    unseen = DataLoader(dataset(4 * BATCH, seed=10 * chosen.seed + 2), BATCH)
    found = accuracy(trainer.model, unseen, chosen.device)
    loop.report(trainer, seconds, chosen, accuracy_on_unseen_images=found)


if __name__ == "__main__":
    main()
