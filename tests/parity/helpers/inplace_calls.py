"""One call of every in-place operator of PyTorch, for tests that look at each of them in many situations.

A call is a function of the module, of the tensor that is written to (of 2 rows and 3 columns), and of ``Operands``.
"""

from collections.abc import Callable
from typing import Any, NamedTuple


class Operands:
    """What calls take beside the tensor that they write to, made by the module, in the dtype of that tensor.

    Floating ones require grad where ``grads`` says so.
    """

    def __init__(self, torch: Any, dtype: Any, grads: bool = False) -> None:
        self.torch, self.dtype = torch, dtype
        self.grads = grads and (dtype.is_floating_point or dtype.is_complex)
        self.leaves: list[Any] = []

    def of(self, values: Any) -> Any:
        """A tensor of these values (halves are rounded down where the dtype is integral)."""
        tensor = self.torch.tensor(values).to(self.dtype)
        if self.grads:
            self.leaves.append(tensor.requires_grad_())
        return tensor

    @property
    def y(self) -> Any:
        return self.of([[1.0, 2.0, 1.5], [1.5, 2.0, 3.0]])

    @property
    def z(self) -> Any:
        return self.of([[2.0, 1.5, 1.0], [1.0, 3.0, 2.0]])

    @property
    def row(self) -> Any:
        return self.of([1.0, 2.0, 1.5])

    @property
    def one_row(self) -> Any:
        return self.of([[1.0, 2.0, 1.5]])

    @property
    def pair(self) -> Any:
        return self.of([1.5, 1.0])

    @property
    def zero_dim(self) -> Any:
        return self.of(2.0)

    @property
    def square(self) -> Any:
        return self.of([[1.0, 2.0], [1.5, 1.0]])

    @property
    def mask(self) -> Any:
        return self.torch.tensor([[True, False, True], [False, True, True]])

    def at(self, values: Any) -> Any:
        """Indices."""
        return self.torch.tensor(values)


class Call(NamedTuple):
    """A call: its name, what is done, and how much larger than 1 the elements have to be."""

    name: str
    run: Callable[[Any, Any, Operands], Any]
    lift: float = 0.0


def plain(name: str, *args: Any, lift: float = 0.0, label: str = "", **kwargs: Any) -> Call:
    """A method with arguments that are no tensors."""
    return Call(label or name, lambda torch, x, o: getattr(x, f"{name}_")(*args, **kwargs), lift)


def beside(name: str, operand: str = "y", label: str = "", **kwargs: Any) -> Call:
    """A method with one operand."""
    return Call(label or name, lambda torch, x, o: getattr(x, f"{name}_")(getattr(o, operand), **kwargs))


OF_ONE = """
abs absolute acos arccos asin arcsin asinh arcsinh atan arctan atanh arctanh ceil conj_physical cos cosh deg2rad
digamma erf erfc erfinv exp exp2 expm1 fix floor frac i0 lgamma log log10 log1p log2 logical_not logit nan_to_num
neg negative rad2deg reciprocal round rsqrt sgn sigmoid sign sin sinc sinh sqrt square tan tanh tril triu trunc
""".split()  # noqa: SIM905 - a table is easier to read without the quotes
"""Functions of one tensor that have an in-place variant and take ``out=``."""

OF_TWO = """
add sub subtract mul multiply div divide true_divide atan2 arctan2 copysign eq ne not_equal lt less le less_equal gt
greater ge greater_equal float_power floor_divide fmod remainder hypot logical_and logical_or logical_xor pow xlogy
igamma igammac heaviside nextafter ldexp clamp_min clamp_max
""".split()  # noqa: SIM905 - a table is easier to read without the quotes
"""Such functions of two."""

OF_TWO_INTEGERS = [f"bitwise_{name}" for name in ("and", "or", "xor", "left_shift", "right_shift")] + ["gcd", "lcm"]
"""Functions of two tensors of integers."""

UNARY = [plain(name) for name in [*OF_ONE, "bitwise_not", "relu", "zero"]] + [
    plain("acosh", lift=1),
    plain("arccosh", lift=1),
    plain("polygamma", 1),
    plain("mvlgamma", 2, lift=1),
    plain("cumsum", 1),
    plain("cumprod", 0),
    plain("renorm", 2, 0, 0.5),
    plain("fill_diagonal", 3.0),
    plain("fill", 2),
    plain("clamp", 0.3, 0.6),
    plain("clip", min=0.4),
    plain("clamp_min", 0.4, label="clamp_min number"),
    plain("clamp_max", 0.6, label="clamp_max number"),
    plain("pow", 2, label="pow number"),
    plain("float_power", 2, label="float_power number"),
    plain("round", decimals=1, label="round to decimals"),
    plain("tril", -1, label="tril below"),
    plain("logit", 0.25, label="logit eps"),
]

BINARY = [beside(name) for name in [*OF_TWO, *OF_TWO_INTEGERS, "copy"]] + [
    beside("add", "row", "add a row"),
    beside("mul", "zero_dim", "mul by a 0-dim tensor"),
    beside("fill", "zero_dim", "fill with a tensor"),
    beside("add", alpha=2, label="add alpha"),
    beside("sub", alpha=2, label="sub alpha"),
    beside("div", rounding_mode="floor", label="div floor"),
    beside("div", rounding_mode="trunc", label="div trunc"),
    beside("copy", "row", "copy a row"),
]

