"""The pages that are made of the package and its tests. Those that are written by hand stand beside this file."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

from docs.docstrings import entry, markdown, prose, slug
from tapegrad._src.absent import ABSENT
from tapegrad.ops.page import page as operators

ROOT = Path(__file__).parent.parent

HOMES = {
    "Tensors and functions": ["tapegrad", "tapegrad.Tensor", "tapegrad.linalg", "tapegrad.fft", "tapegrad.special",
                              "tapegrad.masked", "tapegrad.signal.windows", "tapegrad.random"],
    "The tape": ["tapegrad.autograd", "tapegrad.autograd.function", "tapegrad.autograd.graph",
                 "tapegrad.autograd.forward_ad", "tapegrad.autograd.functional", "tapegrad.profiler",
                 "tapegrad.autograd.profiler", "tapegrad.func", "tapegrad.utils.checkpoint", "tapegrad.utils.hooks",
                 "tapegrad.viz"],
    "Ways of running": ["tapegrad.execution", "tapegrad.compiler", "tapegrad.jit", "tapegrad.interop", "tapegrad.cuda",
                        "tapegrad.accelerator", "tapegrad.backends", "tapegrad.backends.cudnn"],
    "Models": ["tapegrad.nn", "tapegrad.nn.functional", "tapegrad.nn.parameter", "tapegrad.nn.init",
               "tapegrad.nn.utils", "tapegrad.nn.utils.parametrize", "tapegrad.nn.utils.prune",
               "tapegrad.nn.utils.rnn"],
    "Training": ["tapegrad.optim", "tapegrad.optim.lr_scheduler", "tapegrad.optim.swa_utils", "tapegrad.amp",
                 "tapegrad.utils.data", "tapegrad.utils.dlpack",
                 "tapegrad.distributions", "tapegrad.testing", "tapegrad.overrides"],
    "Many devices": ["tapegrad.distributed", "tapegrad.distributed.device_mesh", "tapegrad.distributed.tensor",
                     "tapegrad.distributed.tensor.parallel", "tapegrad.distributed.fsdp",
                     "tapegrad.distributed.checkpoint", "tapegrad.multiprocessing"],
}  # fmt: skip
"""The chapters of the reference, and what each has pages of."""


def public(home: Any) -> Iterator[str]:
    """The public names of a module, or of a class, that are functions, classes or properties of the package's own."""
    own = [name for name in dir(home) if not name.startswith("_")]
    for name in sorted(set(getattr(home, "__all__", own)), key=lambda name: (name.lower(), name)):
        item = inspect.getattr_static(home, name, None) if isinstance(home, type) else getattr(home, name)
        known = isinstance(item, (property, classmethod, staticmethod)) or callable(item)
        foreign = not isinstance(home, type) and not str(getattr(item, "__module__", "tapegrad")).startswith("tapegrad")
        if known and not foreign and not isinstance(item, ModuleType) and inspect.getdoc(item):
            yield name


def found(path: str) -> Any:
    """The module, or the class, of that path."""
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        home, _, name = path.rpartition(".")
        return getattr(importlib.import_module(home), name)


def reference(path: str) -> str:
    """The page of a module: what it says of itself, and all its public names."""
    home = found(path)
    entries = [text for name in public(home) for text in entries_of(f"{path}.{name}", getattr(home, name))]
    said = in_bold(markdown(inspect.getdoc(home) or "", "../notes.md"))
    told = ["Examples begin with `import tapegrad as torch`.", *entries] if entries else [modules_in(home)]
    return "\n\n".join([f"# {path}", said, *told]) + "\n"


def modules_in(home: ModuleType) -> str:
    """The modules of one that has nothing else, which PyTorch has, too; each with the names in it."""
    modules = sorted((name, item) for name, item in vars(home).items() if isinstance(item, ModuleType))
    rows = [(item.__name__, names_in(item)) for _, item in modules if (item.__doc__ or "").startswith("``torch.")]
    return "\n".join(f"- `{path}`: {', '.join(f'`{name}`' for name in names)}" for path, names in rows)


def names_in(module: ModuleType) -> list[str]:
    """The names that a module defines."""
    path = module.__name__
    own = {name for name, item in vars(module).items() if getattr(item, "__module__", path) == path}
    return sorted(name for name in own if not name.startswith("_") and not isinstance(vars(module)[name], ModuleType))


