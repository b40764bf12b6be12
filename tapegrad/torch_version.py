"""``TorchVersion``: a version that compares as versions do, with texts and with tuples of numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["TorchVersion"]

_VERSION = re.compile(
    r"v?(?P<release>\d+(?:\.\d+)*)[-_.]?(?:(?P<stage>a|b|c|rc|alpha|beta|pre|preview)[-_.]?(?P<pre>\d*))?"
    r"(?:[-_.]?(?:post|rev|r)[-_.]?(?P<post>\d*))?(?:[-_.]?dev[-_.]?(?P<dev>\d*))?(?:\+(?P<local>[a-z\d._-]+))?",
    re.IGNORECASE,
)
_LAST = float("inf")


def _key(version: str) -> tuple:
    """The key by which a version is ordered, as PEP 440 has it.

    Raises:
        ValueError: it is no version.

    >>> _key("1.9") < _key("1.10.dev1") < _key("1.10a1") < _key("1.10") == _key("1.10.0") < _key("1.10+cpu")
    True
    """
    match = _VERSION.fullmatch(version.strip())
    if match is None:
        raise ValueError(f"no version: {version!r}")
    release = [int(number) for number in match["release"].split(".")]
    while release and not release[-1]:
        release.pop()
    dev = _LAST if match["dev"] is None else int(match["dev"] or 0)
    stage = {"a": 0, "b": 1}.get((match["stage"] or "")[:1].lower(), 2), int(match["pre"] or 0)
    if match["stage"] is None:
        stage = (-1, 0) if dev != _LAST and match["post"] is None else (3, 0)
    post = -1 if match["post"] is None else int(match["post"] or 0)
    local = [
        (1, int(part), "") if part.isdigit() else (0, 0, part) for part in re.split(r"[._-]", match["local"] or "")
    ]
    return tuple(release), stage, post, dev, local if match["local"] else []


def _compared(method: str) -> Callable[[Any, Any], bool]:
    of_texts, of_keys = getattr(str, method), getattr(tuple, method)

    def compare(self: str, other: Any) -> bool:
        text = other if isinstance(other, str) or not isinstance(other, Iterable) else ".".join(map(str, other))
        if not isinstance(text, str) and not hasattr(text, "release"):
            return of_texts(self, other)
        try:
            return of_keys(_key(self), _key(str(text)))
        except ValueError:
            return of_texts(self, other)

    return compare


class TorchVersion(str):
    """A text that compares as a version, with other texts, with tuples, and with what ``packaging`` has for versions.

    >>> TorchVersion("2.13.0") > "2.9", TorchVersion("2.13.0+cpu") >= (2, 13), TorchVersion("1.10.0a") < (1, 10)
    (True, True, True)
    """

    __slots__ = ()

    __eq__ = _compared("__eq__")
    __ge__ = _compared("__ge__")
    __gt__ = _compared("__gt__")
    __le__ = _compared("__le__")
    __lt__ = _compared("__lt__")
    __hash__ = str.__hash__
