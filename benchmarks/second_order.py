"""Steps that do more than a gradient: one with AdamW, and a product with the Hessian, by PyTorch's language and JAX.

The product takes the place of the vector, normalized, as when the largest eigenvalue is looked for: it is a gradient
of a gradient here, and in JAX forward mode over reverse mode, as its documentation recommends.
"""

from __future__ import annotations

from functools import partial
from operator import itemgetter
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.contest import Program, Pure, Workload
from benchmarks.models import Model, arrays, tensors

RATE, BETAS, EPS, DECAY = 1e-3, (0.9, 0.999), 1e-4, 0.01
"""The settings of AdamW: gradients that are zero but for rounding, as of the keys' bias, must not be blown up."""


def with_adamw(title: str, model: Model, steps: int) -> Workload:
    """Steps of training by ``torch.optim.AdamW``, and by AdamW written in JAX."""
    return Workload(title, "ms a step", 1e3, partial(adamw, model), partial(jax_adamw, model), steps=steps)


def with_hessian(title: str, model: Model, steps: int) -> Workload:
    """Products of the Hessian of a model's loss and a vector."""
    return Workload(title, "ms a product", 1e3, partial(hessian, model), partial(jax_hessian, model), steps=steps)


def adamw(model: Model, torch: Any, device: str) -> Program:
    """A step with the optimizer; it returns the loss, and writes to the parameters."""
    parameters, buffers, data = tensors(model, torch, device)
    optimizer = torch.optim.AdamW(parameters, RATE, BETAS, EPS, DECAY)

    def step(*data: Any) -> Any:
        optimizer.zero_grad()
        loss = model.torch(torch, parameters, buffers, data)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Program(step, tuple(data), parameters)


def jax_adamw(model: Model) -> Pure:
    """The same in JAX; what the optimizer remembers is made in the first step of PyTorch's, and not seen."""
    parameters, buffers, data = arrays(model)
    (beta1, beta2), zeros = BETAS, partial(jax.tree.map, jnp.zeros_like)

    def update(p: Any, g: Any, mean: Any, square: Any, count: Any) -> tuple[Any, Any, Any]:
        mean, square = beta1 * mean + (1 - beta1) * g, beta2 * square + (1 - beta2) * g * g
        root = jnp.sqrt(square) / jnp.sqrt(1 - beta2**count) + EPS
        return p * (1 - RATE * DECAY) - RATE / (1 - beta1**count) * mean / root, mean, square

    def step(state: tuple, *data: Any) -> tuple[tuple, Any]:
        parameters, means, squares, count = state
        (loss, _), grads = jax.value_and_grad(model.jax, has_aux=True)(parameters, buffers, data)
        count = count + 1
        new = [update(*of, count) for of in zip(parameters, grads, means, squares, strict=True)]
        return (*map(list, zip(*new, strict=True)), count), loss

    return Pure(step, tuple(data), (parameters, zeros(parameters), zeros(parameters), jnp.zeros(())), itemgetter(0))


def hessian(model: Model, torch: Any, device: str) -> Program:
    """A product; it returns the loss' curvature along the vector, of which the next one takes the place."""
    parameters, buffers, data = tensors(model, torch, device)
    vector = [torch.ones_like(parameter) for parameter in parameters]

    def step(*data: Any) -> Any:
        loss = model.torch(torch, parameters, buffers, data)
        grads = torch.autograd.grad(loss, parameters, create_graph=True)
        products = torch.autograd.grad(grads, parameters, vector)
        with torch.no_grad():
            curvature = sum((v * h).sum() for v, h in zip(vector, products, strict=True))
            norm = sum((h * h).sum() for h in products).sqrt()
            for v, h in zip(vector, products, strict=True):
                v.copy_(h / norm)
        return curvature

    return Program(step, tuple(data), vector)


def jax_hessian(model: Model) -> Pure:
    """The same in JAX."""
    parameters, buffers, data = arrays(model)

    def step(vector: list, *data: Any) -> tuple[list, Any]:
        gradient = jax.grad(lambda parameters: model.jax(parameters, buffers, data)[0])
        products = jax.jvp(gradient, (parameters,), (vector,))[1]
        curvature = sum((v * h).sum() for v, h in zip(vector, products, strict=True))
        norm = jnp.sqrt(sum((h * h).sum() for h in products))
        return [h / norm for h in products], curvature

    return Pure(step, tuple(data), list(map(jnp.ones_like, parameters)))
