"""A training step with dropout, in place on parameters and momenta: every mode agrees."""

import torch
import torch_npu  # noqa: F401

model = torch.nn.Sequential(
    torch.nn.Linear(8, 16), torch.nn.Dropout(0.25), torch.nn.ReLU(), torch.nn.Linear(16, 1)
).npu()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def step(x, y):
    optimizer.zero_grad(set_to_none=False)
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.detach()


for _ in range(4):
    step(torch.randn(4, 8).npu(), torch.randn(4, 1).npu())
