"""Making a program smaller that still differs in the same way.

Candidates are cut out of the program's syntax: without some of its statements, with the body of a block in place of
the block, with an operand in place of an expression. Whatever makes no sense fails in the same way everywhere.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator


def smallest(program: str, still_differs: Callable[[str], bool], tries: int = 400) -> str:
    """The program with all left out that can be, by as many tries as are allowed."""
    program = ast.unparse(ast.parse(program))
    seen = {program}
    shrunk = True
    while shrunk:
        shrunk = False
        for candidate in smaller(program):
            if not candidate or candidate in seen or len(candidate) >= len(program):
                continue
            seen.add(candidate)
            tries -= 1
            if tries < 0:
                return program
            if still_differs(candidate):
                program, shrunk = candidate, True
                break
    return program


def smaller(program: str) -> Iterator[str]:
    """Smaller programs, those that leave out most first."""
    tree = ast.parse(program)
    count = len(tree.body)
    yield from slices(tree)
    yield from (without(tree, range(end, count)) for end in range(1, count))
    size = count // 2
    while size >= 2:
        for start in reversed(range(0, count, size)):
            yield without(tree, range(start, start + size))
        size //= 2
    yield from without_aliases(program)
    yield from one_change(tree)


def slices(tree: ast.Module) -> Iterator[str]:
    """Each statement, last ones first, with those that made what it speaks of; then with all that speak of that."""
    speaks = [{node.id for node in ast.walk(part) if isinstance(node, ast.Name)} for part in tree.body]
    makes = [{node.id for node in ast.walk(part) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
             | ({part.name} if isinstance(part, ast.FunctionDef) else set()) for part in tree.body]  # fmt: skip
    for relation in (makes, speaks):
        for last in reversed(range(len(tree.body))):
            needed, kept = set(speaks[last]), [last]
            for number in reversed(range(last)):
                if relation[number] & needed - {"torch", "F", "log", "named", "forward_ad"}:
                    needed |= speaks[number]
                    kept.append(number)
            yield ast.unparse(ast.Module([tree.body[number] for number in sorted(kept)], []))


class Renaming(ast.NodeTransformer):
    def __init__(self, name: str, other: str) -> None:
        self.name, self.other = name, other

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self.other, node.ctx) if node.id == self.name else node


def without_aliases(program: str) -> Iterator[str]:
    """The program with another name for what only has two."""
    for number, node in enumerate(ast.parse(program).body):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Name):
            tree = ast.parse(program)
            del tree.body[number]
            yield ast.unparse(Renaming(node.targets[0].id, node.value.id).visit(tree))


def without(tree: ast.Module, left_out: range) -> str:
    kept = [node for number, node in enumerate(tree.body) if number not in left_out]
    return ast.unparse(ast.Module(kept, []))


def one_change(tree: ast.Module) -> Iterator[str]:
    """The program without one statement, or with a block opened, or with a part of an expression for it."""
    found = places(tree)
    for kind, changes in ((ast.stmt, openings), (ast.keyword, left_out), (ast.expr, parts)):
        for place in found:
            item = standing(place)
            if isinstance(item, kind):
                for replacement in changes(item):
                    yield replaced(tree, place, replacement)


Place = tuple[ast.AST, str, "int | None"]


def places(tree: ast.AST) -> list[Place]:
    """Where statements, expressions and keywords stand, last ones first."""
    found: list[Place] = []
    for owner in ast.walk(tree):
        for field, value in ast.iter_fields(owner):
            if isinstance(value, list):
                found += [(owner, field, i) for i in range(len(value))]
            elif isinstance(value, ast.AST):
                found.append((owner, field, None))
    return found[::-1]


def standing(place: Place) -> ast.AST:
    owner, field, index = place
    item = getattr(owner, field)
    return item if index is None else item[index]


def left_out(node: ast.keyword) -> Iterator[list]:
    yield []


def openings(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """What may stand in place of a statement: nothing, or what stands in it."""
    yield []
    if isinstance(node, (ast.With, ast.If, ast.For, ast.While, ast.Try)):
        yield node.body
        if isinstance(node, ast.If) and node.orelse:
            yield node.orelse


def parts(node: ast.expr) -> Iterator[list[ast.expr]]:
    """Expressions that stand in an expression."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        yield [node.func.value]
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr) and not (isinstance(node, ast.Call) and child is node.func):
            yield [child]


def replaced(tree: ast.Module, place: Place, replacement: list) -> str:
    """The program with something else at a place."""
    owner, field, index = place
    before = getattr(owner, field)
    try:
        if index is None:
            if not replacement:
                return ""
            setattr(owner, field, replacement[0])
        else:
            setattr(owner, field, [*before[:index], *replacement, *before[index + 1 :]])
        if (
            field == "body"
            and isinstance(owner, (ast.With, ast.If, ast.For, ast.While, ast.FunctionDef))
            and not getattr(owner, field)
        ):
            setattr(owner, field, [ast.Pass()])
        text = ast.unparse(tree)
        ast.parse(text)
        return text
    except (SyntaxError, ValueError, TypeError, AttributeError, IndexError):  # it makes no program
        return ""
    finally:
        setattr(owner, field, before)
