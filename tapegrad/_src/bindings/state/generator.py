"""Generators of random numbers and their seeds: ``Generator``, ``manual_seed``, the state, ``fork_rng``.

Note [Streams]
A generator takes its numbers from a *stream*, which a seed determines. By default that is a ``KeyStream``: it gives
keys to operators, and what they draw with them is the same on every device, can be traced and computed anew, and is
distributed as PyTorch's numbers are, but not the same. After ``random.use("pytorch")`` it is a ``TwisterStream``: its
numbers are those of PyTorch's generator for CPUs, made on the host (``streams/pytorch.py``). An operator that takes a
key takes these instead, as an array of another dtype. Such a stream has the same methods: ``mark`` and ``restore``,
``draw``, ``order``; what it has not are keys, and who needs to know asks ``has_keys``.
"""

from __future__ import annotations

import math
import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from tapegrad._src import streams
from tapegrad._src.bindings.declaration.factory import named_device
from tapegrad._src.bindings.declaration.registry import NAMESPACES, public
from tapegrad._src.execution.array_functions.host import from_host, innermost, is_traced, to_host
from tapegrad._src.execution.array_functions.random import DEFAULT_SEED, KEY_SHAPE, KeyStream, entropy, from_key
from tapegrad._src.execution.data.devices import META
from tapegrad._src.execution.data.devices import device as device_class
from tapegrad._src.execution.data.dtypes import dtype, uint8, uint32
from tapegrad._src.execution.state.processes import processes
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.lifted import Level, drawn_apart, fresh, fresh_examples, mapping, sizes_of
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad.ops.kinds import broadcast_shapes

_STATE_BYTES = {"jax": 16, "pytorch": 5056}

STREAMS = ("jax", "pytorch")
"""The names that ``use`` takes."""

CPU = device_class("cpu")
"""Every process has one: a generator for it is made without waking JAX, which is configured until it is first used."""

_in_use = ["jax"]


def _stream(seed: int) -> Any:
    return KeyStream(seed) if _in_use[0] == "jax" else streams.pytorch.TwisterStream(seed)


class Generator:
    """A source of random numbers, which a seed determines. See ``random.use`` for which numbers they are.

    Args:
        device: whose tensors it makes; a generator serves any device here.

    >>> a, b = torch.Generator().manual_seed(3), torch.Generator().manual_seed(3)
    >>> torch.equal(torch.rand(2, generator=a), torch.rand(2, generator=b))
    True
    """

    __module__ = "tapegrad._C"
    __slots__ = ("device", "stream")

    def __init__(self, device: Any = CPU) -> None:
        self.stream: Any = _stream(DEFAULT_SEED)
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
        self.stream.reseed(_checked_seed(int(seed)))
        return self

    def seed(self) -> int:
        """Start again with a seed that nobody can predict, and return it."""
        self.stream.reseed(entropy())
        return self.stream.root

    def initial_seed(self) -> int:
        """The seed it was last started with."""
        return self.stream.root

    def get_offset(self) -> int:
        """Count the keys that were taken since; PyTorch's streams have none."""
        return self._keys().offset

    def set_offset(self, offset: int) -> None:
        """Go to where so many keys are taken.

        Args:
            offset: how many.
        """
        self._keys().offset = int(offset)

    def take(self, stream: Any) -> None:
        """Take numbers from another stream from here on: what was compiled with the old one is compiled anew."""
        self.stream.retired = True
        self.stream, stream.retired = stream, False

    def _keys(self) -> Any:
        if not self.stream.has_keys:
            raise RuntimeError("CPU Generator does not use offset")
        return self.stream

    def get_state(self) -> Tensor:
        """All that determines what comes next, as a uint8 tensor; that of PyTorch's streams is PyTorch's own."""
        stream = self.stream
        state = np.array(stream.mark(), np.uint64).view(np.uint8) if stream.has_keys else stream.twister.stored()
        return fresh(from_host(state, CPU), Spec.of(state.shape, uint8, CPU))

    def set_state(self, new_state: Tensor) -> Generator:
        """Go back to a state that ``get_state`` gave; returns the generator.

        Args:
            new_state: a uint8 tensor of one dimension.

        Raises:
            TypeError: no uint8 tensor.
            RuntimeError: one of another size, or of other bytes than PyTorch stores.
        """
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if new_state.dtype is not uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        expected = _STATE_BYTES["jax" if self.stream.has_keys else "pytorch"]
        if new_state._spec.numel != expected:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {expected} but found the input RNG state size to be "
                f"{new_state._spec.numel}"
            )
        state = to_host(value_of(new_state)).copy()
        if self.stream.has_keys:
            self.stream.restore(tuple(state.view(np.uint64).tolist()))
        else:
            self.stream.twister.restore(state)
        return self

    def clone_state(self) -> Generator:
        """Another generator in the same state."""
        return _rebuild_generator(*self.__reduce__()[1])

    def __reduce__(self) -> tuple:
        stream = self.stream
        state = stream.mark() if stream.has_keys else stream.twister.stored()
        return _rebuild_generator, (self.device, "jax" if stream.has_keys else "pytorch", state)

    def __repr__(self) -> str:
        return f"<torch.Generator object at {id(self):#x}>"


