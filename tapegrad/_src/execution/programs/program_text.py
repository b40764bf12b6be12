"""Texts about recorded programs: instructions as messages show them, and how two programs differ."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tapegrad._src.execution.data.values import NUMBERS
from tapegrad._src.execution.recording.recorded_call import Call


def why_unlike(before: list[tuple], code: list[tuple]) -> str:
    """The first difference between two programs that are not the same, in words."""
    length = common_length(before, code)
    if length == len(before) or length == len(code):
        return f"{len(code)} instructions, of which the first {length} are those of one with {len(before)}"
    new, old = code[length], before[length]
    now, then = told_apart(new[0], old[0])
    return f"instruction {length} is {shown(new)}{now}; it was {shown(old)}{then}"


def told_apart(now: Call, then: Call) -> tuple[str, str]:
    """The differences of two calls besides their names: settings and types.

    >>> from tapegrad._src.execution.kernels.kernel import Kernel
    >>> calls = [
    ...     Kernel(lambda x: x**2, name="power", wide=False, settings={"exponent": exponent}).call_for([1.0])
    ...     for exponent in (2, 3)
    ... ]
    >>> told_apart(*calls)
    (' with exponent=2', ' with exponent=3')
    """
    if now is then:
        return "", ""
    traits = [traits_of(now), traits_of(then)]
    different = [name for name in traits[0] | traits[1] if traits[0].get(name) != traits[1].get(name)]
    if not different and now.kernel.name == then.kernel.name:
        return ", a kernel that was made again", ""
    told = [", ".join(f"{name}={one[name]}" for name in different if name in one) for one in traits]
    return tuple(f" with {text}" if text else "" for text in told)  # type: ignore[return-value]


def traits_of(call: Call) -> dict[str, str]:
    """The traits of a call among others of kernels of the same name: settings, and the types of arguments and
    results."""
    arguments = {f"argument {number}": type_text(one) for number, one in enumerate(call.kernel.arguments)}
    results = {f"result {number}": type_text(one) for number, one in enumerate(call.avals)}
    return {name: repr(value) for name, value in call.kernel.settings.items()} | arguments | results


def type_text(given: Any) -> str:
    """The type of an argument or a result: dtype and shape, or that of a Python number."""
    if given is None or isinstance(given, type):
        return getattr(given, "__name__", "nothing")
    shape, dtype = given if isinstance(given, tuple) else (given.shape, given.dtype)
    return f"{dtype}[{', '.join(map(str, shape))}]"


def common_length(left: list, right: list) -> int:
    """The number of instructions that two programs have in common, from the first on."""
    return next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))


def listed(numbers: Iterable[int], most: int = 5) -> str:
    """Some numbers in words."""
    numbers = list(numbers)
    return ", ".join(map(str, numbers[:most])) + (", ..." if len(numbers) > most else "")


def shown(instruction: tuple[Call, Any], inputs: Sequence[Any] = ()) -> str:
    """An instruction as messages show it: results are ``%0``, ``%1``, inputs ``in0``, ``in1``, or numbers, if given.

    >>> from tapegrad._src.execution.kernels.kernel import Kernel
    >>> call = Kernel(lambda x, y: x + y, name="add", wide=False).call_for([1.0, 2.0])
    >>> shown((call, 3, -1)), shown((call, 3, -1), [2.0])
    ('add(%3, in0)', 'add(%3, 2.0)')
    """
    call, *slots = instruction
    is_number = lambda slot: 0 <= ~slot < len(inputs) and type(inputs[~slot]) in NUMBERS
    names = (f"%{slot}" if slot >= 0 else repr(inputs[~slot]) if is_number(slot) else f"in{~slot}" for slot in slots)
    return f"{call.kernel.name}({', '.join(names)})"
