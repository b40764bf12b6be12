"""The function of arrays that a module's ``forward`` is, and what is found out when it is traced.

Note [Programs of modules]
``forward`` is run on a copy of the module, with tensors around tracers in place of all that the program takes (Note
[Order of arguments] in ``graph_signature.py``). What is drawn comes from a key that is an argument; what
``torch.tensor`` makes is an argument too, a constant. The results are the arrays of what was written to, and of what is
returned. jax differentiates it by the rules of the tape (Note [Whose rules] in ``interop/tape_rules.py``): what is
detached, or computed without grad, has no gradient, and kinks have PyTorch's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import jax
import jax.numpy as jnp

from tapegrad._src.bindings.function_modes import TorchFunctionMode
from tapegrad._src.bindings.state.generator import default_generator
from tapegrad._src.execution.array_functions.host import array_of
from tapegrad._src.execution.array_functions.random import KEY_SHAPE, KeyStream
from tapegrad._src.execution.data.sizes import SYMBOL, exporting
from tapegrad._src.functions.construction import tensor as make_tensor
from tapegrad._src.tape.mechanisms import without
from tapegrad._src.tape.modes import switched, thread
from tapegrad._src.tensor.dual import tangent_of
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad._src.tensor.trees import TreeSpec, flatten
from tapegrad.autograd.forward_ad import unpack_dual
from tapegrad.export.graph_signature import InputKind
from tapegrad.export.lifting import Exchanged, Owned
from tapegrad.interop.arrays import from_jax_array
from tapegrad.nn import Module

REMEMBERED = (
    "shape classes", "plan templates", "symbolic kernels", "dynamic settings", "shipped classes", "call cache",
    "view cache",
)  # fmt: skip
"""The mechanisms that remember calls for other lengths: lengths that are not known have no part in it."""

CONSTANTS = (int, float, bool, str, complex, type(None))
KEY = jax.ShapeDtypeStruct(KEY_SHAPE, "uint32")


class TracedStream(KeyStream):
    """Random keys that follow from one that is traced."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        super().__init__()
        self.key = key

    def next_key(self) -> Any:
        """The next one."""
        self.offset += 1
        return jax.random.key_data(jax.random.fold_in(jax.random.wrap_key_data(self.key), self.offset))


@contextmanager
def drawing_from(stream: KeyStream) -> Iterator[None]:
    """Let the default generator take its numbers from a stream."""
    before, default_generator.stream = default_generator.stream, stream
    try:
        yield
    finally:
        default_generator.stream = before