def _rebuild_generator(device: device_class, library: str, state: Any) -> Generator:
    generator = Generator(device)
    if library == "jax":
        generator.stream = KeyStream()
        generator.stream.restore(state)
    else:
        generator.stream = streams.pytorch.TwisterStream(DEFAULT_SEED)
        generator.stream.twister.restore(state)
    return generator


def _checked_seed(seed: int) -> int:
    if not -(2**63) <= seed < 2**64:
        raise ValueError("Overflow when unpacking long long")
    return seed % 2**64


default_generator = Generator()
"""The generator of random numbers when none is given."""
default_generator.seed()

for _home in ("torch", "random"):
    _names: dict[str, Any] = NAMESPACES.setdefault(_home, {})
    _names |= {"Generator": Generator, "default_generator": default_generator}


@public("random", asks="nobody")
def use(stream: str) -> None:
    """Choose which random numbers seeds stand for, from here on.

    ``"jax"``, the default: numbers that are made where they are needed, on any device, and in compiled programs.
    ``"pytorch"``: those that PyTorch makes on a CPU for the same seed, bit for bit, so that weights, shuffles, dropout
    masks and the whole course of a training can be compared. They are made on the host. The default generator starts
    again with its seed; generators that are made later take such numbers, those that are there keep to theirs. The
    environment variable ``TAPEGRAD_RANDOM`` chooses when tapegrad is imported.

    Args:
        stream: ``"jax"`` or ``"pytorch"``.

    Raises:
        ValueError: another name.

    >>> torch.random.use("pytorch")
    >>> _ = torch.manual_seed(0)
    >>> torch.rand(3)
    tensor([0.4963, 0.7682, 0.0885])
    >>> torch.random.use("jax")
    """
    if stream not in STREAMS:
        raise ValueError(f"random.use: {stream!r} is no stream; expected one of {', '.join(map(repr, STREAMS))}")
    _in_use[0] = stream
    default_generator.take(_stream(default_generator.stream.root))


@public("random", asks="nobody")
def in_use() -> str:
    """Which random numbers seeds stand for: ``"jax"`` or ``"pytorch"``; see ``use``."""
    return _in_use[0]


_together: dict[str, Any] = {"stream": None, "for": None}
"""The stream of what several processes draw together, and for which seed of the default generator it was begun."""


def _stream_of_all() -> Any:
    """The stream of tensors that several processes have: it goes on from where that of the first process is.

    All draw alike from it, whatever else they draw, each with a seed of its own. It begins anew after ``manual_seed``,
    in all of them.
    """
    own = default_generator.stream
    begun = own.root, getattr(own, "seeds", 0), processes.count
    if _together["for"] != begun:
        root, offset = pickle.loads(processes.of_first(pickle.dumps((own.root, getattr(own, "offset", 0)))))  # type: ignore[misc]
        stream = _stream(root)
        if stream.has_keys:
            stream.offset = offset
        _together.update({"stream": stream, "for": begun})
    return _together["stream"]


def stream_of(function: str, generator: Any, on: device_class = CPU) -> Any:
    """The stream of a generator; of the default one for None.

    Args:
        function: what asks.
        generator: the generator.
        on: where the numbers are going to be.

    Raises:
        TypeError: no generator.
    """
    if generator is None:
        return _stream_of_all() if on.sharded and processes.of_first is not None else default_generator.stream
    if not isinstance(generator, Generator):
        raise TypeError(f"{function}(): argument 'generator' must be torch.Generator, not {type(generator).__name__}")
    return generator.stream


class Sample(NamedTuple):
    """The draw of an operator with a key, for streams that have none: see ``sampling`` in
    ``execution/array_functions/random.py``."""

    what: Callable
    shape: tuple[int, ...]
    dtype: dtype
    parameters: tuple[float, ...] = ()
    strides: tuple[int, ...] | None = None


