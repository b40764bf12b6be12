"""What ``help()`` shows of public names stands on its own: no addresses for defaults, no titles of notes that only the
source has."""

import importlib
import inspect
import re
from types import ModuleType

import pytest

import tapegrad

pytestmark = pytest.mark.once("reads docstrings")

HOMES = """
accelerator autograd autograd.forward_ad autograd.function autograd.functional autograd.graph autograd.profiler backends
backends.cudnn compiler cuda execution fft func functional interop jit linalg masked nn nn.functional nn.parameter
overrides profiler random signal.windows special testing utils utils.checkpoint utils.dlpack utils.hooks
""".split()  # noqa: SIM905 - a table is easier to read without the quotes


def public_names():
    """Every public function and class by its name, and the public methods and properties of the classes."""
    homes = {"tapegrad": tapegrad} | {f"tapegrad.{home}": importlib.import_module(f"tapegrad.{home}") for home in HOMES}
    for path, home in homes.items():
        yield path, home
        own = [name for name, item in vars(home).items() if getattr(item, "__module__", "") == path]
        for name in getattr(home, "__all__", [name for name in own if not name.startswith("_")]):
            item = getattr(home, name)
            if getattr(item, "__module__", "").startswith("tapegrad") and not isinstance(item, ModuleType):
                yield f"{path}.{name}", item
                if isinstance(item, type):
                    yield from members(f"{path}.{name}", item)


def members(path, cls):
    for name, item in vars(cls).items():
        item = getattr(item, "__func__", item)
        if (callable(item) or isinstance(item, property)) and not re.fullmatch(r"_[^_].*|__.*__", name):
            yield f"{path}.{name}", item


NAMES = dict(public_names())


def signature(item):
    try:
        return str(inspect.signature(item))
    except (TypeError, ValueError):
        return ""


def test_the_walk_finds_what_there_is():
    expected = ["tapegrad.Tensor.sum", "tapegrad.add", "tapegrad.nn.functional.relu", "tapegrad.autograd.graph.Node"]
    assert set(expected) <= NAMES.keys() and len(NAMES) > 1500


def test_defaults_are_shown_as_what_they_are():
    assert {name for name, item in NAMES.items() if callable(item) and " object at 0x" in signature(item)} == set()


def test_docstrings_send_nobody_to_notes_in_the_source():
    """A module may have a note itself, which then begins a line."""

    def mentions(item):
        titles = re.findall(r"^(.*)(Note \[[^\]]*\])", inspect.getdoc(item) or "", re.MULTILINE)
        written = {title for before, title in titles if not before}
        return [title for before, title in titles if before and title not in written]

    assert {name: mentions(item) for name, item in NAMES.items() if mentions(item)} == {}


def test_everything_public_has_a_docstring():
    assert {name for name, item in NAMES.items() if not (inspect.getdoc(item) or "").strip()} == set()
