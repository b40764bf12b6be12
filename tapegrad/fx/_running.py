"""Written code as functions; and calls of it, whose errors show the line."""

from __future__ import annotations

import linecache
import sys
import traceback
from pathlib import Path
from types import FunctionType
from typing import Any

HERE = str(Path(__file__).parent.parent)
"""The folder of this package, whose lines are those of PyTorch's C++ to a user."""

RULE = "~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ <--- HERE"


class _EvalCacheLoader:
    """The sources of functions that were made of text, for those who show lines."""

    def __init__(self) -> None:
        self.eval_cache: dict[str, str] = {}
        self.next_id = 0

    def cache(self, src: str, found: dict[str, Any]) -> str:
        """Keep a source, and give the name under which its lines are found."""
        name = f"<eval_with_key>.{self.next_id}"
        self.next_id += 1
        self.eval_cache[name] = src
        found.update(__name__=name, __loader__=self)
        linecache.lazycache(name, found)
        return name

    def get_source(self, module_name: str) -> str | None:
        """The source with this name."""
        return self.eval_cache.get(module_name)


_loader = _EvalCacheLoader()


def _forward_from_src(src: str, found: dict[str, Any], name: str = "forward") -> FunctionType:
    """The function that a source defines.

    Args:
        src: the source.
        found: what it refers to, by name.
        name: the function's name.

    >>> _forward_from_src("def forward(x): return x + y", {"y": 2})(1)
    3
    """
    scope = dict(found)
    exec(compile(src, _loader.cache(src, scope), "exec"), scope)
    made = scope.pop(name)
    scope["__name__"] = __name__
    return made


class _WrappedCall:
    """A call of a module of a class, whose errors show the line of written code from which they come."""

    def __init__(self, cls: type, cls_call: Any) -> None:
        self.cls: Any = cls
        self.cls_call = cls_call

    def __call__(self, obj: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            if self.cls_call is not None:
                return self.cls_call(obj, *args, **kwargs)
            return super(self.cls, obj).__call__(*args, **kwargs)  # type: ignore[misc]
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            while frames and frames[-1].filename.startswith(HERE):
                frames.pop()
            if frames and frames[-1].filename.startswith("<eval_with_key>"):
                print(_shown(frames[-1]), file=sys.stderr)
                raise error.with_traceback(None)  # noqa: B904 - the written code is shown in its place
            raise


def _shown(frame: traceback.FrameSummary) -> str:
    """The lines of written code around the one that an error comes from."""
    line = frame.lineno or 1
    lines = linecache.getlines(frame.filename)
    before, after = "".join(lines[max(line - 3, 0) : line]), "".join(lines[line : line + 2])
    said = f"Call using an FX-traced Module, line {line} of the traced Module's generated forward function:"
    return "\n".join([traceback.format_exc(), said, before, RULE, after, ""])
