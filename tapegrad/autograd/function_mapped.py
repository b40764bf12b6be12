"""Custom functions of all examples of a ``vmap``, made of those of one: what ``generate_vmap_rule`` asks for.

See Note [Custom functions at a level] in ``function_levels.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad.autograd.function_node import BackwardCFunction, call_backward, no_backward
from tapegrad.dispatch.levels import lift, lower
from tapegrad.ops.operator import broadcast_to
from tapegrad.tensor.lifted import Level
from tapegrad.tensor.tensor import Tensor, value_of, write
from tapegrad.tensor.trees import TreeSpec, flatten, map_leaves, unflatten


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

    Its tensors have the examples in front: its outputs, of those arguments that are ``batched``, and of what is saved
    what an example has of its own.

    Args:
        function: that of one example.
        batched: for each leaf of the arguments, whether it has one more dimension.
        structure: of the arguments.
        size, randomness: of the ``vmap``.
    """

    vjp = staticmethod(no_backward)
    vmap = staticmethod(no_vmap)
    generate_vmap_rule = True
    clear_saved_tensors_on_access = boxed_grads_call = False

    def __init__(
        self, function: Any, batched: tuple[bool, ...], structure: TreeSpec, size: int, randomness: str
    ) -> None:
        self.function, self.batched, self.structure = function, batched, structure
        self.size, self.randomness = size, randomness
        self.__name__ = f"Vmapped{function.__name__}"
        self._backward_cls = type(f"{self.__name__}Backward", (BackwardCFunction,), {"_forward_cls": self})

    @classmethod
    def of(cls, function: Any, batched: tuple[bool, ...], structure: TreeSpec, level: Level) -> Mapped:
        """The one for such arguments at a level, made when first asked for; the function keeps it."""
        variants = function.__dict__.get("_mapped")
        if variants is None:
            variants = function._mapped = {}
        key = (batched, repr(structure), level.size, level.randomness)
        found = variants.get(key)
        if found is None:
            found = variants.setdefault(key, cls(function, batched, structure, level.size, level.randomness))  # type: ignore[arg-type]
        return found

    def new_level(self) -> Level:
        """The ``vmap`` again."""
        return Level(self.size, self.randomness)

    def forward(self, *args: Any) -> Any:
        """The outputs of all examples. What the function returns as it was given, but written to, is so here too."""
        with self.new_level() as level:
            examples = self.examples(args, level)
            output = self.function.forward(*examples.args)
            return map_leaves(examples.whole, output)

    def setup_context(self, ctx: Any, inputs: tuple, output: Any) -> None:
        """Let the function set up its context for one example."""
        with self.new_level() as level:
            examples = self.examples(inputs, level)
            outputs = map_leaves(examples.of_output, output)
            inner = ExampleCtx(ctx, level, self, examples)
            self.function.setup_context(inner, examples.args, outputs)
            inner.note("shapes", [tuple(x.shape) if isinstance(x, Tensor) else None for x in examples.leaves])

    def backward(self, ctx: Any, *grads: Any) -> tuple:
        """The gradients of the arguments: of one that all examples share, the sum over the examples."""
        with self.new_level() as level:
            inner = ExampleCtx(ctx, level, self)
            results = call_backward(self.function, inner, [lifted(grad, level, True) for grad in grads])
            results = results if isinstance(results, tuple) else (results,)
            wanted = zip(self.batched_arguments(len(results)), inner.noted("shapes"), strict=False)
            fitted = [
                grad.sum_to_size(shape) if batched and shape is not None and isinstance(grad, Tensor) else grad
                for grad, (batched, shape) in zip(results, wanted, strict=False)
            ]
            return tuple(
                gathered(grad, batched, level)
                for grad, batched in zip(fitted + list(results[len(fitted) :]), self.batched_arguments(len(results)))
            )

    def jvp(self, ctx: Any, *tangents: Any) -> Any:
        """The tangents of the outputs."""
        with self.new_level() as level:
            ...
