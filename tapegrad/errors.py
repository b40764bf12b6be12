"""Exception classes and the one way in which tapegrad words an error: what, expected, got, the way out.

Where PyTorch has a message of its own, programs match it by regular expression, and ours is PyTorch's to the letter.
Where PyTorch has none, ``message`` builds one.
"""

from __future__ import annotations

from typing import Any

from tapegrad._src.warn import warn


class NotDifferentiableError(NotImplementedError):
    """An operator was asked for a derivative that it does not have.

    It is a ``NotImplementedError``, as in PyTorch, and its text names the operator and the mode (reverse, forward).
    """


class ComplexHalfError(NotImplementedError):
    """The result of a function is of complex halves, which a room above has. See Note [Complex halves]."""

    def __init__(self, function: str) -> None:
        super().__init__(f"{function}: the result would be complex32, which it does not make; cast to complex64 first")


class LinAlgError(RuntimeError):
    """A linear-algebra routine could not go on (a singular matrix, say); PyTorch's ``torch.linalg.LinAlgError``."""

    __module__ = "tapegrad._C"  # where PyTorch has it, under the name that it shows


LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"


class OutOfMemoryError(RuntimeError):
    """The device has no memory left for a result; PyTorch's ``torch.OutOfMemoryError``."""

    __module__ = "tapegrad"


class AcceleratorError(RuntimeError):
    """An error of an accelerator's own: programs catch it by name; XLA's come as ``RuntimeError``."""

    __module__ = "tapegrad"


def message(what: str, *, expected: object = None, got: object = None, hint: str | None = None) -> str:
    """Build the text of an error: what happened, what was expected, what came instead, and the way out.

    >>> message("MulBackward0: grad_input 0 has the wrong shape", expected=(2, 3), got=(3,),
    ...         hint="does its formula undo broadcasting?")
    'MulBackward0: grad_input 0 has the wrong shape: expected (2, 3), got (3,); does its formula undo broadcasting?'
    """
    text = what
    if expected is not None:
        text += f": expected {expected}, got {got}"
    return f"{text}; {hint}" if hint else text


SECOND_BACKWARD = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
    "saved tensors after calling backward."
)
"""PyTorch's answer to a use of saved values that have been freed."""

INFERENCE_IN_PLACE = (
    "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal "
    "tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
)

INFERENCE_SAVED = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
    "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in "
    "autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
)

_CLARIFY = (
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
    "the view and the inplace either both inside the {} block (if you don't want the inplace to be tracked) or both "
    "outside (if you want the inplace to be tracked)."
)

CREATION: dict[str, tuple[tuple[str, str] | None, str]] = {
    "no_grad": (("no_grad mode", "with grad mode enabled"), _CLARIFY.format("no_grad")),
    "inference": (("inference mode", "in normal mode"), _CLARIFY.format("inference_mode")),
    "multi_output": (
        None,
        "This view is the output of a function that returns multiple views. Such functions do not allow the output "
        "views to be modified inplace. You should replace the inplace operation by an out-of-place one.",
    ),
    "function": (
        None,
        "This view was created inside a custom Function (or because an input was returned as-is) and the autograd "
        "logic to handle view+inplace would override the custom backward associated with the custom Function, leading "
        "to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom "
        "Function.",
    ),
}
"""Why a view may not be written to where gradients are recorded: how it was created (in a mode, and what the write
would have to be in), and PyTorch's advice."""

NO_FORWARD = (
    "Trying to use forward AD with {} that does not support it because it has not been implemented yet."
)

SHOWN_TWICE = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
    "Please clone() the tensor before performing the operation."
)

LEAF = "a leaf Variable that requires grad is being used in an in-place operation."
VIEW_OF_LEAF = "a view of a leaf Variable that requires grad is being used in an in-place operation."

INFERENCE_REQUIRES_GRAD = "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."


def out_of_storage(shape: Any, strides: Any, offset: int, itemsize: int, available: int) -> str:
    """PyTorch's message for what reaches beyond its memory, which has so many bytes."""
    needed = itemsize * (1 + offset + sum((length - 1) * step for length, step in zip(shape, strides, strict=True)))
    return (
        f"setStorage: sizes {list(shape)}, strides {list(strides)}, storage offset {offset}, and itemsize {itemsize} "
        f"requiring a storage size of {needed} are out of bounds for storage of size {available}"
    )


class WarnOnce:
    """Which of the once-per-process warnings have been given, and whether to give them each time.

    Attributes:
        calls: how often there was a reason for one.
    """

    def __init__(self) -> None:
        self.always, self.calls = False, 0
        self.given: set[str] = set()

    def __call__(self, text: str, category: type[Warning] = UserWarning, about: str | None = None) -> None:
        """Warn with ``text``, once per process or once ``about`` something, unless ``set_warn_always`` is on."""
        self.calls += 1
        if self.always or (about or text) not in self.given:
            self.given.add(about or text)
            warn(text, category)


warn_once = WarnOnce()


def set_warn_always(enabled: bool, /) -> None:
    """Give once-per-process warnings each time, or go back to once.

    Args:
        enabled: whether each time.
    """
    warn_once.always = bool(enabled)


def is_warn_always_enabled() -> bool:
    """Tell whether once-per-process warnings are given each time."""
    return warn_once.always