def entries_of(path: str, item: Any) -> Iterator[str]:
    """What is said of a name; of a class also of its members, but of Tensor, which has a page of its own."""
    yield entry(path, item, "../notes.md")
    if isinstance(item, type) and path != "tapegrad.Tensor":
        for name in sorted(vars(item)):
            member = vars(item)[name]
            shown = callable(getattr(item, name, None)) or isinstance(member, property)
            if shown and not name.startswith("_") and getattr(getattr(member, "__func__", member), "__doc__", None):
                yield entry(f"{path}.{name}", member, "../notes.md", level=3)


def in_bold(text: str) -> str:
    """A text in which titles of Notes are no links to themselves."""
    return re.sub(r"^Note \[([^\]]*)\]\(.*\)$", r"**\1.**", text, flags=re.MULTILINE)


# -- what the source and the tests know --------------------------------------------------------------------------------


@cache
def trees() -> dict[Path, ast.Module]:
    """The trees of all modules of the package, by their paths."""
    return {path: ast.parse(path.read_text()) for path in sorted((ROOT / "tapegrad").rglob("*.py"))}


def notes() -> Iterator[tuple[str, str, str]]:
    """Every Note of the package: its room, its title, and its text."""
    for path, tree in trees().items():
        room = str(path.relative_to(ROOT))
        for docstring in docstrings_of(tree):
            for part in re.split(r"^(?=Note \[[^\]]+\]$)", docstring, flags=re.MULTILINE)[1:]:
                title, _, text = part.partition("\n")
                yield room, title[len("Note [") : -1], dedent(text)


def docstrings_of(tree: ast.Module) -> Iterator[str]:
    """The docstrings of a module, its classes and functions."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            yield ast.get_docstring(node) or ""


def page_of_notes() -> str:
    """How it works: the Notes, room by room."""
    lines = ["# How it works\n\nWhat the source explains where more than one place needs it: its Notes, room by room."]
    rooms: dict[str, list[str]] = {}
    for room, title, text in notes():
        section = f"### {title} {{ #{slug(title)} }}\n\n<small>`{room}`</small>\n\n{prose(text, '')}"
        rooms.setdefault(room.split("/")[1].removesuffix(".py"), []).append(section)
    for room, sections in rooms.items():
        lines += [f"## {room}", *sections]
    return "\n\n".join(lines) + "\n"


def page_of_operators() -> str:
    """The table of operators."""
    about = "Every kernel with its formulas; `python -m tapegrad.ops` prints this."
    return f"# The table of operators\n\n{about}\n\n{operators(markdown=True)}\n"


def page_of_absent() -> str:
    """What PyTorch has and tapegrad has not."""
    rows = [
        f"| `{module}` | {', '.join(f'`{name}`' for name in names.split())} | {reason} |"
        for module, parts in ABSENT.items()
        for reason, names in parts
    ]
    return "\n".join(["| of | | what to do |", "| --- | --- | --- |", *rows])


def exceptions(name: str) -> Iterator[tuple[str, dict]]:
    """The lists of exceptions of a file of the tests: what each says of itself, and reasons by what they are of."""
    path = ROOT / "tests" / "parity" / "helpers" / f"{name}.py"
    body = ast.parse(path.read_text()).body
    scope: dict[str, Any] = {}
    exec(compile(path.read_text(), path.name, "exec"), scope)
    for statement, after in pairwise(body):
        target = getattr(statement, "target", None)
        said = getattr(getattr(after, "value", None), "value", None)
        if isinstance(target, ast.Name) and isinstance(said, str) and isinstance(scope[target.id], dict):
            yield " ".join(said.split()), scope[target.id]


def page_of_exceptions() -> str:
    """What the comparison with PyTorch's own databases leaves out, or looks at less closely."""
    parts = []
    files = {"opinfo_exceptions": "operators", "modinfo_exceptions": "modules", "extremes_exceptions": "extremes"}
    for name, of in files.items():
        for said, table in exceptions(name):
            by_reason: dict[str, list[str]] = {}
            for key, reason in table.items():
                shown = key if isinstance(key, str) else " ".join(map(str, key))
                by_reason.setdefault(reason if isinstance(reason, str) else "as far as rounding goes", []).append(shown)
            if not by_reason:
                continue
            rows = [f"| {', '.join(f'`{key}`' for key in keys)} | {reason} |" for reason, keys in by_reason.items()]
            parts.append("\n".join([f"**Of {of}.** {said}\n", "| | why |", "| --- | --- |", *rows]))
    return "\n\n".join(parts)


