"""What all examples have in common: the command line, compiled steps, and a table of losses."""

import argparse

import torch


def options(steps):
    """``--steps N`` and ``--compile``, as every example has them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=steps, metavar="N", help=f"how many steps are made ({steps})")
    parser.add_argument("--compile", action="store_true", help="compile the step, by torch.compile")
    given = parser.parse_args()
    given.compiled = torch.compile if given.compile else lambda function: function
    return given


def train(step, batches, given):
    """Make the steps, each with one of ``batches``, and print the loss that each one returns."""
    print("step  loss", flush=True)
    for number, batch in zip(range(given.steps), batches, strict=False):
        print(f"{number:4}  {step(*batch).item():.8g}", flush=True)