def next_key(
    function: str, generator: Any, on: device_class, *parameters: Tensor, sample: Callable[[], Sample] | None = None,
    target: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """A key of a generator as an argument of random operators; ``parameters`` and ``target`` as ``drawn_apart`` takes.

    Inside of a ``vmap`` whose ``randomness`` is ``"different"``, a key for each example. Of a stream without keys, the
    sample that ``sample()`` describes: Note [Streams]. (There is none where ``one_by_one`` is asked before.)
    """
    stream = stream_of(function, generator, on)
    stream = KeyStream() if on is META else stream  # nothing is drawn there
    levels = drawn_apart(*parameters, target=target) if thread.levels else ()
    if not stream.has_keys and sample is not None:
        return _drawn(stream, sample(), on, levels)
    spec = Spec.of(KEY_SHAPE, uint32, on)
    if not levels:
        return fresh(from_key(stream.next_key(), on), spec)
    sizes = sizes_of(levels)
    keys = [stream.next_key() for _ in range(math.prod(sizes))]
    return fresh_examples(from_key(np.array(keys, np.uint32).reshape(*sizes, *KEY_SHAPE), on), spec, levels)


def _drawn(stream: Any, sample: Sample, on: device_class, levels: Sequence[Level]) -> Tensor:
    shape, strides = (*sizes_of(levels), *sample.shape), None if levels else sample.strides
    value = stream.draw(sample.what, shape, sample.dtype, on, *sample.parameters, strides=strides)
    return fresh_examples(value, Spec.of(sample.shape, sample.dtype, on), levels)


def one_by_one(
    function: str, generator: Any, sampler: str, d: dtype, *tensors: Tensor, settings: tuple = ()
) -> Tensor | None:
    """Samples that take as many numbers as their parameters make them need; None if the stream has keys.

    Args:
        function, generator: who draws, and from which generator.
        sampler: a function of ``streams/samplers.py``.
        d: the dtype of the samples.
        tensors: the parameters, which are broadcast.
        settings: what else the sampler takes.

    Raises:
        RuntimeError: the parameters can't be looked at, for they are traced.
    """
    on = tensors[0].device
    stream = stream_of(function, generator, on)
    if stream.has_keys or on is META:
        return None
    levels = drawn_apart(*tensors) if thread.levels else ()
    shape = broadcast_shapes([tensor.shape for tensor in tensors])
    if any(is_traced(value_of(tensor)) for tensor in tensors):
        raise RuntimeError(
            f"{function}: with PyTorch's streams, how many random numbers are taken depends on the elements of a "
            'tensor, which can\'t be looked at inside of jax.jit; random.use("jax") does without'
        )
    value = stream.sample(sampler, on, *(_all_examples(tensor, levels, shape) for tensor in tensors), *settings)
    return fresh_examples(value, Spec.of(value.shape[len(levels) :], d, on), levels)


def _all_examples(tensor: Tensor, levels: Sequence[Level], shape: Sequence[int]) -> np.ndarray:
    """The elements of a tensor that is broadcast, with a dimension in front for each of some levels that map."""
    array, mapped = to_host(innermost(value_of(tensor))), mapping(tensor)
    wanted = sizes_of(levels)
    sizes = [size if level in mapped else 1 for level, size in zip(levels, wanted, strict=True)]
    own = (*[1] * (len(shape) - tensor.ndim), *tensor.shape)
    return np.broadcast_to(array.reshape((*sizes, *own)), (*wanted, *shape))


def sampled(
    function: str, generator: Any, what: Callable, spec: Spec, *parameters: float, target: Tensor | None = None,
    strides: tuple[int, ...] | None = None,
) -> Tensor:  # fmt: skip
    """A new leaf of random numbers that depend on no tensor: ``what`` is a function of
    ``execution/array_functions/random.py``.

    Inside of a ``vmap`` whose ``randomness`` is ``"different"``, each example gets its own; see ``drawn_apart`` for
    the ``target``. ``strides`` say how the numbers are going to lie in memory, if not as the spec has it.
    """
    stream = stream_of(function, generator, spec.device)
    levels = drawn_apart(target=target) if thread.levels else ()
    shape, strides = (*sizes_of(levels), *spec.shape), None if levels else strides or spec.strides
    value = stream.draw(what, shape, spec.dtype, spec.device, *parameters, strides=strides)
    return fresh_examples(value, spec, levels)


@public("torch", "random", asks="nobody")
def manual_seed(seed: Any) -> Generator:
    """Start the default generator with this seed, and return it.

    Raises:
        ValueError: an int that 64 bits can't hold, with or without a sign.

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
    """Bring the default generator into a state that ``get_rng_state`` gave.

    Args:
        new_state: a uint8 tensor of one dimension.
    """
    default_generator.set_state(new_state)


@public("random")
@contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A context after which the default generator is as it was before; ``devices`` makes no difference here.

    Args:
        devices: ignored.
        enabled: False for a context that does nothing.

    >>> with torch.random.fork_rng():
    ...     first = torch.rand(2)
    >>> bool((torch.rand(2) == first).all())
    True
    """
    stream = default_generator.stream
    mark = stream.mark() if enabled else None
    try:
        yield
    finally:
        if enabled:
            default_generator.take(stream)
            stream.restore(mark)


use(os.environ.get("TAPEGRAD_RANDOM", "jax"))
