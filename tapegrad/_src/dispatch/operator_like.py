"""The protocol of operators: what dispatch asks of an entry of the table, which is declared in a room above.

``ops/operator.py`` has the class that keeps it, and ``ops/facts.py`` says what the facts among its attributes mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tapegrad._src.caches import Interned


class OperatorLike(Protocol):
    """An operator, as dispatch sees it.

    Attributes:
        name: what it is called.
        inputs: the names of its array arguments; ``variadic`` is the name of any number of further ones, or None.
        defaults: the values of settings that are not given.
        formulas: derivatives by the names of inputs.
        underivable: PyTorch's name of an input that has no derivative, or None.
        calls, plans, kernels: what is remembered of its calls.
        joint: True if ``gradients`` gives the gradients of all inputs at once.
        broadcasts: True if inputs are broadcast, which a gradient has to undo.
        real: True if it takes no complex numbers.
        node: PyTorch's name of its nodes.
        outputs: the names of the outputs, where there are several.
        kind: what it is called after the way in which formulas are applied.
        jvp_formula: the forward-mode formula, or None.
    """

    name: str
    inputs: tuple[str, ...]
    variadic: str | None
    defaults: dict[str, Any]
    formulas: dict[str, Any]
    underivable: str | None
    calls: Any  # a ``CallCache``, which stands above
    plans: dict[tuple, Any]
    kernels: Interned
    joint: bool
    broadcasts: bool
    real: bool
    node: str
    outputs: tuple[str, ...] | None
    kind: str
    jvp_formula: Any
    # facts
    again: str | tuple[str, ...]
    aten: Any
    convention: Any
    special: tuple[float, ...]
    flowing: int | None
    loose: bool
    indifferent: bool
    looks: bool
    across_devices: bool
    numbers_are_tensors: bool
    plain_inputs: tuple[str, ...]
    loop: Any
    profile: str
    records_integers: bool
    rounds_once: bool | tuple[str, ...]
    saved: dict[str, Any]
    shows: bool
    spoilt: str
    tangent_of_result: bool
    turns: Any
    uniform: bool
    wraps_numbers: bool

    @property
    def lasting_name(self) -> str | None:
        """Its name, if that is the name of the same operator in each process."""

    @property
    def by_jax(self) -> Callable | None:
        """A function that its calls run in its place where jax's subgradients are chosen."""

    def __call__(self, *args: Any, **settings: Any) -> Any:
        """Record on tensors, compute on arrays and tracers."""

    def with_numbers(self, x: Any, numbers: tuple, settings: dict) -> Any:
        """``self(x, *numbers, **settings)`` for a tensor."""

    def input_name(self, position: int) -> str:
        """The name of the argument at ``position``."""

    def differentiable(self, position: int) -> bool:
        """Tell whether there is a formula for the argument at ``position``."""

    def formula(self, position: int) -> Any:
        """The formula for the argument at ``position``."""

    def prepare(self, specs: Sequence, settings: dict) -> Callable:
        """Check the arguments and return the array function to compile."""

    def is_own(self, settings: dict) -> bool:
        """Tell whether its kernel and its formulas run nothing but our own code."""

    def check(self, specs: Sequence, settings: dict) -> None:
        """Refuse arguments that the kernel can't take, before anything is run."""

    def is_wide(self, specs: Sequence, settings: dict) -> bool:
        """Tell whether it computes with 64-bit numbers."""

    def node_class(self, base: type, num_outputs: int) -> type:
        """The subclass of ``base`` which carries this operator's name."""

    def locate(self, name: str, position: int, specs: Sequence, num_outputs: int) -> tuple[str, Any]:
        """Find what the formula of the argument at ``position`` names."""

    def output_strides(self, shape: tuple[int, ...], specs: Sequence) -> tuple[int, ...] | None:
        """The strides of an output of this shape in memory; None for a contiguous one."""

    # -- formulas, by kind ---------------------------------------------------------------------------------------------

    @property
    def materialize(self) -> Callable[..., Sequence]:
        """Gives the gradients of all outputs, as formulas take them where there is none."""

    @property
    def gradient(self) -> Callable[..., Any]:
        """Gives the gradient of the argument at a position, by its formula."""

    @property
    def gradients(self) -> Callable[..., Any]:
        """Gives the gradients of all inputs at once; of a ``joint`` operator only."""

    @property
    def gradient_strides(self) -> Callable[..., tuple[int, ...] | None]:
        """Gives the layout of a gradient in memory; None for a contiguous one."""

    @property
    def passes(self) -> Callable[..., bool]:
        """Tells whether the gradient of an argument is that of the output, as it is."""

    @property
    def widened(self) -> Callable[..., Sequence]:
        """Gives halves as formulas compute with them: in single precision."""

    @property
    def jvp(self) -> Callable[..., Any]:
        """Gives the tangents of the outputs."""

    # -- saved fields --------------------------------------------------------------------------------------------------

    def field(self, name: str) -> str:
        """PyTorch's name of a saved field."""

    def own_name(self, field: str) -> str:
        """Our name of a saved field."""

    def wrapped(self, item: Any) -> Any:
        """A saved item as it is shown."""

    def saved_fields(self) -> list[str]:
        """PyTorch's names of what a node shows that it has saved."""

    def readable_fields(self) -> set[str]:
        """Those of them that can be read."""

    def saved_tensor_fields(self, node: Any) -> list[str]:
        """Those of them that are tensors."""

    def saved_index(self, plan: Any, name: str) -> Any:
        """The place of a saved item among those of the node."""

    def read_saved(self, node: Any, field: str) -> Any:
        """The item that a node has saved under PyTorch's name."""

    def read_raw_saved(self, node: Any, field: str) -> Any:
        """The saved tensor itself, with its hooks."""
