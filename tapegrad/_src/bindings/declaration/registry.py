"""Declarations of PyTorch's vocabulary: one decorator says where a function lives and checks what all of them check.

Note [What public() does]
``@public("torch", "Tensor")`` puts a function into the namespaces named and wraps it so that, in this order: modes, and
arguments whose class overrides functions (``__torch_function__``), get the call, if PyTorch has the function in Python;
arguments of types that PyTorch does not take are refused in its words (Note [The gate] in ``parser.py``); modes and
classes get the call of what it has in C++; arguments are cast under autocast (Note [Autocast]
in ``amp/casting.py``); ``out=`` writes the result into a given tensor.
The function itself then only translates PyTorch's spelling into operators of the table. Which types have passed is
remembered, and where the function raises, the gate is asked again: PyTorch would have found what is wrong with an
argument before.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._src.absent import absent
from tapegrad._src.bindings.declaration.declarations import ORDINARY_IN_PLACE, ORDINARY_OUT, InPlace, Out, takes_out
from tapegrad._src.bindings.declaration.handing import (
    ASK_NOBODY,
    Overriding,
    asked,
    flat,
    overridden,
    overriders,
    overrides,
    overriding,
)
from tapegrad._src.bindings.declaration.parser import (
    NUMPY_NAMES,
    check_call,
    check_inner,
    has_number,
    is_large,
    is_outdated,
    is_overrider,
    overloads_of,
    overriding_arguments,
    respelled,
    type_name,
)
from tapegrad._src.bindings.declaration.parser_table import FUNCTIONS, METHODS, METHODS_IN_PYTHON
from tapegrad._src.bindings.function_calls import cacheable
from tapegrad._src.declaring import explained, on_demand
from tapegrad._src.doors import Door
from tapegrad._src.execution.data.sizes import MEMORY_ERRORS, out_of_memory
from tapegrad._src.tape.modes import switched, thread
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.errors import ComplexHalfError, message
from tapegrad.ops.signatures import parameters_of, signature_of

NAMESPACES: dict[str, dict[str, Callable]] = {}
"""Namespace ("torch", "Tensor", "nn.functional", "linalg", "special", ...) to name to function."""

PROPERTIES: dict[str, Any] = {}
"""Properties of Tensor by name, and what else is set on the class as it is: class methods."""

BY_CLASSES: set[Any] = set()
"""The functions that classes can override."""



NATIVE_IN_NN: set[str] = set()
"""Functions of ``nn.functional`` that PyTorch has in C++, with signatures; the others are written in Python."""


def hands_over(handed: Callable[..., tuple]) -> Callable[[Callable], Callable]:
    """A decorator of a function that PyTorch hands over with other arguments than it is given.

    Args:
        handed: gives them.
    """

    def decorate(function: Callable) -> Callable:
        function.handed = handed  # type: ignore[attr-defined]
        return function

    return decorate


def _as_given(*args: Any) -> tuple:
    return args


def functions_of_torch(module: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a module that has the functions of ``torch``."""
    functions = NAMESPACES["torch"]

    def attribute(name: str) -> Any:
        if name in functions:
            return functions[name]
        return absent(module, name)

    return attribute, lambda: sorted(functions)


class Unset:
    """The class of ``UNSET``, for its text in signatures."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<not given>"


UNSET: Any = Unset()
"""The default of a parameter whose absence means something else than None."""


OWN_NAMES = {numpy: name for name, given in NUMPY_NAMES.items() for numpy in given.split()}
"""PyTorch's names of parameters by NumPy's."""


TRUTHS = frozenset((
    "sorted", "return_inverse", "return_counts", "pivot", "training", "log_input", "full", "log_target", "ceil_mode",
    "use_input_stats", "swap",
))  # fmt: skip
"""Parameters for which PyTorch takes nothing but truth values."""

WITHOUT_SIGNATURES = frozenset(("__getitem__", "__setitem__", "apply_", "chalf"))
"""Methods that PyTorch has in C++, of which its messages show no signature."""

MAKING_OTHERS = frozenset(("new", "new_tensor"))
"""Methods of which PyTorch asks the tensor's own class alone, whatever else they are given."""

