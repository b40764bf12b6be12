"""PyTorch's databases of operators and modules: imported when an entry is asked for, which takes four seconds.

Tests are parametrized by names in them. Whoever collects tests needs these names alone: they are kept in ``.cache/`` of
the checkout, for PyTorch's version and for the sources that they follow from.
"""

import hashlib
import pickle
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import torch as pytorch

HERE = Path(__file__).resolve().parent
KEPT = HERE.parents[2] / ".cache" / "cases"


class Database(Mapping):
    """The entries that a function gives, by their names; it is called when the first of them is asked for."""

    def __init__(self, load: Callable[[], dict[str, Any]]) -> None:
        self.entries = cache(load)

    def __getitem__(self, name: str) -> Any:
        return self.entries()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries())

    def __len__(self) -> int:
        return len(self.entries())


@cache
def sources() -> bytes:
    """A digest of the helpers, from which follow, too, what tests are parametrized by."""
    digest = hashlib.sha256(pytorch.__version__.encode())
    for path in sorted(HERE.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.digest()


def listed(make: Callable[[], list]) -> list:
    """The list of names that a function gives, or gave before for the same sources. It may read all of a database."""
    code = make.__code__
    own = Path(code.co_filename).read_bytes() + str(code.co_firstlineno).encode()
    path = KEPT / f"{hashlib.sha256(sources() + own).hexdigest()}.pickle"
    try:
        return pickle.loads(path.read_bytes())
    except (OSError, EOFError, pickle.UnpicklingError):
        found = make()
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(f".{id(found)}")  # another worker may be writing it
    beside.write_bytes(pickle.dumps(found))
    beside.replace(path)
    return found
