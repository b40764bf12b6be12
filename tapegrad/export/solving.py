"""The search for the most general program: see Note [Lengths of exported programs] in ``lengths.py``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
from jax import export

from tapegrad.export.dimensions import Dim, int_oo
from tapegrad.export.lengths import AUTO, NAMED, Lengths, LengthVariable, specialized, violation

MOST_CONSTRAINTS = 64
"""With how many constraints a program is tried."""

FAR = 1 << 40
"""A length for which a constraint is tried that might have no upper bound."""

ASKED = re.compile(r"Symbolic dimension comparison '(.*?)' (>=|<=|>|<) '(.*?)' is inconclusive", re.DOTALL)
HELPERS = {"floordiv": lambda x, y: x // y, "mod": lambda x, y: x % y, "max": max, "min": min, "__builtins__": {}}


class LengthConstraint(NamedTuple):
    """A fact that must hold: one expression of variables is at least another one."""

    more: str
    less: str

    def __str__(self) -> str:
        return f"{self.more} >= {self.less}"

    def holds(self, lengths: dict[str, int]) -> bool:
        """Tell whether it does for some lengths."""
        return bool(eval(str(self).replace("^", "**"), HELPERS, lengths))  # as jax wrote it

    def names(self) -> set[str]:
        """The variables in it."""
        return set(re.findall(r"[^\W\d]\w*", str(self))) - set(HELPERS)


def answered(text: str, hints: dict[str, int]) -> LengthConstraint | None:
    """The answer to Python that asked for more than is known of lengths: as it is in the example.

    >>> answered("Symbolic dimension comparison 'b' > '4' is inconclusive", {"b": 3})
    LengthConstraint(more='4', less='b')
    """
    asked = ASKED.search(text)
    if asked is None:
        return None
    left, sign, right = asked.groups()
    choices = {
        ">": (LengthConstraint(left, f"{right} + 1"), LengthConstraint(right, left)),
        ">=": (LengthConstraint(left, right), LengthConstraint(right, f"{left} + 1")),
        "<": (LengthConstraint(right, f"{left} + 1"), LengthConstraint(left, right)),
        "<=": (LengthConstraint(right, left), LengthConstraint(left, f"{right} + 1")),
    }
    return next(choice for choice in choices[sign] if choice.holds(hints))


class Solution(NamedTuple):
    """A program, and what it supposes of lengths.

    Attributes:
        made: what was made with these suppositions.
        stands: for each variable itself, another one that has the same length, or the only length that there is.
        constraints: on the variables that are left.
    """

    made: Any
    stands: dict[str, Any]
    constraints: tuple[LengthConstraint, ...]


Make = Callable[[dict[tuple[int, int], Any]], Any]
"""A function that makes a program, for what jax has in the places of lengths that may change."""


class Solver:
    """The search for a program.

    Args:
        lengths: the variables.
        make: traces the program.
    """

    def __init__(self, lengths: Lengths, make: Make) -> None:
        self.lengths, self.make = lengths, make
        self.hints = {name: variable.hint for name, variable in lengths.variables.items()}

    def solved(self) -> Solution:
        """The most general program. Raises whatever is raised if no length changes."""
        names = list(self.lengths.variables)
        best = self.tried([[name] for name in names])
        if best is not None:
            return best
        best = self.attempt(dict(self.hints))
        names.sort(key=lambda name: self.lengths.variables[name].said == AUTO)
        alike = [[name for name in names if self.hints[name] == hint] for hint in dict.fromkeys(self.hints.values())]
        groups: list[list[str]] = []
        for group in alike:
            for choice in ([group], *([[[name]] for name in group] if len(group) > 1 else [])):
                found = self.tried([*groups, *choice])
                if found is not None:
                    best, groups = found, [*groups, *choice]
                    if len(choice[0]) == len(group):
                        break
        return self.split(groups, best)

    def split(self, groups: list[list[str]], best: Solution) -> Solution:
        """The program in which no more lengths are equal than have to be."""
        for name in [name for group in groups if len(group) > 1 for name in group]:
            apart = [[one for one in group if one != name] for group in groups]
            candidate = [*(group for group in apart if group), [name]]
            found = self.tried(candidate) if len(candidate) > len(groups) else None
            if found is not None:
                best, groups = found, candidate
        return best

    def tried(self, groups: list[list[str]]) -> Solution | None:
        """The program in which the lengths of each group are equal, and all others fixed; None if there is none."""
        ordered = [sorted(group, key=list(self.hints).index) for group in groups]
        try:
            return self.attempt({**self.hints, **{name: group[0] for group in ordered for name in group}})
        except Exception:  # whatever a function says that isn't told a length
            if not groups:
                raise
            return None

    def attempt(self, stands: dict[str, Any], given: Sequence[LengthConstraint] = ()) -> Solution:
        """A program with these suppositions, and the constraints that it needs."""
        constraints = [*given, *self.declared(stands)]
        while True:
            try:
                return Solution(self.make(self.dims(stands, constraints)), stands, tuple(constraints))
            except jax.errors.InconclusiveDimensionOperation as error:
                answer = answered(str(error), self.hints)
                if answer is None or answer in constraints or len(constraints) >= MOST_CONSTRAINTS:
                    raise
                constraints.append(answer)

    def declared(self, stands: dict[str, Any]) -> list[LengthConstraint]:
        """The bounds that users have named."""
        left = [self.lengths.variables[name] for name, stand in stands.items() if stand == name]
        least = [LengthConstraint(one.name, str(one.least)) for one in left if one.said == NAMED and one.least > 2]
        return [*least, *(LengthConstraint(str(one.most), one.name) for one in left if one.most is not int_oo)]

    def dims(self, stands: dict[str, Any], constraints: Sequence[LengthConstraint]) -> dict[tuple[int, int], Any]:
        """The lengths that jax is to have in the places where they may change."""
        scope = export.SymbolicScope([str(one) for one in constraints])
        found = {}
        for place, linear in self.lengths.places.items():
            stand = stands[linear.variable.name]
            found[place] = (
                linear.at(stand)
                if isinstance(stand, int)
                else export.symbolic_shape(linear.text(stand), scope=scope)[0]
            )
        return found


# -- what was found ----------------------------------------------------------------------------------------------------


def bounds_of(variable: LengthVariable, constraints: Sequence[LengthConstraint]) -> tuple[Any, Any]:
    """The least and the largest length that constraints on this variable alone admit, from that of the example."""
    own = [one for one in constraints if one.names() == {variable.name}]
    holds = lambda length: all(one.holds({variable.name: length}) for one in own)
    if not holds(variable.hint):
        return variable.least, variable.most
    least = variable.hint
    while least > 0 and holds(least - 1):
        least -= 1
    if holds(FAR):
        return least, int_oo
    most, beyond = variable.hint, FAR
    while beyond - most > 1:
        middle = (most + beyond) // 2
        most, beyond = (middle, beyond) if holds(middle) else (most, middle)
    return least, most


def refuse_violations(lengths: Lengths, solution: Solution) -> None:
    """Refuse a program in which lengths are fixed of which the user said that they change.
    Raises UserError: PyTorch's message, with what to say instead.
    """
    problems, names, fixes = [], [], []
    for variable in lengths.variables.values():
        problem, fix = violated(variable, lengths, solution)
        if problem:
            problems.append(problem)
            names.append(variable.name if variable.said == NAMED else variable.source)
            fixes += [fix] if variable.said == NAMED else []
    if problems:
        raise violation(names, problems, fixes)


def violated(variable: LengthVariable, lengths: Lengths, solution: Solution) -> tuple[str, str]:
    """A complaint about a variable that isn't as the user said, and what to say instead; else nothing."""
    stand, name = solution.stands[variable.name], variable.name
    shown = name if variable.said == NAMED else variable.source
    if variable.said == AUTO:
        return "", ""
    if isinstance(stand, int):
        return (
            specialized(shown, stand), f"{name} = {stand}"
        )
    if stand != name:
        other = lengths.variables[stand]
        both = variable.said == other.said == NAMED
        ends = f"{name} = {variable.source}", f"{stand} = {other.source}"
        problem = f"The values of {ends[0]} and {ends[1]} must always be equal."
        return (problem, f"{name} = {stand}") if both else ("", "")
    least, most = bounds_of(variable, solution.constraints)
    if variable.said != NAMED or (least <= max(variable.least, 2) and most >= variable.most):
        return "", ""
    least = max(least, 2)
    within = "" if variable.most is int_oo else f" {name} <= {variable.most}"
    upper = "IntInfinity()" if most is int_oo else most
    return (
        f"Not all values of {name} = {variable.source} in the specified range{within} satisfy the generated guard "
        f"{least} <= {variable.source} and {variable.source} <= {upper}",
        f"{name} = {Dim._readable(name, least, most)}",
    )
