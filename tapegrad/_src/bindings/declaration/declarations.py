"""Declarations of a function beside what it computes: how it writes, in place and into tensors given as ``out=``.

Note [Declared once]
All that stands about a function stands at its ``public`` (``registry.py``), and what follows from a rule is not said at
all. PyTorch's signatures (``parser_table.py``) are such a rule: a function takes ``out=`` if its signature has it, a
method has an in-place variant if there is a signature of its name with an underscore, and the variant is a function of
``torch`` if there is one of that. ``Out`` and ``InPlace`` are what is particular about them, with PyTorch's messages.
For a function that PyTorch has not got, ``in_place=True`` and ``out=True`` say that there are such forms.
What is known of an operator stands at its own declaration: Note [Facts] in ``ops/facts.py``.
In messages stand ``{R}`` for the dtype of the result and ``{O}`` for that of the target; in small letters C++'s names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from tapegrad._src.bindings.declaration.parser_table import FUNCTIONS, METHODS
from tapegrad._src.execution.data.dtypes import BOOL, dtype
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops.checks import cpp_name

Words = str | Callable[[tuple, dtype], str | None] | None
"""A message, or what says of the arguments of a call, and of the target's dtype, which it is."""

EXPECTED = "Expected out tensor to have dtype {r}, but got {o} instead"
OTHER_DTYPE = "Found dtype {O} but expected {R}"

RESIZED = (
    "An output with one or more elements was resized since it had shape {old}, which does not match the required "
    "output shape {new}. This behavior is deprecated, and in a future PyTorch release outputs will not be resized "
    "unless they have zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to zero "
    "elements with t.resize_(0)."
)


class Computes(NamedTuple):
    """In which dtypes a function computes if the target has one of them.

    Attributes:
        least: their least category.
        kernel: the kernel that PyTorch says it has not got for other targets.
        real: whether complex targets are such others.
        converts: whether the result is converted to the target's dtype instead, whatever that is.
    """

    least: int = BOOL
    kernel: str = ""
    real: bool = False
    converts: bool = False


class Out(NamedTuple):
    """The particulars of a function that is called with ``out=``. See Note [Results written into tensors].

    Attributes:
        dtype: what is said of a target that is not of the result's very dtype; None if it may be cast to the target's.
        cast: what is said, in words of its own, of a target that the result can't be cast to; or the error, and that.
        computes: in which dtypes it computes for targets of them; None if targets have no say.
        history: what becomes of histories. ``"refused"``: arguments must not require grad; ``"none"``: they may, as it
            has no derivative; ``"copied"``: they may, as what is recorded is that the result is copied into the target;
            ``"unknown"``: PyTorch's dispatcher refuses targets that require grad, and backward through the result.
        called: the function that PyTorch's derivatives, in reverse and in forward mode, stop at, if another one; or the
            one of forward mode, and that of reverse mode.
        apart: whether it may not write into a tensor that it reads from, not even into just the same places; or whether
            that is so ``"but the first"`` argument, which the target may be.
        resizes: whether the target gets its shape before anybody looks whether it shows a place twice.
        resized: what is warned of where a target that is not empty gets another shape; nothing if that is empty.
        rows: whether it gets one row by row, however the result is laid out; ``"elements"``: if it has elements;
            ``"complex"``: if the result is of real numbers, and computed of complex ones.
        random: whether it draws random numbers.
        makes: what it makes of options alone, which are then the target's: ``"elements"``; ``"as many"`` elements as
            the target has, which then keeps its shape; or ``"nothing"``, as it is not filled.
        single: what is said if it gives several results there; an error about the argument, if that is empty.
        unlisted: whether it takes ``out=`` though PyTorch has no signatures of it that say so.
    """

    dtype: Words = None
    cast: Words | tuple[type[Exception], str] = None
    computes: Computes | None = None
    history: Literal["refused", "none", "copied", "unknown"] = "refused"
    called: str | tuple[str, str] | None = None
    apart: bool | str = False
    resizes: bool = False
    resized: str = RESIZED
    rows: bool | str = False
    random: bool = False
    makes: Literal["", "elements", "as many", "nothing"] = ""
    single: str = ""
    unlisted: bool = False


class InPlace(NamedTuple):
    """The particulars of the in-place variant of a method.

    Attributes:
        node: the name of its node, if the method has a node of another name.
        overlapping: whether it takes a tensor that shows a place several times; ``"deprecated"``: with a warning.
        apart: whether operands are refused that share a part of the memory with it; ``"strictly"``: or all of it.
        check: refuses a tensor and the result computed for it.
        underivable: whether its derivative is refused under its own name.
        recorded: whether autograd looks at it: then a leaf that requires grad is refused.
        first: refuses operands before the function does, and before memory that is shown twice is refused.
        composed: whether that comes before a leaf is refused, too, as where PyTorch calls other functions.
        captured: what ``vmap`` calls it where it writes examples to a tensor that has none, or what it calls some
            overloads; see ``refuse_captured``.
        overloads: what PyTorch calls its overloads for a number and for a tensor, where that are no others; or what
            says of the arguments of a call which it is; see ``overload_of``.
        fast: what makes it need not go the long way, and with which operators: Note [Repeated writes].
        unlisted: whether there is one though PyTorch has no signature of it.
    """

    node: str | None = None
    overlapping: bool | str = False
    apart: bool | str = True
    check: Callable[[Tensor, Tensor], None] | None = None
    underivable: bool = False
    recorded: bool = True
    first: Callable[..., None] | None = None
    composed: bool = False
    captured: str | Mapping[str, str] | None = None
    overloads: tuple[str, str] | Callable[..., str] = ("Scalar", "Tensor")
    fast: tuple[Any, ...] | None = None
    unlisted: bool = False


ORDINARY_OUT, ORDINARY_IN_PLACE = Out(), InPlace()

ARITHMETIC = "inplace arithmetic"
"""The names of some in-place variants in messages of ``vmap``."""

IN_TARGETS_DTYPE = Out(EXPECTED, computes=Computes())
"""Of functions that compute in the dtype of the target, whichever it is."""

MADE = Out(EXPECTED, computes=Computes(), resizes=True, resized="", makes="elements")
"""Of functions that make tensors of a size, in the dtype of the target."""


def takes_out(name: str) -> bool:
    """Tell whether PyTorch has a function of this name that takes ``out=``.

    >>> takes_out("add"), takes_out("flip")
    (True, False)
    """
    return " out=" in FUNCTIONS.get(name, "")


def is_method(name: str) -> bool:
    """Tell whether PyTorch has signatures by which a method of this name could be called."""
    return name in METHODS or name in FUNCTIONS


def refuse_wider(message: str) -> Callable[[Tensor, Tensor], None]:
    """A check of in-place variants: the result must be of no higher category of dtypes than the tensor."""

    def check(tensor: Tensor, result: Tensor) -> None:
        if result.dtype.category > tensor.dtype.category:
            raise RuntimeError(said(message, result.dtype, tensor.dtype))

    return check


def said(message: str, result: Any, target: Any) -> str:
    """A message with the names of two dtypes in it."""
    return message.format(R=result.scalar_name, O=target.scalar_name, r=cpp_name(result), o=cpp_name(target))