def messages() -> dict[str, list[tuple[str, str]]]:
    """The errors that the package raises, by its rooms: the type and the text, ``{}`` for what is filled in."""
    rooms: dict[str, set[tuple[str, str]]] = {}
    constants = constants_of(trees().values())
    for path, tree in trees().items():
        room = path.relative_to(ROOT / "tapegrad").parts[0].removesuffix(".py")
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
                kind, text = node.func.id, text_of(node.args[0], constants)
                if kind.endswith("Error") and text and len(text.replace("{}", "")) > 8:
                    rooms.setdefault(room, set()).add((kind, text))
    return {room: sorted(found) for room, found in rooms.items()}


def constants_of(trees: Iterable[ast.Module]) -> dict[str, str]:
    """The texts that modules have under names of their own."""
    found = {}
    for statement in (statement for tree in trees for statement in tree.body if isinstance(statement, ast.Assign)):
        if isinstance(statement.targets[0], ast.Name) and statement.targets[0].id.isupper():
            found[statement.targets[0].id] = text_of(statement.value, {})
    return found


def text_of(node: ast.expr, constants: dict[str, str]) -> str:
    """The text of a message, from its expression."""
    if isinstance(node, ast.Constant):
        return str(node.value) if isinstance(node.value, str) else ""
    if isinstance(node, ast.Name):
        return constants.get(node.id, "")
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part, constants) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "message" and node.args:
        hints = [text_of(keyword.value, constants) for keyword in node.keywords if keyword.arg == "hint"]
        return "; ".join([text_of(node.args[0], constants), *filter(None, hints)])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return text_of(node.left, constants) + text_of(node.right, constants)
    return ""


def list_of_messages() -> str:
    """All messages, room by room."""
    parts = []
    for room, found in messages().items():
        rows = [f"- `{kind}`: {escaped(text)}" for kind, text in found]
        parts.append("\n".join([f"### {room} {{ #in-{slug(room)} }}\n", *rows]))
    return "\n\n".join(parts)


def escaped(text: str) -> str:
    """A message as it is, in one line."""
    text = " ".join(text.replace("{}", "…").split())
    return f"``{text}``" if "`" not in text else f"```{text} ```"


# -- the site ----------------------------------------------------------------------------------------------------------


CHAPTERS = {
    "tapegrad": "index.md",
    "Seeing the tape": "see.md",
    "Which way of running": "ways.md",
    "Coming from PyTorch": "from_pytorch.md",
    "Coming from JAX": "from_jax.md",
    "Programs of modules": "export.md",
    "Programs as graphs": "graphs.md",
    "Many devices and processes": "scale.md",
    "Errors": "errors.md",
    "How it works": "notes.md",
    "The table of operators": "operators.md",
    "Benchmarks": "benchmarks.md",
    "Ablation": "ablation.md",
    "Programs": "programs.md",
    "Libraries": "libraries.md",
    "Tests": "tests.md",
}


def chapters() -> list[dict]:
    """All pages in their order, by their titles."""
    parts = {
        chapter: [{path.removeprefix("tapegrad."): f"reference/{path}.md"} for path in paths]
        for chapter, paths in HOMES.items()
    }
    return [{title: page} for title, page in (CHAPTERS | parts).items()]


def filled(name: str, **parts: str) -> str:
    """A page that is written by hand, with generated parts in the places of ``<!-- part -->``."""
    text = (ROOT / "docs" / name).read_text()
    for part, value in parts.items():
        mark = f"<!-- {part} -->"
        assert mark in text, f"{name} has no place for {part}"
        text = text.replace(mark, value)
    return text


def pages() -> Iterator[tuple[str, str]]:
    """All pages that are generated, by their paths."""
    for path in (path for paths in HOMES.values() for path in paths):
        yield f"reference/{path}.md", reference(path)
    yield "notes.md", page_of_notes()
    yield "operators.md", page_of_operators()
    yield "from_pytorch.md", filled("from_pytorch.md", absent=page_of_absent(), exceptions=page_of_exceptions())
    yield "errors.md", filled("errors.md", messages=list_of_messages())
    yield "speed.svg", (ROOT / "benchmarks" / "speed.svg").read_text()