LENIENT = frozenset(("multi_head_attention_forward",))
"""Functions that only ask whether they hold."""

MANY = 8
"""Sequences of more arguments are looked at again in each call that classes override."""

_LASTING = ("builtins", "numpy", "tapegrad")
"""Modules whose types are there for good, and may be remembered."""

TENSOR = ("Tensor", Tensor)
"""Annotations of parameters that take tensors only."""

TENSORS = (*TENSOR, "Tensor | None")
"""Those of parameters that take tensors, or None."""

out_writer: Door[Callable[..., Any]] = Door("out_writer", filled_by="bindings/writes/out.py")
"""Calls a function and writes its result into the tensor given as ``out=``."""

function_shower: Door[Callable[..., Any]] = Door("function_shower", filled_by="bindings/shown_calls.py")
"""Shows calls of functions that are no operators to dispatch modes and classes; NotImplemented if they don't see it."""

caster: Door[Callable[..., Any]] = Door("caster", filled_by="amp/casting.py")
"""Casts the arguments of a call where ``modes.autocast`` says so."""

__getattr__, _ = on_demand(__name__, {})

IN_PLACE: dict[str, InPlace] = {}
"""The particulars of in-place variants, by the methods that they belong to; ``in_place.py`` declares them."""

PREFIXES = {"fft": "fft_", "linalg": "linalg_", "special": "special_"}
"""The prefixes of the names of a namespace's functions, in PyTorch's messages and in ``__name__``."""


KEEPDIM = "``keepdim``: whether the dimensions that are reduced stay, with length 1."
"""The paragraph in the docstrings of all functions that have ``keepdim``."""


def unprefixed(name: str) -> str:
    """The name of a function as its namespace has it.

    >>> unprefixed("linalg_norm"), unprefixed("add")
    ('norm', 'add')
    """
    return next((name.removeprefix(prefix) for prefix in PREFIXES.values() if name.startswith(prefix)), name)


def public(
    *homes: str, name: str | None = None, aliases: tuple[str, ...] = (), out: bool | Out | None = None,
    in_place: bool | InPlace | None = None, asks: str = "all", native: bool = False, is_settled: bool = False,
) -> Callable:  # fmt: skip
    """Declare a function of PyTorch's vocabulary. See Note [Declared once] in ``declarations.py``.

    Args:
        homes: the namespaces it appears in; in ``"Tensor"`` it is a method, with the tensor as first argument.
        name: its name there, if it is not the function's own (a trailing ``_`` of the function's name is kept).
        aliases: further names in the same namespaces.
        out: what is particular about ``out=``, which it takes if PyTorch's signatures say so; where there are none,
            whether it does.
        in_place: what is particular about the in-place variant, which it has if PyTorch's signatures say so; where
            there are none, whether it has one.
        asks: who may override it: ``"all"`` classes and modes, ``"modes"`` only, or ``"nobody"``.
        native: whether PyTorch has it in C++ though it is one of ``nn.functional``, most of which are not; of those of
            ``torch``, whether it is in ``torch`` itself though no signature of it is listed.
        is_settled: whether what it does depends on nothing but modes, the specs of tensors, and other arguments: no
            elements, no setting, no warning. See Note [Calls of functions] in ``function_calls.py``.

    Raises:
        TypeError: a name is declared twice; or a method that is a function, too, and of which PyTorch has no
            signature, does not say whether it has these forms.
    """
    variant = in_place if isinstance(in_place, InPlace) else InPlace(unlisted=bool(in_place))

    def decorate(function: Callable) -> Callable:
        first = name or function.__name__
        refuse_unsaid(first, homes, out=out, in_place=in_place)
        if "keepdim" in function.__code__.co_varnames and "with length 1" not in (function.__doc__ or ""):
            function.__doc__ = explained(function.__doc__, KEEPDIM)
        made: dict[tuple, Callable] = {}
        NATIVE_IN_NN.update((first, *aliases) if native else ())
        for home in homes:
            for key in (first, *aliases):
                table = NAMESPACES.setdefault(home, {})
                if key in table:
                    raise TypeError(f"{home}.{key} is declared twice")
                called, role = PREFIXES.get(home, "") + key, role_of(home, key)
                if called not in FUNCTIONS and called not in METHODS:
                    called = PREFIXES.get(home, "") + first
                if (called, role) not in made:
                    written = out_of(called, role, out or False)
                    made[called, role] = wrapped(
                        function, PREFIXES.get(home, "") + first, role, called, asks, written, is_settled, home
                    )
                    if native and home == "torch":
                        made[called, role].torch_name = f"torch.{called}"  # type: ignore[attr-defined]
                table[key] = made[called, role]
                if home == "Tensor" and variant != ORDINARY_IN_PLACE:
                    IN_PLACE[key] = variant
        return NAMESPACES[homes[0]][first]

    return decorate