class Literals(TorchFunctionMode):
    """The tensors that ``torch.tensor`` makes: kept when they are seen first, later replaced by arguments.

    What is computed without grad, where grad was on, has no tangents, through which gradients are found.

    Attributes:
        made: the tensors, in the order in which they are made.
        given: what to give in place of each.
    """

    def __init__(self, given: Sequence[Tensor] | None = None) -> None:
        super().__init__()
        self.grad = thread.modes.grad
        self.made: list[Tensor] = []
        self.given = given

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = self.call(func, args, kwargs or {})
        if func is not make_tensor or not is_plain(result):
            return result
        self.made.append(result.detach())
        return result if not self.given else self.given[len(self.made) - 1].clone()

    def call(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Call a function, where grad was switched off without tangents."""
        modes = thread.modes
        if modes.grad or not (self.grad and modes.forward_grad):
            return func(*args, **kwargs)
        thread.modes = modes.replace(forward_grad=False)
        try:
            return func(*args, **kwargs)
        finally:  # the function may be the one that switches grad on again
            thread.modes = thread.modes.replace(forward_grad=True)


def is_plain(tensor: Any) -> bool:
    """Tell whether a tensor has elements, and no history."""
    return isinstance(tensor, Tensor) and not tensor.requires_grad and not isinstance(value_of(tensor), jax.core.Tracer)


class TracedForward:
    """A module's ``forward`` as a function of tensors: see Note [Programs of modules].

    Args:
        module: a copy of the module.
        owned: its tensors that are arguments.
        literals: the tensors made by ``torch.tensor`` that are arguments; None if they are to be found.
        draws: whether a key is an argument.
        leaves: what the user gives, tensors and others.
        spec: the structure of ``(args, kwargs)``.
        changed: the numbers of the arguments that are written to; None if they are to be found.

    Attributes, known when it has been called:
        used: whether keys were taken; ``made``: what ``torch.tensor`` made.
        results: the leaves of what is returned; ``out_spec``: their structure.
        written: for each argument that was written to its number, and the tensor that it is now.
        inputs: the tensors of the arguments.
        sources: for each output what it is computed from: some of ``arguments``.
        lengths: the lengths of what the user gives that are not those of the example, by its place and the dimension.
        literals_mode: what gives literals.
        watching: makes a context around the call of the module.
    """

    def __init__(self, module: Module, owned: list[Owned], literals: list[Tensor] | None, draws: bool,
                 leaves: list, spec: TreeSpec, changed: list[int] | None = None) -> None:  # fmt: skip
        self.module, self.owned, self.literals, self.draws = module, owned, literals, draws
        self.leaves, self.spec, self.changed = leaves, spec, changed
        self.places = [index for index, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
        self.grad = thread.modes.grad  # its gradient is traced inside a backward, which records nothing
        self.used = False
        self.made: list[Tensor] = []
        self.sources: list[set[Any]] = []
        self.lengths: dict[tuple[int, int], Any] = {}
        self.watching: Callable[[TracedForward], AbstractContextManager[Any]] = lambda traced: nullcontext()

    @property
    def arguments(self) -> list[Any]:
        """The origin of each argument: where the module has it, its place among what the user gives, or None."""
        literals = [None] * len(self.literals or ())
        return [*(one.target for one in self.owned), *literals, *([None] if self.draws else []), *self.places]

    def __call__(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        before, exporting.on = exporting.on, True
        try:
            with switched(grad=self.grad), without(*REMEMBERED), jax.enable_x64(True):
                return self._run(list(tensors))
        finally:
            exporting.on = before

    def _run(self, tensors: list[Tensor]) -> tuple[Tensor, ...]:
        given = iter(tensors)
        owned = [moving(next(given), one) for one in self.owned]
        literals = None if self.literals is None else [still(next(given)) for _ in self.literals]
        key = array_of(value_of(next(given))) if self.draws else jnp.zeros(KEY_SHAPE, "uint32")
        users = list(given)
        leaves = list(self.leaves)
        for index, tensor in zip(self.places, users, strict=True):
            leaves[index] = tensor
        args, kwargs = self.spec.unflatten(leaves)
        first: dict[int, Tensor] = {}
        owned = [first.setdefault(id(one.tensor), given) for one, given in zip(self.owned, owned, strict=True)]
        self.inputs = [*owned, *([] if literals is None else literals), *users]
        values = list(map(value_of, self.inputs))
        stream, lits = TracedStream(key), Literals(literals)
        self.literals_mode = lits
        with Exchanged(self.module, self.owned, owned) as exchanged, drawing_from(stream), lits, self.watching(self):
            result = self.module(*args, **kwargs)
            now = exchanged.now()
        self.used, self.made = stream.offset > 0, lits.made
        self.results, self.out_spec = flatten(result)
        current = [*now, *self.inputs[len(now) :]]
        if self.changed is None:
            pairs = enumerate(zip(self.inputs, values, current, strict=True))
            self.changed = [
                number for number, (before, value, after) in pairs
                if after is not before or value_of(after) is not value
            ]  # fmt: skip
        self.written = [(number, current[number]) for number in self.changed]
        returned = [as_tensor(leaf) for leaf in self.results if is_value(leaf)]
        return (*(after for _, after in self.written), *returned)


def moving(tensor: Tensor, owned: Owned) -> Tensor:
    """A tensor as ``forward`` sees it, with its tangent if it is a parameter or requires grad."""
    return tensor if owned.kind == InputKind.PARAMETER or owned.tensor.requires_grad else still(tensor)


def still(tensor: Tensor) -> Tensor:
    """A tensor without its tangent."""
    return tensor if tangent_of(tensor) is None else unpack_dual(tensor).primal


def is_value(leaf: Any) -> bool:
    """Tell whether a result is computed by the program: a tensor, or a length that may be another one in each call.
    Raises RuntimeError: it is neither that nor a constant.
    """
    if isinstance(leaf, Tensor) or type(leaf) is SYMBOL:
        return True
    if isinstance(leaf, CONSTANTS):
        return False
    raise RuntimeError(
        f"Found {type(leaf)} in output, which is not a known type. If this type holds tensors, you need to register a "
        "pytree for it. See https://github.com/pytorch/functorch/issues/475 for a brief explanation why. If you don't "
        "need to register a pytree, please leave a comment explaining your use case and we'll make this more ergonomic "
        "to deal with"
    )


def as_tensor(leaf: Any) -> Tensor:
    """A result as a tensor."""
    return leaf if isinstance(leaf, Tensor) else from_jax_array(jnp.asarray(leaf, "int64"))
