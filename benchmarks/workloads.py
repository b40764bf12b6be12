"""What is run in every mode: chains of operators, and steps of training.

A step of training is: loss, backward, SGD by hand, and the gradients are dropped, so that nobody has to give them back.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax

from benchmarks import chains, second_order
from benchmarks.contest import Program, Pure, Workload, on_gpu
from benchmarks.models import (
    CONV_NET,
    LSTM,
    MLP,
    MODELS,
    SCALAR_MLP,
    SMALL_MODELS,
    TRANSFORMER,
    Model,
    arrays,
    scalar_mlp,
    tensors,
    transformer,
)
from benchmarks.pictures import resnet, unet

RATE = 0.01
"""The learning rate."""

FORWARD, SHORT_CHAIN, LONG_CHAIN = "chain, forward", "chain", "long chain"
ADAMW, HESSIAN = "transformer block with AdamW", "Hessian-vector product"
RESNET, UNET, GPT = "ResNet", "UNet", "GPT with AdamW"
GPT2, GPT2_HALF = "GPT-2-small blocks, float32", "GPT-2-small blocks, bfloat16"

MODEL_ALONE = {name: f"{name}, the model compiled" for name in (MLP, CONV_NET, TRANSFORMER)}
"""Steps in which only the model and its loss are compiled: the backward pass is a second program."""

FLOOR, TWO_FLOORS = "a bare XLA call each", "two bare XLA calls each"

STEPS = {MLP: 40, CONV_NET: 16, LSTM: 4, TRANSFORMER: 12}
"""Steps in a measurement of each model: a tenth of a second, of which the first step after others ran is but a part."""

TITLES = {
    MLP: "MLP 784-256-256-10, batch 128",
    CONV_NET: "conv net with batch norm, batch 16",
    LSTM: "LSTM cell, loop of 50 steps",
    TRANSFORMER: "transformer block, 8 x 64 x 128",
    ADAMW: "transformer block with AdamW, 8 x 64 x 128",
    HESSIAN: "Hessian-vector product, MLP 784-256-256-10, batch 128",
}
"""What the report calls the full-sized ones."""


def training(model: Model, torch: Any, device: str, compiles: bool = False) -> Program:
    """A step of SGD in PyTorch's language; it returns the loss. ``compiles``: the model, and nothing else."""
    parameters, buffers, data = tensors(model, torch, device)

    def forward(*data: Any) -> Any:
        return model.torch(torch, parameters, buffers, data)

    compute = torch.compile(forward) if compiles else forward

    def step(*data: Any) -> Any:
        loss = compute(*data)
        loss.backward()
        with torch.no_grad():
            for parameter in parameters:
                parameter.sub_(parameter.grad, alpha=RATE)
                parameter.grad = None
        return loss.detach()

    return Program(step, tuple(data), [*buffers, *parameters])


def jax_training(model: Model) -> Pure:
    """The same in JAX: the state is (buffers, parameters)."""
    parameters, buffers, data = arrays(model)

    def step(state: tuple, *data: Any) -> tuple[tuple, Any]:
        (loss, buffers), grads = jax.value_and_grad(model.jax, has_aux=True)(state[1], state[0], data)
        return (buffers, [p - RATE * g for p, g in zip(state[1], grads, strict=True)]), loss

    return Pure(step, tuple(data), (buffers, parameters))


def of_model(title: str, model: Model, steps: int = 1) -> Workload:
    """Steps of training of a model."""
    return Workload(title, "ms a step", 1e3, partial(training, model), partial(jax_training, model), steps=steps)


def with_model_compiled(title: str, model: Model, steps: int = 1) -> Workload:
    """Steps of training of a model that is compiled, with the rest as it stands."""
    program = partial(training, model, compiles=True)
    return Workload(title, "ms a step", 1e3, program, partial(jax_training, model), steps=steps)


def chain(length: int, steps: int) -> Workload:
    """A chain, forward and backward."""
    return Workload(
        f"chain of {length:,} multiplies, forward and backward",
        "us a multiply",
        1e6,
        partial(chains.total, length=length),
        partial(chains.jax_total, length),
        length,
        steps,
        {TWO_FLOORS: chains.floor(2 * length)},
    )


def forward_chain(length: int, steps: int) -> Workload:
    """A chain, forward only."""
    return Workload(
        f"chain of {length:,} multiplies, forward",
        "us a multiply",
        1e6,
        partial(chains.forward, length=length),
        partial(chains.jax_forward, length),
        length,
        steps,
        {FLOOR: chains.floor(length)},
    )


def workloads(small: bool = False) -> dict[str, Workload]:
    """All of them, by the names under which there are targets; ``small`` ones show what works and not how fast."""
    short, long, widths, samples = (4, 8, (2, 3, 1), 2) if small else (100, 10_000, (2, 16, 16, 1), 8)
    found = {
        FORWARD: forward_chain(short, 20),
        SHORT_CHAIN: chain(short, 20),
        LONG_CHAIN: chain(long, 1),
        SCALAR_MLP: of_model(
            f"scalar MLP {'-'.join(map(str, widths))}, {samples} samples", scalar_mlp(widths, samples)
        ),
    }
    for name, model in (SMALL_MODELS if small else MODELS).items():
        found[name] = of_model(name if small else TITLES[name], model, steps=STEPS[name])
    models = SMALL_MODELS if small else MODELS
    for name, of, model in ((ADAMW, second_order.with_adamw, TRANSFORMER), (HESSIAN, second_order.with_hessian, MLP)):
        found[name] = of(name if small else TITLES[name], models[model], STEPS[model])
    return found | (gpu_workloads() if on_gpu() and not small else {})


def compiled_workloads(small: bool = False) -> dict[str, Workload]:
    """What is measured compiled only, for its many kernels: deep nets, and blocks of a GPT with AdamW."""
    if small:
        deep = resnet((2, 3), 1, 8, 2, 3), unet((2, 3), 4, 2), transformer(2, 8, 4, 3, 2)
    else:
        deep = resnet((16, 32, 64), 2, 32, 16), unet((8, 16, 32), 32, 8), transformer(4, 128, 4, 64, 8)
    titles = "ResNet of 13 convolutions, batch 16", "UNet of three widths, batch 8", "GPT of four blocks with AdamW"
    return {
        RESNET: of_model(titles[0], deep[0]),
        UNET: of_model(titles[1], deep[1]),
        GPT: second_order.with_adamw(titles[2], deep[2], 4),
    }


def model_workloads(small: bool = False) -> dict[str, Workload]:
    """Steps of which the model is compiled, by the names under which there are targets."""
    models = SMALL_MODELS if small else MODELS
    titles = {name: title if small else f"{TITLES[name]}, the model compiled" for name, title in MODEL_ALONE.items()}
    return {
        MODEL_ALONE[name]: with_model_compiled(title, models[name], STEPS[name]) for name, title in titles.items()
    }


def gpu_workloads() -> dict[str, Workload]:
    """What only a GPU is strong enough for: the twelve blocks of GPT-2 small, 8 sequences of 1,024."""
    return {
        title: of_model(title, transformer(12, 768, 12, 1024, 8, dtype), steps=3)
        for title, dtype in ((GPT2, "float32"), (GPT2_HALF, "bfloat16"))
    }