def refuse_unsaid(name: str, homes: Sequence[str], **said: Any) -> None:
    """Refuse the declaration of a method of our own that leaves open which forms it has."""
    ours = {"torch", "Tensor"}.issubset(homes) and not is_native(name) and not is_native(name, method=True)
    unsaid = [f"{key}=" for key, value in said.items() if value is None]
    if ours and unsaid:
        raise TypeError(message(
            f"public: {name} has no signature of PyTorch's, from which its other forms would follow",
            expected="out= and in_place= to be True or False", got=f"a declaration without {' and '.join(unsaid)}",
            hint=f"in_place=True makes {name}_, and out=True lets torch.{name} write into a tensor",
        ))  # fmt: skip


def is_native(called: str, method: bool = False) -> bool:
    """Tell whether PyTorch has a function, or a method, in C++."""
    return bool(overloads_of(called, method)) or called in WITHOUT_SIGNATURES


def torch_name(home: str, called: str, role: str) -> str:
    """The place of a function that nobody took over, in messages: PyTorch's module, and its name there.

    >>> torch_name("linalg", "linalg_inv", "function"), torch_name("torch", "split", "function")
    ('torch.linalg.linalg_inv', 'torch.functional.split')
    """
    if role == "method":
        return f"torch.{'Tensor' if is_native(called, method=True) else '_tensor'}.{called}"
    if home == "torch":
        return f"torch.{called}" if is_native(called) else f"torch.functional.{called}"
    return f"torch.nn.{called}" if home == "nn.functional" and role == "function" else f"torch.{home}.{called}"


def out_of(called: str, role: str, out: bool | Out) -> Out | None:
    """The way in which a function writes into what is given as ``out=``, or None if it does not take it."""
    unlisted = out.unlisted if isinstance(out, Out) else out
    if role == "method" or not (unlisted or (role == "function" and takes_out(called))):
        return None
    return out if isinstance(out, Out) else ORDINARY_OUT


def role_of(home: str, name: str) -> str:
    """The kind of a function in PyTorch: a ``"method"``, a ``"function"`` with signatures, or one in ``"python"``,
    which gives its arguments on to one of the same name in C++ if there is one; those of ``"masked"`` work on them
    first.
    """
    if home in ("Tensor", "masked"):
        return "method" if home == "Tensor" else "masked"
    return "python" if home.startswith(("nn", "ops")) and name not in NATIVE_IN_NN else "function"


