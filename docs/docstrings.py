"""How docstrings become pages: sections are lists, examples are code, and a Note that is named is a link to it."""

from __future__ import annotations

import inspect
import logging
import re
from typing import Any

from griffe import Docstring, parse_google

NOTE = re.compile(r"Note\s+\[([^\]]+)\]")
FILE = re.compile(r"(Note \[[^\]]*\]\([^)]*\)) in\s+``[\w./]+``")
BLOCK = re.compile(r"::\n\n((?:[ ]+.*\n|\n)+)")
STAR = re.compile(r"(?<=[(,\s])\*(?=[,)])")
"""Of a shape, as in ``(*, N)``: it emphasizes nothing."""
ADDRESS = re.compile(r"<([\w. ]+) object at 0x[0-9a-f]+>")

logging.getLogger("griffe").setLevel(logging.ERROR)  # it wants types in docstrings; here they stand in signatures


def slug(title: str) -> str:
    """The anchor of a Note on the page of Notes.

    >>> slug("Views: who shows what")
    'note-views-who-shows-what'
    """
    return "note-" + "-".join(re.findall(r"\w+", title.lower()))


def linked(text: str, page: str) -> str:
    """A text in which Notes that are named are links.

    >>> linked("See Note [Facts] in ``ops/facts.py``.", "../notes.md")
    'See Note [Facts](../notes.md#note-facts).'
    """
    return FILE.sub(r"\1", NOTE.sub(lambda m: f"Note [{' '.join(m[1].split())}]({page}#{slug(m[1])})", text))


def literal(text: str) -> str:
    """A text whose blocks after ``::`` are code."""
    return BLOCK.sub(lambda m: f":\n\n{m[1]}\n", text)


def fenced(text: str) -> str:
    """A text whose examples, from ``>>>`` to the next empty line, stand in fences.

    >>> fenced("Twice: ``>>>`` is how it is called.")
    'Twice: ``>>>`` is how it is called.'
    >>> fenced(">>> 2 * 2\\n4").splitlines()
    ['```pycon', '>>> 2 * 2', '4', '```']
    """
    lines: list[str] = []
    margin = None  # of the example that we are in
    for line in [*text.splitlines(), ""]:
        if margin is None and line.lstrip().startswith(">>>"):
            margin = line[: len(line) - len(line.lstrip())]
            lines.append(f"{margin}```pycon")
        elif margin is not None and not line.strip():
            lines.append(f"{margin}```")
            margin = None
        lines.append(line)
    return "\n".join(lines[:-1])


def prose(text: str, page: str) -> str:
    """A part of a docstring as Markdown.

    >>> print(prose("Shape: (*, in_features) to (*), *really*.", ""))
    Shape: (\\*, in_features) to (\\*), *really*.
    """
    return linked(fenced(STAR.sub(r"\\*", literal(text))), page)


def markdown(docstring: str, page: str) -> str:
    """A docstring as Markdown: its sections are lists.

    >>> print(markdown("Add.\\n\\nArgs:\\n    x: a number.", ""))
    Add.
    <BLANKLINE>
    **Arguments**
    <BLANKLINE>
    - `x`: a number.
    """
    parts = []
    for section in parse_google(Docstring(docstring), warnings=False):
        kind, value = section.kind.value, section.value
        if kind == "text":
            parts.append(prose(value, page))
        elif kind == "examples":
            parts += [f"```pycon\n{text}\n```" if what.value == kind else prose(text, page) for what, text in value]
        elif kind == "admonition":
            parts.append(f"**{section.title}** {prose(value.description, page)}")
        else:
            rows = [f"- `{named(entry)}`: {' '.join(prose(entry.description, page).split())}" for entry in value]
            parts.append("\n".join([f"**{TITLES.get(kind, kind.capitalize())}**\n", *rows]))
    return "\n\n".join(parts)


TITLES = {"parameters": "Arguments", "other parameters": "More arguments"}


def named(entry: Any) -> str:
    """What a row of a section is about: an argument, an attribute, or a type."""
    return getattr(entry, "name", "") or str(entry.annotation or "result")


def signature(name: str, item: Any) -> str:
    """How a function, or a class, is called, without its annotations of types; "" if that is not known.

    >>> signature("slug", slug)
    'slug(title)'
    """
    try:
        known = inspect.signature(item)
    except (TypeError, ValueError):
        return ""
    plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in known.parameters.values()]
    if plain and plain[0].name == "self":
        del plain[0]
    known = known.replace(parameters=plain, return_annotation=inspect.Signature.empty)
    return ADDRESS.sub(r"<\1>", f"{name}{known}")


def entry(path: str, item: Any, page: str, level: int = 2) -> str:
    """What is said of a public name, under a title of its own."""
    item = getattr(item, "__func__", item)
    called = "" if isinstance(item, property) else signature(path.rpartition(".")[2], item)
    code = f"```python\n{called}\n```\n\n" if called else ""
    return f"{'#' * level} {path} {{ #{path} }}\n\n{code}{markdown(inspect.getdoc(item) or '', page)}"