OTHERS = [
    Call("add a number", lambda t, x, o: x.add_(2)),
    Call("sub a number", lambda t, x, o: x.sub_(2)),
    Call("mul by a number", lambda t, x, o: x.mul_(2)),
    Call("div by a number", lambda t, x, o: x.div_(2)),
    Call("remainder of a number", lambda t, x, o: x.remainder_(2)),
    Call("addcmul", lambda t, x, o: x.addcmul_(o.y, o.z, value=2)),
    Call("addcdiv", lambda t, x, o: x.addcdiv_(o.y, o.z, value=2)),
    Call("lerp", lambda t, x, o: x.lerp_(o.y, 0.25)),
    Call("lerp weights", lambda t, x, o: x.lerp_(o.y, o.z)),
    Call("clamp tensors", lambda t, x, o: x.clamp_(o.row, o.z)),
    Call("addmm", lambda t, x, o: x.addmm_(o.square, o.z, beta=2, alpha=3)),
    Call("addmv", lambda t, x, o: x[0].addmv_(o.z.t(), o.pair)),
    Call("addr", lambda t, x, o: x.addr_(o.pair, o.row)),
    Call("addbmm", lambda t, x, o: x.addbmm_(o.square[None], o.z[None])),
    Call("baddbmm", lambda t, x, o: x.view(1, 2, 3).baddbmm_(o.square[None], o.z[None])),
    Call("masked_fill", lambda t, x, o: x.masked_fill_(o.mask, 2)),
    Call("masked_fill tensor", lambda t, x, o: x.masked_fill_(o.mask, o.zero_dim)),
    Call("masked_scatter", lambda t, x, o: x.masked_scatter_(o.mask, o.y)),
    Call("index_add", lambda t, x, o: x.index_add_(1, o.at([2, 0]), o.square, alpha=2)),
    Call("index_copy", lambda t, x, o: x.index_copy_(1, o.at([2, 0]), o.square)),
    Call("index_fill", lambda t, x, o: x.index_fill_(1, o.at([2, 0]), 3)),
    Call("index_fill tensor", lambda t, x, o: x.index_fill_(1, o.at([2, 0]), o.zero_dim)),
    Call("index_put", lambda t, x, o: x.index_put_((o.at([1, 0]),), o.row)),
    Call("index_put accumulate", lambda t, x, o: x.index_put_((o.at([1, 1]), o.at([0, 0])), o.pair, accumulate=True)),
    *(
        Call(f"index_reduce {how}", lambda t, x, o, how=how: x.index_reduce_(0, o.at([1, 1]), o.y, how))
        for how in ("prod", "mean", "amax", "amin")
    ),
    Call("put", lambda t, x, o: x.put_(o.at([4, 0]), o.pair)),
    Call("put accumulate", lambda t, x, o: x.put_(o.at([4, 4]), o.pair, accumulate=True)),
    Call("scatter", lambda t, x, o: x.scatter_(0, o.at([[1, 0, 1]]), o.one_row)),
    Call("scatter a number", lambda t, x, o: x.scatter_(0, o.at([[1, 0, 1]]), 3)),
    Call("scatter_add", lambda t, x, o: x.scatter_add_(0, o.at([[1, 0, 1]]), o.one_row)),
    *(
        Call(f"scatter_reduce {how}", lambda t, x, o, how=how: x.scatter_reduce_(0, o.at([[1, 0, 1]]), o.one_row, how))
        for how in ("sum", "prod", "mean", "amax", "amin")
    ),
]


def _augmented(name: str, operand: Any) -> Callable:
    return lambda torch, x, o: getattr(x, f"__i{name}__")(operand(o))


AUGMENTED = [
    Call(f"__i{name}__", _augmented(name, lambda o: o.y))
    for name in ("add", "sub", "mul", "truediv", "floordiv", "pow", "mod", "and", "or", "xor", "lshift", "rshift")
] + [Call("__iadd__ number", _augmented("add", lambda o: 2)), Call("__ipow__ number", _augmented("pow", lambda o: 2))]

FUNCTIONS = (
    [
        Call(f"torch.{name}_", lambda torch, x, o, name=name: getattr(torch, f"{name}_")(x))
        for name in ("exp", "neg", "relu", "selu", "celu", "sigmoid", "round", "zero")
    ]
    + [
        Call("torch.threshold_", lambda torch, x, o: torch.threshold_(x, 0.5, 0.1)),
        Call("torch.fill_", lambda torch, x, o: torch.fill_(x, 2)),
        Call("torch.clamp_", lambda torch, x, o: torch.clamp_(x, 0.3, 0.6)),
        Call("torch.xlogy_", lambda torch, x, o: torch.xlogy_(x, o.y)),
        Call("torch.index_put_", lambda torch, x, o: torch.index_put_(x, (o.at([1]),), o.row)),
    ]
    + [
        Call(f"functional.{name}", lambda torch, x, o, name=name: getattr(torch.nn.functional, name)(x, inplace=True))
        for name in (
            "relu",
            "relu6",
            "elu",
            "selu",
            "celu",
            "leaky_relu",
            "hardtanh",
            "hardsigmoid",
            "hardswish",
            "silu",
            "mish",
            "rrelu",
        )
    ]
    + [
        Call("functional.threshold", lambda torch, x, o: torch.nn.functional.threshold(x, 0.5, 0.1, inplace=True)),
        Call(
            "functional.dropout", lambda torch, x, o: torch.nn.functional.dropout(x, 0.5, training=False, inplace=True)
        ),
        Call("functional.dropout all", lambda torch, x, o: torch.nn.functional.dropout(x, 1.0, inplace=True)),
        *(
            Call(f"functional.{name}_", lambda torch, x, o, name=name: getattr(torch.nn.functional, f"{name}_")(x))
            for name in ("relu", "elu", "selu", "celu", "leaky_relu", "hardtanh", "rrelu")
        ),
    ]
)

CALLS = [*UNARY, *BINARY, *OTHERS, *AUGMENTED, *FUNCTIONS]