def wrapped(
    function: Callable, name: str, role: str = "function", called: str | None = None, asks: str = "all",
    out: Out | None = None, is_settled: bool = False, home: str = "torch",
) -> Callable:  # fmt: skip
    """``function`` with the checks of every public function around it. See Note [What public() does].

    Args:
        function: what it does.
        name: what messages about ``out=`` call it.
        role: see ``role_of``; messages about a method don't count the tensor itself among the arguments.
        called: its name in messages, which may be an alias.
        asks: who may override it; see ``public``.
        out: how it writes into what is given as ``out=`` besides its arguments; None if it takes none.
        is_settled: see ``public``.
        home: the namespace in which messages say that it is.
    """
    takes = Signature(function, name, role, called, out)
    known, small, late, overridable, classes = takes.known, takes.small, takes.late, asks != "nobody", asks == "all"
    called = takes.called

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        plain: bool | None = True
        if kwargs or overriding.active or not (late or (*map(type, args),) in known):
            key = (*map(type, args), *kwargs, *map(type, kwargs.values()))
            plain = known.get(key)
            if plain is None and key in small and not any(map(is_large, (*args, *kwargs.values()))):
                plain = small[key]
            if plain is None:
                asked_of = takes.asked_first(args, kwargs, classes) if overridable else None
                if asked_of is not None:
                    return takes.handed_over(shown, args, kwargs, asked_of)
                plain = takes.admit(key, args, kwargs)
                if plain is None:
                    args, kwargs = takes.in_order(args, kwargs)
                    return wrapper(*args, **kwargs)
            if overriding.active and overridable:
                concerned = asked(args, kwargs) if classes else thread.modes.function_modes
                asked_of = takes.asked_of(args, kwargs, classes) if concerned else None
                if asked_of is not None:
                    return takes.handed_over(shown, args, kwargs, asked_of)
                alone = asks == "modes" or (concerned and not takes.is_foreign())
                if alone and thread.modes.torch_function:  # what it calls asks no class either
                    with switched(torch_function=False):
                        return wrapper(*args, **kwargs)
            if overriding.active and thread.modes.autocast:
                cast = caster.content(called, args, kwargs)
                if cast is not None:
                    with switched(autocast=()):
                        return wrapper(*cast[0], **cast[1])
            if overriding.shows:
                result = function_shower.content(called, shown, function, args, kwargs)
                if result is not NotImplemented:
                    return result
        try:
            if not kwargs:
                return function(*args)
            if plain:
                return function(*args, **kwargs)
            named = takes.checked(kwargs)
            target = None if takes.out is None else named.pop("out", None)
            if target is not None:
                return out_writer.content(takes.name, takes.out, function, target, args, named)
            return function(*args, **named)
        except ComplexHalfError:
            asked_of = again = None
        except Exception as error:
            unasked = overridable and (late or not overriding.active)  # a list may have others than the last one
            asked_of = takes.asked_first(args, kwargs, classes) if unasked else None
            again = takes.explain(error, args, kwargs) if asked_of is None else (args, kwargs)
            if again is None:
                raise
        if asked_of is not None:
            return takes.handed_over(shown, args, kwargs, asked_of)
        if again is None:
            return __getattr__("asked_for")(shown, args, kwargs)
        return wrapper(*again[0], **again[1])

    shown = cacheable(function, wrapper) if is_settled else wrapper
    shown.__name__ = shown.__qualname__ = takes.called
    shown.torch_name = torch_name(home, called, role)  # type: ignore[attr-defined]
    if classes:
        BY_CLASSES.add(shown)
    return shown


def shown_as(function: Callable, shown: Callable) -> Callable:
    """Let classes and modes that override ``function`` be handed ``shown``, which calls it and is what users see."""
    function.shown_by = shown  # type: ignore[attr-defined]
    BY_CLASSES.add(shown)
    return shown


