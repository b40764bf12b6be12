"""Custom functions of all examples of a ``vmap``, made of those of one: what ``generate_vmap_rule`` asks for.

See Note [Custom functions at a level] in ``function_levels.py``.
"""

from __future__ import annotations

from typing import Any

from tapegrad._src.dispatch.function_levels import handle, lift, lower
from tapegrad._src.tensor.lifted import Level
from tapegrad._src.tensor.tensor import Tensor, version_of
from tapegrad._src.tensor.trees import flatten, map_leaves, unflatten
from tapegrad.autograd.function_node import BackwardCFunction, call_backward, no_backward
from tapegrad.ops.kinds import broadcast_to


def no_vmap(info: Any, in_dims: tuple, *args: Any) -> Any:
    """Say what the function does under ``torch.vmap``; to be overridden, unless ``generate_vmap_rule`` is set.

    Args:
        info: ``batch_size`` and ``randomness`` of the transform.
        in_dims: for each of the arguments which of its dimensions holds the examples, or None.
        args: as they are outside the transform.

    Returns:
        the output, and which of its dimensions holds the examples: an int or None, or a tree of them like the output.
    """
    raise NotImplementedError(
        "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
        "generate_vmap_rule=True."
    )


class Mapped:
    """A custom function of all examples; it counts as a function itself, also inside another ``vmap``.

    Its tensors have the examples in front: its outputs, those of its arguments that are ``batched``, and of what is
    saved all that differs between examples.

    Args:
        function: that of one example.
        batched: for each argument, whether it is a tensor with one more dimension; a tree of that for a tree.
        size, randomness: of the ``vmap``.
    """

    vjp = staticmethod(no_backward)
    vmap = staticmethod(no_vmap)
    generate_vmap_rule = True
    clear_saved_tensors_on_access = boxed_grads_call = False

    def __init__(self, function: Any, batched: tuple, size: int, randomness: str) -> None:
        self.function, self.batched, self.size, self.randomness = function, batched, size, randomness
        self.__name__ = f"Vmapped{function.__name__}"
        self._backward_cls = type(f"{self.__name__}Backward", (BackwardCFunction,), {"_forward_cls": self})

    @classmethod
    def of(cls, function: Any, batched: Any, level: Level) -> Mapped:
        """The one for such arguments at a level, made when first asked for; the function keeps it."""
        variants = function.__dict__.get("_mapped")
        if variants is None:
            variants = function._mapped = {}
        key = (repr(batched), level.size, level.randomness)
        found = variants.get(key)
        if found is None:
            found = variants[key] = cls(function, batched, level.size, level.randomness)  # type: ignore[arg-type]
        return found

    def forward(self, *args: Any) -> Any:
        """The outputs of all examples; one that was given, and written to, is given back as it is."""
        with Level(self.size, self.randomness) as level:
            examples = Examples(level)
            output = self.function.forward(*examples.of(args, self.batched))
            return map_leaves(examples.whole, output)

    def setup_context(self, ctx: Any, inputs: tuple, output: Any) -> None:
        """Let the function set up its context, for one example."""
        with Level(self.size, self.randomness) as level:
            examples = Examples(level)
            given = examples.of(inputs, self.batched)
            results = map_leaves(examples.take, output)
            inner = ExampleCtx(ctx, self, examples)
            self.function.setup_context(inner, given, results)
            inner.note("shapes", [tuple(x.shape) if isinstance(x, Tensor) else None for x in given])

    def backward(self, ctx: Any, *grads: Any) -> tuple:
        """The gradients of the arguments: of one that all examples share, the sum over the examples."""
        with Level(self.size, self.randomness) as level:
            examples = Examples(level)
            inner = ExampleCtx(ctx, self, examples)
            results = call_backward(self.function, inner, [examples.take(grad) for grad in grads])
            results = results if isinstance(results, tuple) else (results,)
            known = [*zip(self.batched, inner.noted("shapes"), strict=True)]
            known += [(False, None)] * (len(results) - len(known))  # too many: what stands further out will say so
            return tuple(
                examples.gradient(grad, batched, shape)
                for grad, (batched, shape) in zip(results, known[: len(results)], strict=True)
            )

    def jvp(self, ctx: Any, *tangents: Any) -> Any:
        """The tangents of the outputs; one that was given, and written to, is given back as it is."""
        with Level(self.size, self.randomness) as level:
            examples = Examples(level)
            given = [examples.take(t, batched is True) for t, batched in zip(tangents, self.batched, strict=True)]
            result = self.function.jvp(ExampleCtx(ctx, self, examples), *given)
            return map_leaves(examples.whole, result)


