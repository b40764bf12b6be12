"""Generators of random numbers and their seeds: ``Generator``, ``manual_seed``, the state, ``fork_rng``.

Note [Random numbers are not PyTorch's]
A seed determines all numbers that follow, on every device; they are distributed as PyTorch's are, but are not the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tapegrad.execution import random as sampling
from tapegrad.execution.devices import META
from tapegrad.execution.devices import device as device_class
from tapegrad.execution.dtypes import uint8, uint32
from tapegrad.execution.host import from_host, to_host
from tapegrad.execution.random import DEFAULT_SEED, KEY_SHAPE, KeyStream, entropy, from_key
from tapegrad.functions.factory import named_device
from tapegrad.functions.registry import NAMESPACES, public
from tapegrad.tape.modes import thread
from tapegrad.tensor.lifted import drawn_apart, fresh, fresh_examples, sizes_of
from tapegrad.tensor.spec import Spec
from tapegrad.tensor.tensor import Tensor, value_of

_STATE_BYTES = 16

CPU = device_class("cpu")
"""Every process has one: a generator for it is made without waking JAX, which is configured until it is first used."""


class Generator(KeyStream):
    """A source of random numbers, which a seed determines: distributed as PyTorch's, but not the same.

    Args:
        device: whose tensors it makes; a generator serves any device here.

    >>> import tapegrad as torch
    >>> a, b = torch.Generator().manual_seed(3), torch.Generator().manual_seed(3)
    >>> torch.equal(torch.rand(2, generator=a), torch.rand(2, generator=b))
    True
    """

    __slots__ = ("device",)

    def __init__(self, device: Any = CPU) -> None:
        super().__init__(DEFAULT_SEED)
        self.device: device_class = device if device is CPU else named_device("Generator", device)
        if self.device is META:
            raise RuntimeError("META device type not an accelerator.")

    def manual_seed(self, seed: int) -> Generator:
        """Start again with this seed; returns the generator.

        Raises:
            RuntimeError: no int.
            ValueError: an int that 64 bits can't hold, with or without a sign.
        """
        if not isinstance(seed, (int, np.integer)):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        self.reseed(_checked_seed(int(seed)))
        return self

    def seed(self) -> int:
        """Start again with a seed that nobody can predict, and return it."""
        self.reseed(entropy())
        return self.root

    def initial_seed(self) -> int:
        """The seed it was last started with."""
        return self.root

    def get_offset(self) -> int:
        """How many keys were taken since."""
        return self.offset

    def set_offset(self, offset: int) -> None:
        """Go to where so many keys are taken."""
        self.offset = int(offset)

    def get_state(self) -> Tensor:
        """All that determines what comes next, as a uint8 tensor."""
        state = np.array([self.root, self.offset], np.uint64).view(np.uint8)
        cpu = device_class("cpu")
        return fresh(from_host(state, cpu), Spec.of((_STATE_BYTES,), uint8, cpu))

    def set_state(self, new_state: Tensor) -> Generator:
        """Go back to a state that ``get_state`` gave; returns the generator.

        Raises:
            TypeError: no uint8 tensor.
            RuntimeError: one of another size.
        """
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if new_state.dtype is not uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if new_state._spec.numel != _STATE_BYTES:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {_STATE_BYTES} but found the input RNG state size to be "
                f"{new_state._spec.numel}"
            )
        self.root, self.offset = to_host(value_of(new_state)).copy().view(np.uint64).tolist()
        return self

    def clone_state(self) -> Generator:
        """Another generator in the same state."""
        return _rebuild_generator(self.device, self.root, self.offset)

    def __reduce__(self) -> tuple:
        return _rebuild_generator, (self.device, self.root, self.offset)

    def __repr__(self) -> str:
        return f"<torch.Generator object at {id(self):#x}>"


def _rebuild_generator(device: device_class, root: int, offset: int) -> Generator:
    generator = Generator(device)
    generator.root, generator.offset = root, offset
    return generator


def _checked_seed(seed: int) -> int:
    if not -(2**63) <= seed < 2**64:
        raise ValueError("Overflow when unpacking long long")
    return seed % 2**64


default_generator = Generator()
"""Where random numbers come from when no generator is given."""
default_generator.seed()

for _home in ("torch", "random"):
    _names: dict[str, Any] = NAMESPACES.setdefault(_home, {})
    _names |= {"Generator": Generator, "default_generator": default_generator}


def stream_of(function: str, generator: Any) -> KeyStream:
    """The stream of keys of a generator; of the default one for None.

    Raises:
        TypeError: no generator.
    """
    if generator is None:
        return default_generator
    if not isinstance(generator, KeyStream):
        raise TypeError(f"{function}(): argument 'generator' must be torch.Generator, not {type(generator).__name__}")
    return generator


def next_key(
    function: str, generator: Any, on: device_class, *parameters: Tensor, target: Tensor | None = None
) -> Tensor:
    """A key of a generator as an argument of random operators; ``parameters`` and ``target`` as ``drawn_apart`` takes.

    Inside of a ``vmap`` whose ``randomness`` is ``"different"``, a key for each example.
    """
    stream = stream_of(function, generator)
    stream = KeyStream() if on is META else stream  # nothing is drawn there
    levels = drawn_apart(*parameters, target=target) if thread.levels else ()
    spec = Spec.of(KEY_SHAPE, uint32, on)
    if not levels:
        return fresh(from_key(stream.next_key(), on), spec)
    sizes = sizes_of(levels)
    keys = [stream.next_key() for _ in range(math.prod(sizes))]
    return fresh_examples(from_key(np.array(keys, np.uint32).reshape(*sizes, *KEY_SHAPE), on), spec, levels)


def sampled(
    function: str, generator: Any, what: Callable, spec: Spec, *parameters: float, target: Tensor | None = None
) -> Tensor:
    """A new leaf of random numbers that depend on no tensor: ``what`` is a function of ``execution/random.py``.

    Inside of a ``vmap`` whose ``randomness`` is ``"different"``, each example gets its own; see ``drawn_apart`` for
    the ``target``.
    """
    stream = stream_of(function, generator)
    levels = drawn_apart(target=target) if thread.levels else ()
    shape = (*sizes_of(levels), *spec.shape)
    return fresh_examples(sampling.draw(what, stream, shape, spec.dtype, spec.device, *parameters), spec, levels)


@public("torch", "random", asks="nobody")
def manual_seed(seed: Any) -> Generator:
    """Start the default generator with this seed, and return it.

    Raises:
        ValueError: an int that 64 bits can't hold, with or without a sign.

    >>> import tapegrad as torch
    >>> torch.manual_seed(-1).initial_seed() == 2**64 - 1
    True
    """
    return default_generator.manual_seed(int(seed))


@public("torch", "random")
def seed() -> int:
    """Start the default generator with a seed that nobody can predict, and return it."""
    return default_generator.seed()


@public("torch", "random")
def initial_seed() -> int:
    """The seed that the default generator was last started with."""
    return default_generator.initial_seed()


@public("torch", "random")
def get_rng_state() -> Tensor:
    """The state of the default generator, a uint8 tensor."""
    return default_generator.get_state()


@public("torch", "random")
def set_rng_state(new_state: Any) -> None:
    """Bring the default generator into a state that ``get_rng_state`` gave."""
    default_generator.set_state(new_state)


@public("random")
@contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A context after which the default generator is as it was before; ``devices`` makes no difference here."""
    root, offset = default_generator.root, default_generator.offset
    try:
        yield
    finally:
        if enabled:
            default_generator.root, default_generator.offset = root, offset