class Signature:
    """The signature of a public function, as the checks around it know it.

    Attributes:
        function, name, called: as given to ``wrapped``.
        method, native: whether it is a method; whether PyTorch has signatures of it.
        hands_on: whether its arguments go to a function of the same name in C++.
        tensors: for each argument by position, whether it must be a tensor; empty if none must.
        out: how it writes into what is given as ``out=``; None if it takes none, or does that itself.
        by_name: see ``known_by_name``; None until somebody gives an argument by name.
        late: whether the function finds out by itself what its arguments are, and the gate is asked when it has raised.
        known: the types of arguments that passed, and the names they had; whether they can be given on as they are.
        small: the same where ints are among them, which pass if they have no more than 64 bits.
        asking: what stood for the types of arguments that passed before their classes were asked, all of them.
    """

    __slots__ = (
        "asking", "by_name", "called", "function", "hands_on", "known", "late", "method", "name", "native", "out",
        "small", "tensors",
    )  # fmt: skip

    def __init__(
        self, function: Callable, name: str, role: str = "function", called: str | None = None, out: Out | None = None
    ) -> None:
        parameters, annotations = parameters_of(function), function.__annotations__
        self.function, self.name, self.called = function, name, called or name
        self.method, self.native, self.hands_on = role == "method", role in ("method", "function"), role == "python"
        self.by_name: tuple[dict[str, str], frozenset[str]] | None = None
        by_position = (*parameters.positional, parameters.variadic) if parameters.variadic else parameters.positional
        tensors = tuple([annotations.get(key) in TENSOR for key in by_position])
        self.tensors = tensors if any(tensors) else ()
        self.out = None if "out" in parameters.keyword or "out" in parameters.positional else out
        self.known: dict[tuple, bool] = {}
        self.small: dict[tuple, bool] = {}
        self.asking: set[tuple] = set()
        of_two = len(parameters.positional) == 2 and not parameters.variadic and parameters.positional[0] != "tensors"
        self.late = not self.tensors and of_two  # x + y

    def in_order(self, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        """The arguments of a call that passes in the order of an old signature, in that of the present one."""
        rest, named = respelled(self.called, self.method, args[self.method :], kwargs, 0)
        return (*args[: self.method], *(rest or ())), named

    def admit(self, key: tuple, args: tuple, kwargs: dict[str, Any]) -> bool | None:
        """Refuse a call with arguments that PyTorch does not take; remember their types if they are all that counts.

        Returns whether the arguments can be given on as they are; None if they are in the order of an old signature.

        Raises:
            TypeError, ValueError, OverflowError: PyTorch's message.
        """
        lasting = self.check(args, kwargs)
        rest = args[self.method :]
        if self.native and rest and len(args) + len(kwargs) > 2 and is_outdated(self.called, self.method, rest, kwargs):
            return None
        renamed, tensors = self.by_name or self.known_by_name()
        plain = not kwargs or (renamed.keys().isdisjoint(kwargs) and "out" not in kwargs)
        if not plain or not tensors.isdisjoint(kwargs):
            self.checked(kwargs)
        if lasting and all(isinstance(part, str) or part.__module__.startswith(_LASTING) for part in key):
            table = self.small if int in key and self.takes_number(args, kwargs) else self.known
            table[key] = plain
        return plain

    def takes_number(self, args: tuple, kwargs: dict[str, Any]) -> bool:
        """Tell whether an int stands among these arguments for any number: whether it passes is seen by its value."""
        if self.in_python():
            annotations = self.function.__annotations__
            given = self.bound(args, kwargs)
            return any(type(arg) is int and annotations.get(name) != "int" for name, arg in given.items())
        return has_number(self.called, self.method, args[self.method :], kwargs)

    def check(self, args: tuple, kwargs: dict[str, Any]) -> bool:
        """Refuse a call as PyTorch's parser does; whether all calls with arguments of these types would pass."""
        flags = zip(args, self.tensors)  # noqa: B905 - fewer arguments may be given
        fits = all(isinstance(arg, Tensor) or not is_tensor for arg, is_tensor in flags)
        lasting = True
        if self.in_python():
            self.check_names(args, kwargs)
        if self.method and args and not isinstance(args[0], Tensor) and not self.is_foreign():
            raise self.no_method_of(args[0])
        if self.native and not (self.method and (not args or not isinstance(args[0], Tensor))):
            lasting = check_call(self.called, self.method, args[self.method :], kwargs)
        if not fits and not (self.native and is_outdated(self.called, self.method, args[self.method :], kwargs)):
            raise self.refusal(args)
        if self.in_python():
            self.check_truths(args, kwargs)
            calls_another = self.hands_on or (self.method and self.called in METHODS_IN_PYTHON)
            if calls_another or any(map(is_large, (*args, *kwargs.values()))):
                lasting = check_inner(self.called, self.given_on(args, kwargs), self.method) and lasting
        return lasting

    def bound(self, args: tuple, kwargs: dict[str, Any]) -> dict[str, Any]:
        """The argument of each parameter of the function; ``out`` is none of them where it is taken besides."""
        return signature_of(self.function).bind(*args, **self.without_out(kwargs)).arguments

    def given_on(self, args: tuple, kwargs: dict[str, Any]) -> dict[str, Any]:
        """The argument of each parameter, but None where that is the default: what it stands for is given on."""
        defaults = signature_of(self.function).parameters
        return {
            name: arg for name, arg in self.bound(args, kwargs).items()
            if arg is not None or defaults[name].default is not None
        }  # fmt: skip

    def without_out(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments by name, without ``out`` where that is taken besides them."""
        return kwargs if self.out is None else {key: arg for key, arg in kwargs.items() if key != "out"}

    def in_python(self) -> bool:
        """Tell whether PyTorch's function is written in Python, and gives its arguments on to others."""
        return not self.native or not overloads_of(self.called, self.method)

    def check_names(self, args: tuple, kwargs: dict[str, Any]) -> None:
        """Refuse too many arguments, too few, and unknown ones, as Python does before anything else."""
        if kwargs and not self.known_by_name()[0].keys().isdisjoint(kwargs):
            return
        try:
            self.bound(args, kwargs)
        except TypeError:
            called, own = self.called, self.function.__code__.co_qualname
            try:
                self.function(*args, **self.without_out(kwargs))
            except TypeError as error:
                raise TypeError(str(error).replace(own, f"Tensor.{called}" if self.method else called)) from None

    def check_truths(self, args: tuple, kwargs: dict[str, Any]) -> None:
        """Refuse numbers for truth values where PyTorch's function is written in Python, and gives them on."""
        names = parameters_of(self.function).positional
        for position, (name, arg) in enumerate([*zip(names, args, strict=False), *kwargs.items()]):
            if name in TRUTHS and not isinstance(arg, bool) and self.function.__name__ not in LENIENT:
                where = f"'{name}' (position {position + 1})" if position < len(args) else f"'{name}'"
                raise TypeError(f"{self.called}(): argument {where} must be bool, not {type_name(arg)}")

    def explain(self, error: Exception, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]] | None:
        """Raise what PyTorch's parser says of a call that failed, if it has a say; or that there was no memory.

        Returns the arguments with which to try again, if PyTorch takes what they are for something else.
        """
        if isinstance(error, MEMORY_ERRORS):
            raise out_of_memory(error) from None
        try:
            self.check(args, kwargs)
        except (TypeError, ValueError, OverflowError) as better:
            if str(better) != str(error):
                raise better from None
            return None
        if not self.native:
            if not isinstance(error, ValueError):  # those PyTorch's own function raises, before it calls another one
                self.check_optional(args, kwargs)
            return None
        parameters = parameters_of(self.function)
        most = len(args) if parameters.variadic else len(parameters.positional) - self.method
        rest, named = respelled(self.called, self.method, args[self.method :], kwargs, most)
        return None if rest is None else ((*args[: self.method], *rest), named)

    def check_optional(self, args: tuple, kwargs: dict[str, Any]) -> None:
        """Refuse what is no tensor where there may be one or None."""
        annotations, names = self.function.__annotations__, parameters_of(self.function).positional
        for position, (name, arg) in enumerate([*zip(names, args, strict=False), *kwargs.items()]):
            if annotations.get(name) == "Tensor | None" and arg is not None and not isinstance(arg, Tensor):
                where = f"'{name}' (position {position + 1})" if position < len(args) else f"'{name}'"
                raise TypeError(f"{self.called}(): argument {where} must be Tensor, not {type_name(arg)}") from None

    def asked_first(self, args: tuple, kwargs: dict[str, Any], classes: bool) -> tuple | None:
        """The arguments that are asked first, of a call with arguments of new types, before anybody looks at them; None
        if none is."""
        if classes and thread.modes.torch_function and overriders(args, kwargs):
            if self.method and args and not isinstance(args[0], Tensor) and not self.is_foreign():
                raise self.no_method_of(args[0])
            return self.asked_of(args, kwargs)
        return self.asked_of(args, kwargs, classes) if thread.modes.function_modes and self.is_foreign() else None

    def asked_of(self, args: tuple, kwargs: dict[str, Any], classes: bool = True) -> tuple | None:
        """The arguments whose classes are asked, if those or modes override functions, and not only others.
        Raises TypeError: PyTorch's message, if it asks who fits a signature, and none does.
        """
        if not classes:
            return ()
        if not self.is_foreign():
            return self.fitting(args, kwargs)
        relevant = self.relevant(args, kwargs)
        return relevant if thread.modes.function_modes or overriders(relevant, {}) else None

    def fitting(self, args: tuple, kwargs: dict[str, Any]) -> tuple | None:
        """The arguments of a call of a native function whose classes are asked, or None: see ``asked_of``.

        Raises:
            TypeError: PyTorch's message, if the call fits no signature.
        """
        given = (*args, *kwargs.values()) if kwargs else args
        key = (*map(stands_for, args), *kwargs, *map(stands_for, kwargs.values()))
        if key in self.asking or not overriders(args, kwargs):
            return given
        converted, lasting = overriding_arguments(self.called, self.method, args[self.method :], kwargs)
        converted = (*args[: self.method], *converted)
        in_order = [*map(id, filter(is_overrider, flat(converted)))] == [*map(id, filter(is_overrider, flat(given)))]
        if lasting and in_order and object not in key:
            self.asking.add(key)
        return converted if thread.modes.function_modes or overriders(converted, {}) else None

    def relevant(self, args: tuple, kwargs: dict[str, Any]) -> tuple:
        """The arguments of a function in Python whose classes are asked: those that must be tensors.

        What is no tensor, and overrides functions, is asked wherever it stands: it may be a dynamic number.
        """
        self.check_names(args, kwargs)
        given, function = self.bound(args, kwargs), self.function
        if self.method:
            names: tuple[str, ...] = (next(iter(given)), "other", "tensor")
        else:
            annotations = function.__annotations__.items()
            tensors = [name for name, annotation in annotations if annotation in TENSORS or name == "input"]
            names = tuple(tensors) or tuple(given)
        variadic = parameters_of(function).variadic
        single = tuple(given[name] for name in names if name in given and name != variadic)
        others = [] if self.called.startswith("__") else overriders(args, kwargs)
        several = given.get(variadic, ()) if variadic else ()
        return (*single, *several, *[one for one in others if not isinstance(one, Tensor)])

    def handed_over(self, function: Callable, args: tuple, kwargs: dict[str, Any], relevant: tuple) -> Any:
        """Give a call to modes, and to the classes of the ``relevant`` arguments, as PyTorch hands it over.

        What PyTorch has in Python gives all that has a default by name; of what is native, nothing by name is None.
        """
        function = self.by_flag(function.__dict__.get("shown_by", function), args, kwargs)
        if self.is_foreign():
            return overridden(function, *self.as_declared(args, kwargs), relevant, "python")
        if not self.method or self.called in WITHOUT_SIGNATURES or self.takes_arguments():
            return overridden(function, args, kwargs or None, relevant, "native")
        return overridden(function, args, kwargs or None, relevant[:1], "alone")

    def by_flag(self, function: Callable, args: tuple, kwargs: dict[str, Any]) -> Callable:
        """The function that a call counts as: that of a pool which is to give indices, too, is one of another
        function."""
        names = parameters_of(self.function).names
        other = NAMESPACES["nn.functional"].get(f"{self.called}_with_indices")
        if other is None or "return_indices" not in names:
            return function
        index = names.index("return_indices")
        return other if kwargs.get("return_indices", args[index] if len(args) > index else False) else function

    def is_foreign(self) -> bool:
        """Tell whether PyTorch has the function in Python, and so hands it over in Python."""
        return not (self.native and is_native(self.called, self.method))

    def takes_arguments(self) -> bool:
        """Tell whether PyTorch's signatures of a method have any parameters whose classes are asked."""
        overloads = overloads_of(self.called, self.method)
        return self.called not in MAKING_OTHERS and any(overload.parameters for overload in overloads)

    def as_declared(self, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        """Arguments by position where the parameter has no default, and by name where it has one, given or not."""
        signature = signature_of(self.function)
        args = getattr(self.function, "handed", _as_given)(*args)
        bound = signature.bind(*args, **self.without_out(kwargs))
        bound.apply_defaults()
        given: list[Any] = []
        named: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            parameter = signature.parameters[name]
            if parameter.kind is parameter.VAR_POSITIONAL:
                given.extend(value)
            elif parameter.kind is parameter.VAR_KEYWORD:
                named.update(value)
            elif parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY:
                given.append(value)
            elif value is not UNSET:
                named[name] = value
        return tuple(given), named if self.out is None or self.method else {**named, "out": kwargs.get("out")}

    def refusal(self, args: tuple) -> TypeError:
        """PyTorch's message about the first of these arguments that should be a tensor and is none."""
        flags = zip(args, self.tensors)  # noqa: B905 - fewer arguments may be given
        position, given = next(
            (i, arg) for i, (arg, is_tensor) in enumerate(flags) if is_tensor and not isinstance(arg, Tensor)
        )
        if self.method and not position:
            return self.no_method_of(given)
        return TypeError(
            f"{self.called}(): argument '{parameters_of(self.function).names[position]}' (position "
            f"{position + 1 - self.method}) must be Tensor, not {type_name(given)}"
        )

    def no_method_of(self, given: Any) -> TypeError:
        """Python's message about a method of tensors that is called on something else."""
        return TypeError(
            f"descriptor '{self.called}' for 'torch._C.TensorBase' objects doesn't apply to a "
            f"'{type(given).__name__}' object"
        )

    def checked(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Arguments that are given by name, by the names that PyTorch has for NumPy's.
        Raises TypeError: one that should be a tensor and is none.
        """
        renamed, tensors = self.by_name or self.known_by_name()
        kwargs = dict(kwargs)
        if not renamed.keys().isdisjoint(kwargs):
            kwargs = {key if renamed.get(key, key) in kwargs else renamed[key]: arg for key, arg in kwargs.items()}
        for key, arg in kwargs.items():
            if key in tensors and not isinstance(arg, Tensor):
                raise TypeError(f"{self.called}(): argument '{key}' must be Tensor, not {type_name(arg)}")
        return kwargs

    def otherwise_named(self, names: tuple[str, ...]) -> dict[str, str]:
        """PyTorch's names of parameters that have others here, as those that are called differently in overloads."""
        own = parameters_of(self.function).positional[self.method :]
        renamed: dict[str, str] = {}
        for overload in overloads_of(self.called, self.method) if self.native else ():
            theirs = [parameter.name for parameter in overload.parameters if not parameter.by_name]
            renamed |= {name: mine for name, mine in zip(theirs, own, strict=False) if name not in names}
        return renamed

    def known_by_name(self) -> tuple[dict[str, str], frozenset[str]]:
        """NumPy's names of parameters and PyTorch's, and the names of those that must be tensors."""
        names = parameters_of(self.function).names
        renamed = {alias: own for alias, own in OWN_NAMES.items() if own in names and alias not in names}
        renamed |= self.otherwise_named(names)
        tensors = frozenset(key for key, annotation in self.function.__annotations__.items() if annotation in TENSOR)
        self.by_name = renamed, tensors
        return self.by_name


def stands_for(value: Any) -> Any:
    """A key for the class of an argument, which need not live for good; ``object`` if its value may count."""
    cls = type(value)
    if cls in ASK_NOBODY:
        return cls
    if cls is tuple or cls is list:
        return tuple(map(stands_for, value)) if len(value) <= MANY else object
    return Tensor if isinstance(value, Tensor) else Overriding if overrides(cls) else object


def refusal(name: str) -> Callable:
    """A function that answers an attempt to set or to delete a property that can only be read."""

    def refuse(self: Tensor, value: Any = None) -> None:
        raise AttributeError(f"attribute '{name}' of 'torch._C.TensorBase' objects is not writable")

    return refuse
