"""Plain stochastic gradient descent, written out."""

from __future__ import annotations

from typing import Any

import numpy as np

import tapegrad as torch
from tapegrad._src.progress import assumed_size
from tapegrad.demo import network
from tapegrad.demo.digits import Digits, missing

Parameters = dict[str, torch.Tensor]


def progress_bar(total: int, description: str) -> Any:
    """A tqdm bar. Raises MissingExtraError: without tqdm."""
    try:
        from tqdm import tqdm
    except ImportError as error:
        raise missing("tqdm", error) from error
    return tqdm(total=total, desc=description, unit="step", **assumed_size())


def parameters_on(device: str, arrays: network.Arrays) -> Parameters:
    """The parameters as leaves that require grad."""
    return {name: torch.tensor(array, device=device, requires_grad=True) for name, array in arrays.items()}


def batch_on(device: str, batch: Digits) -> tuple[torch.Tensor, torch.Tensor]:
    """A batch as tensors: pictures and labels."""
    return torch.tensor(batch.pictures, device=device), torch.tensor(batch.labels, device=device)


def step(p: Parameters, x: torch.Tensor, labels: torch.Tensor, lr: float) -> torch.Tensor:
    """One step of gradient descent; returns the loss before it."""
    loss = network.loss(p, x, labels)
    loss.backward()
    with torch.no_grad():
        for parameter in p.values():
            parameter -= lr * parameter.grad  # type: ignore[operator]
            parameter.grad = None
    return loss.detach()


def train(p: Parameters, data: Digits, *, epochs: int, batch: int, lr: float, seed: int, device: str) -> list[float]:
    """Run ``epochs`` passes over the data with a progress bar; returns the mean loss of each."""
    rng = np.random.default_rng(seed)
    means = []
    with progress_bar(epochs * (len(data) // batch), "training") as bar:
        for epoch in range(1, epochs + 1):
            losses = []
            for part in data.batches(batch, rng):
                losses.append(step(p, *batch_on(device, part), lr).item())
                bar.update()
            means.append(float(np.mean(losses)))
            bar.set_postfix(epoch=epoch, loss=f"{means[-1]:.4f}")
    return means


def accuracy(p: Parameters, data: Digits, device: str) -> float:
    """The share of pictures whose highest score is their digit's."""
    with torch.no_grad():
        x, labels = batch_on(device, data)
        return int((network.scores(p, x).argmax(1) == labels).sum()) / len(data)


def gradients(p: Parameters, x: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, network.Arrays]:
    """The loss of a batch, with its graph, and the gradient of every parameter."""
    loss = network.loss(p, x, labels)
    grads: Any = torch.autograd.grad(loss, list(p.values()), retain_graph=True)
    return loss, {name: grad.cpu().numpy() for name, grad in zip(p, grads, strict=True)}
