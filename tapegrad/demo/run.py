"""The command line of the demo."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np

import tapegrad as torch
from tapegrad._src.execution.data.devices import jax_device
from tapegrad.demo import comparison, digits, network, training

LEARNING_RATE = 0.1
BATCH = 64

WHAT_NEXT = """
What next:
  see the tape            open {out} in a browser
  write a program         import tapegrad as torch, and go on as with PyTorch
  compare its gradients   torch.compare(function, x) sets the tape beside jax.grad, and names what differs
  make it fast            torch.compile(step), or `with torch.deferred():`; README.md has times
  see what there is       python -m tapegrad.ops prints the table of operators
  read how it works       the notebooks, from notebooks/01_the_tape_by_hand.ipynb on; README.md says how to open them"""

DESCRIPTION = """\
Train a small convolutional network on scikit-learn's 1,797 handwritten digits with tapegrad, used as a PyTorch
program would use PyTorch. Then compare the gradient of every parameter with that of jax.grad on the same batch, time a
step beside eager JAX, and draw the tape of the loss as an SVG picture."""


def arguments(argv: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tapegrad", description=DESCRIPTION)
    parser.add_argument("--device", default="cpu", help="where to compute: cpu, cuda, cuda:1, ... (default: cpu)")
    parser.add_argument("--epochs", type=int, default=15, help="passes over the training pictures (default: 15)")
    parser.add_argument("--seed", type=int, default=0, help="of the split, the weights and the order (default: 0)")
    parser.add_argument("--out", type=Path, default=Path("tape.svg"), help="where to draw the tape (default: tape.svg)")
    options = parser.parse_args(argv)
    try:
        jax_device(torch.device(options.device))
    except (RuntimeError, AssertionError) as error:  # the latter where there is no GPU at all, as in PyTorch
        parser.error(f"argument --device: {error}")
    return options


def timed_step(p: training.Parameters, batch: digits.Digits, device: str) -> Callable[[], object]:
    """A training step that ends when all parameters are there."""
    x, labels = training.batch_on(device, batch)

    def run() -> object:
        training.step(p, x, labels, LEARNING_RATE)
        return [parameter.detach().cpu().numpy() for parameter in p.values()]

    return run


def main(argv: list[str] | None = None) -> int:
    """Run the demo; returns the exit status."""
    options = arguments(argv)
    try:
        demonstrate(options)
    except digits.MissingExtraError as error:
        print(f"python -m tapegrad: {error}", file=sys.stderr)
        return 1
    return 0


def demonstrate(options: argparse.Namespace) -> None:
    """Train, test, compare, time, draw."""
    rng = np.random.default_rng(options.seed)
    learn, test = digits.load(rng)
    arrays = network.initial(rng)
    learn_and_test(arrays, learn, test, options)
    with jax.default_device(jax_device(torch.device(options.device))):
        beside_jax(arrays, next(learn.batches(BATCH)), options)


def learn_and_test(
    arrays: network.Arrays, learn: digits.Digits, test: digits.Digits, options: argparse.Namespace
) -> None:
    """Train from ``arrays`` and print the accuracy on pictures never seen."""
    device = options.device
    p = training.parameters_on(device, arrays)
    print(f"{len(learn)} pictures to learn from, {len(test)} to be tested on, device {device}")
    training.train(p, learn, epochs=options.epochs, batch=BATCH, lr=LEARNING_RATE, seed=options.seed, device=device)
    print(f"test accuracy: {100 * training.accuracy(p, test, device):.1f} %\n")


def beside_jax(arrays: network.Arrays, batch: digits.Digits, options: argparse.Namespace) -> None:
    """Print gradients and times beside JAX's, and draw the tape."""
    p = training.parameters_on(options.device, arrays)
    loss, grads = training.gradients(p, *training.batch_on(options.device, batch))
    theirs = comparison.jax_gradients(arrays, batch.pictures, batch.labels)
    print("gradients of one batch at the initial weights, beside jax.grad of the same function:")
    print(comparison.gradient_table(comparison.differences(grads, theirs)), end="\n\n")
    options.out.write_text(loss.graph(p, title="loss").svg())

    steps = {
        "tapegrad": timed_step(p, batch, options.device),
        "eager JAX": comparison.jax_step(arrays, batch.pictures, batch.labels, LEARNING_RATE),
    }
    times = comparison.milliseconds(steps)
    ratio = times["eager JAX"] / times["tapegrad"]
    print(f"time per step: tapegrad {times['tapegrad']:.2f} ms, eager JAX {times['eager JAX']:.2f} ms", end="")
    print(f" ({ratio:.1f} times as long)")
    print(f"the tape of that loss: {options.out}")
    print(WHAT_NEXT.format(out=options.out))