class Examples:
    """Tensors of all examples at a ``vmap`` level, and what they are there; each keeps its identity, both ways."""

    __slots__ = ("level", "inside", "outside")

    def __init__(self, level: Level) -> None:
        self.level = level
        self.inside: dict[int, tuple[Tensor, Tensor]] = {}
        self.outside: dict[int, tuple[Tensor, Tensor]] = {}

    def take(self, item: Any, batched: bool = True) -> Any:
        """One example of what holds all of them; anything else as it is."""
        if not (batched and isinstance(item, Tensor)):
            return item
        pair = self.inside.get(id(item))
        if pair is None:
            pair = item, lift(item, self.level, True)
            self.inside[id(item)] = self.outside[id(pair[1])] = pair
        return pair[1]

    def of(self, args: tuple, batched: tuple) -> tuple:
        """One example of the arguments of a function."""
        leaves, spec = flatten(args)
        flags = flatten(batched)[0]
        return unflatten([self.take(leaf, flag) for leaf, flag in zip(leaves, flags, strict=True)], spec)

    def outer(self, item: Any) -> tuple[Any, bool]:
        """The thing outside that something at the level is, and whether it holds all examples."""
        if id(item) in self.outside:
            return self.outside[id(item)][0], True
        if isinstance(item, Tensor) and item._spec.level == self.level.depth:
            return lower(item, self.level)
        return item, False

    def whole(self, item: Any) -> Any:
        """A result with all examples in front; a new tensor, unless the result was written to."""
        if not isinstance(item, Tensor):
            return item
        pair = self.outside.get(id(item))
        if pair is not None and version_of(item):
            return pair[0]
        tensor, batched = lower(item, self.level)
        with self.level.outside():
            if pair is not None:
                tensor = handle(tensor)
            return tensor if batched else broadcast_to(tensor, shape=(self.level.size, *tensor.shape))

    def gradient(self, grad: Any, batched: bool, shape: tuple[int, ...] | None) -> Any:
        """The gradient of an argument that is ``batched`` or not, of which an example has this shape."""
        if not isinstance(grad, Tensor):
            return grad
        if batched is True:
            return self.whole(grad if shape is None or grad.shape == shape else grad.sum_to_size(shape))
        tensor, several = lower(grad, self.level)
        with self.level.outside():
            return tensor.sum(0) if several else tensor


class ExampleCtx:
    """The ``ctx`` of one example, on that of all: attributes are those of the one further out, tensors are examples."""

    __slots__ = ("_further_out", "_function", "_examples")

    def __init__(self, ctx: Any, function: Mapped, examples: Examples) -> None:
        for name, value in (("_further_out", ctx), ("_function", function), ("_examples", examples)):
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._further_out, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._further_out, name, value)

    def note(self, name: str, value: Any) -> None:
        """Keep something about this function with the context that is furthest out."""
        if getattr(self._further_out, "_noted", None) is None:
            self._further_out._noted = {}
        self._further_out._noted[self._function, name] = value

    def noted(self, name: str) -> Any:
        """The thing that was kept."""
        return self._further_out._noted[self._function, name]

    def save_for_backward(self, *tensors: Any) -> None:
        """As ``FunctionCtx.save_for_backward``."""
        self._further_out.save_for_backward(*self._outer("backward", tensors))

    def save_for_forward(self, *tensors: Any) -> None:
        """As ``FunctionCtx.save_for_forward``."""
        self._further_out.save_for_forward(*self._outer("forward", tensors))

    def mark_dirty(self, *args: Any) -> None:
        """As ``FunctionCtx.mark_dirty``."""
        self._further_out.mark_dirty(*[self._examples.outer(arg)[0] for arg in args])

    def mark_non_differentiable(self, *args: Any) -> None:
        """As ``FunctionCtx.mark_non_differentiable``."""
        self._further_out.mark_non_differentiable(*[self._examples.outer(arg)[0] for arg in args])

    def _outer(self, use: str, tensors: tuple) -> list:
        pairs = [self._examples.outer(tensor) for tensor in tensors]
        self.note(use, [batched for _, batched in pairs])
        return [item for item, _ in pairs]

    @property
    def saved_tensors(self) -> tuple:
        """The saved tensors, one example of each."""
        ctx, examples = self._further_out, self._examples
        use = "backward" if ctx.saved_for_forward is None else "forward"
        with examples.level.outside():
            items = ctx.saved_tensors
        return tuple(examples.take(item, batched) for item, batched in zip(items, self.noted(use), strict=True))
