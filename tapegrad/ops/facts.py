"""Facts of an operator that are neither its kernel nor its formulas, and what they are where nothing is declared.

Note [Facts]
All that is known of an operator is said where it is declared, in the decorator's arguments: formulas are named like the
inputs that they belong to, facts like the attributes of ``Facts``::

    @elementwise(y=lambda g, x, y, out: ..., aten="pow.Scalar", node=2, family="pow", saved={"exponent": "y"})
    def number_pow(x, y): ...

What follows is not said. PyTorch names nodes after its operators, so that ``node=2`` means ``PowBackward2``, and
nothing ``PowBackward0``; the ``default`` overload of the operator of the same name goes without saying, too. What is
known of no operator alone stands in tables: what names of inputs and settings mean (``SAVED_NAMES``, ``MASKS``,
``PARAMETERS``), which overloads a name has in ``torch.ops`` (``OVERLOADS``), and what is said of each way to be
``spoilt`` (``CAUSES``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Facts:
    """The facts that may be declared of an operator, with their values otherwise. See Note [Facts]."""

    aten: str | Callable[..., str] | None = ""
    """PyTorch's operator and overload, ``"add.Tensor"``, told by the arguments if it depends on them. What is left out
    is the ``family``, or else the name, and ``default``. None: PyTorch has none. See Note [Identities]."""
    profile: str = ""
    """Its name in profiles, where that is neither a function of its name nor what ``aten`` says."""
    family: str = ""
    """The operator of the table of which this one is the variant for some kinds of arguments."""
    saved: dict[str, Any] = {}
    """PyTorch's names of saved fields: for each our name, or how it is computed from the plan of the call, or what it
    always is."""
    again: str | tuple[str, ...] = ""
    """Of gradients that depend on no input: ``"zeros"`` if theirs are zeros with a history, ``"zeros, unmapped"`` if so
    but at ``vmap``; inputs to which they have a history, but no gradients. See Note [Constant gradients]."""
    convention: Any = None
    """The difference of PyTorch's derivative from jax's: a ``Convention``, see Note [Two conventions]."""
    xla: str = ""
    """The primitive for which NumPy has no rule: kernels or backward are XLA's, whatever their size."""
    on_host: str = ""
    """The platforms of which XLA has no such algorithm: there its kernel runs on the host. See Note [Kernels on the
    host]."""
    special: tuple[float, ...] = ()
    """The numbers at which another formula holds for a float setting, as it does where that is not finite: see ``same``
    in ``kinds.py``."""
    spoilt: str = ""
    """The usual cause of a nan or inf of finite operands: one of the causes of ``nonfinite_report.py``."""
    edge: tuple[str, int | None, str] | None = None
    """The place at which its derivative is infinite: what it saved, the number that this must not be (None: inf), and
    the advice."""
    flowing: int | None = None
    """The number of its outputs that take gradients, if only the first of those that could do so."""
    gradient_lies: Any = None
    """The layout of gradients, if not that of those of such operators. See Note [Gradients as views]."""
    lies: Callable[..., Any] | None = None
    """The layout of outputs in memory: one of the rules of ``memory_formats.py``, which tells strides from a shape and
    the specs of the inputs."""
    loose: bool = False
    """True if its settings are lengths that need not follow from others, as those of a view."""
    indifferent: bool = False
    """True if it is computed in the same way where lengths of two or more are equal by chance."""
    looks: bool = False
    """True if its formulas look at the numbers of tensors, and so can't be run in one piece at a level."""
    across_devices: bool = False
    """True if its arguments may be on several devices: it is run on that of the first."""
    numbers_are_tensors: bool = False
    """True if a Python number among the inputs counts as a tensor, made where the call is."""
    plain_inputs: tuple[str, ...] = ()
    """Inputs that are plain numbers of the node (an index, a start): saved, but not freed after a backward."""
    loop: Any = None
    """NumPy functions for any number of arguments or results: ``OperandLoop``, see Note [Many operands]."""
    records_integers: bool = False
    """True if integers that it gives require grad: see Note [Written integers]."""
    rounds_once: bool | tuple[str, ...] = ()
    """The inputs whose gradients PyTorch computes by one kernel each; True for all. See Note [Halves]."""
    shows: bool = False
    """True if the result shows its input's memory in a shape that may have more elements."""
    tangent_of_result: bool = False
    """True if PyTorch computes its tangent from the result, where the gradient of another input reads the first."""
    turns: tuple[str | int, ...] | Callable[..., tuple[str | int, ...]] = ()
    """The inputs, by name or position, in the order in which PyTorch's nodes give gradients to leaves, if not in that
    of the parameters; told by the specs of all if it depends on them. See Note [Turns]."""
    undefined: bool = False
    """True if formulas get None for a gradient of one of several outputs that is not there, where others get zeros."""
    uniform: bool = False
    """True if it is computed in the same way where lengths are one, or equal by chance. See Note [Shape classes]."""
    wraps_numbers: bool = False
    """True if a Python number among the inputs is shown, and freed, as a tensor that was saved."""


FACTS = frozenset(name for name in vars(Facts) if not name.startswith("_"))
"""The names of the facts."""

OPTIONS = FACTS | {"jvp", "outputs", "promote", "node", "name", "real"}
"""The names in a declaration besides formulas, which have the names of inputs."""


def node_name(operator: str, node: str | int) -> str:
    """PyTorch's name of a node: as it is given, or made of that of the operator and a number.

    >>> node_name("max_pool2d_with_indices", 0), node_name("_fft_c2c", 0), node_name("pow", "SelectBackward0")
    ('MaxPool2DWithIndicesBackward0', 'FftC2CBackward0', 'SelectBackward0')
    """
    return node if isinstance(node, str) else f"{operator.replace('_', ' ').title().replace(' ', '')}Backward{node}"
