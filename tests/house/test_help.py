"""What ``help()`` shows of public names stands on its own: no addresses for defaults, no titles of notes that only the
source has. In the modules named in ``COMPLETE`` it also says what each argument is, shows an example where there are
many of them, and tells of the errors that are raised; and so do the methods of all public classes."""

import ast
import doctest
import importlib
import inspect
import re
import textwrap
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


# -- modules whose docstrings say everything ---------------------------------------------------------------------------

COMPLETE = {
    "",
    "Tensor",
    "amp",
    "amp.autocast_mode",
    "amp.grad_scaler",
    "autograd",
    "autograd.forward_ad",
    "autograd.function",
    "autograd.functional",
    "autograd.graph",
    "autograd.profiler",
    "compiler",
    "distributions",
    "distributions.constraint_registry",
    "distributions.constraints",
    "distributions.kl",
    "distributions.transforms",
    "distributions.utils",
    "execution",
    "fft",
    "func",
    "linalg",
    "masked",
    "nn",
    "nn.functional",
    "nn.init",
    "nn.utils",
    "nn.utils.clip_grad",
    "nn.utils.convert_parameters",
    "nn.utils.fusion",
    "nn.utils.init",
    "nn.utils.memory_format",
    "nn.utils.parametrizations",
    "nn.utils.parametrize",
    "nn.utils.prune",
    "nn.utils.rnn",
    "nn.utils.spectral_norm",
    "nn.utils.stateless",
    "nn.utils.weight_norm",
    "optim",
    "optim.lr_scheduler",
    "optim.swa_utils",
    "random",
    "special",
    "utils.data",
    "utils.data.distributed",
}
"""By their path below ``tapegrad``; of a class, its methods."""

ALIKE = {
    "cache_size": "the same for all transforms: ``Transform`` says it",
    "cls": "what a class method is of",
    "device": "the same for all functions that make tensors",
    "dtype": "the same for all functions that make tensors",
    "generator": "the same for all functions that draw",
    "inplace": "the same for all functions that can write their result to their input",
    "input": "what the function is of: its first line says so",
    "last_epoch": "the same for all schedules: ``LRScheduler`` says it",
    "layout": "the same for all functions that make tensors",
    "memory_format": "the same for all functions that make or copy tensors",
    "non_blocking": "changes nothing in any of them",
    "other": "the second operand: the first line says so",
    "out": "the same for all functions",
    "pin_memory": "the same for all functions that make tensors",
    "reduce": "deprecated in all losses: ``mse_loss`` says it",
    "requires_grad": "the same for all functions that make tensors",
    "self": "what a method is of",
    "size_average": "deprecated in all losses: ``mse_loss`` says it",
    "validate_args": "the same for all distributions: ``Distribution`` says it",
}
"""Arguments that need not be named, and why."""

ENUMERATIONS = {
    "tapegrad.amp.grad_scaler.OptState",
    "tapegrad.autograd.DeviceType",
    "tapegrad.autograd.ProfilerActivity",
    "tapegrad.autograd.profiler.DeviceType",
}
"""Classes that nobody calls with arguments of their own."""


def callables(home):
    """The public functions and classes of a module, or the methods of a class."""
    path = f"tapegrad.{home}".rstrip(".")
    if isinstance(getattr(tapegrad, home, None), type):
        yield from ((name, item) for name, item in members(path, getattr(tapegrad, home)) if callable(item))
        return
    module = importlib.import_module(path)
    own = [name for name, item in vars(module).items() if getattr(item, "__module__", "") == path]
    for name in getattr(module, "__all__", own):
        item = getattr(module, name)
        if not name.startswith("_") and inspect.isroutine(item) | isinstance(item, type):
            yield f"{path}.{name}", item


TOLD = {name: item for home in COMPLETE for name, item in callables(home) if name not in ENUMERATIONS}

TOLD_ELSEWHERE = ("amp", "amp.autocast_mode", "nn.functional")
ELSEWHERE = {inspect.unwrap(item) for home in TOLD_ELSEWHERE for _, item in callables(home)}
"""What the top level shares with modules of its own, where it is told of."""

TOLD = {name: item for name, item in TOLD.items() if name.count(".") > 1 or inspect.unwrap(item) not in ELSEWHERE}


REFERENCE = re.compile(r"(?:\A|[Ss]ee |as (?:in|for) |version of |What |what )``([\w.]+)``")
"""Where a docstring names the function that it is a variant of, which says the rest."""

PLACES = ("", "Tensor.", "nn.functional.", "linalg.", "fft.", "special.", "masked.", "func.", "autograd.functional.")


def told(item, whole=True):
    """The docstring, with that of ``__init__`` if a class has one there too, and of functions that it refers to."""
    more = vars(item).get("__init__") if isinstance(item, type) else None
    own = f"{inspect.getdoc(item) or ''}\n{getattr(more, '__doc__', None) or ''}"
    names = {name.removeprefix("torch.") for name in REFERENCE.findall(own)} if whole else ()
    others = {f"tapegrad.{place}{name}" for name in names for place in PLACES} & NAMES.keys()
    return "\n".join((own, *(told(NAMES[name], whole=False) for name in others)))


def arguments(item):
    """The names of a function's arguments, without those that it only hands on, all together."""
    try:
        parameters = inspect.signature(item).parameters.values()
    except ValueError:
        return []
    return [one.name for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]


def unnamed(item):
    """Arguments that are not told of, private ones aside; a single one is what the first line is about."""
    names = arguments(item)
    said = told(item)
    names = [name for name in names[len(names) == 1 :] if name not in ALIKE and not name.startswith("_")]
    return [name for name in names if not re.search(rf"\b{name}\b", said)]


def raises(item):
    """Whether there is a ``raise`` in a function, or in the ``__init__`` that a class has of its own."""
    function = vars(item).get("__init__") if isinstance(item, type) else inspect.unwrap(item)
    if not inspect.isfunction(function) or function.__code__.co_filename.startswith("<"):  # of settings, say
        return False
    if function.__name__ == "<lambda>":
        return False
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return any(isinstance(node, ast.Raise) for node in ast.walk(tree))


def test_arguments_are_told_of():
    assert {name: unnamed(item) for name, item in TOLD.items() if unnamed(item)} == {}


def test_where_there_are_many_arguments_there_is_an_example():
    def many(item):
        return len(arguments(item)) - ("self" in arguments(item)) > 3

    assert {name for name, item in TOLD.items() if many(item) and ">>>" not in told(item)} == set()


def declared_in_rows():
    """Functions that a module makes and keeps under no name, so that doctest finds no examples of them there."""
    for name, item in TOLD.items():
        code = getattr(inspect.unwrap(item), "__code__", None)
        if code is not None and "<locals>" in code.co_qualname and ">>>" in (item.__doc__ or ""):
            yield name, item


def test_examples_of_functions_that_are_declared_in_rows():
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for name, item in declared_in_rows():
        runner.run(doctest.DocTestParser().get_doctest(inspect.getdoc(item), {"torch": tapegrad}, name, None, None))
    assert runner.tries > 30 and runner.failures == 0


def test_errors_are_told_of():
    assert {name for name, item in TOLD.items() if raises(item) and "Raises:" not in told(item)} == set()


# -- methods of classes, of which the class may tell, or the same method of a class above ------------------------------


def methods():
    """Each public method and property of each public class: its name, the class, the method."""
    homes = (COMPLETE | {*HOMES, "distributed", "nn.modules.module", "viz"}) - {"Tensor"}
    classes = {}
    for home in sorted(homes):
        path = f"tapegrad.{home}".rstrip(".")
        module = importlib.import_module(path)
        own = [name for name, item in vars(module).items() if getattr(item, "__module__", "") == path]
        for name in getattr(module, "__all__", [name for name in own if not name.startswith("_")]):
            item = getattr(module, name)
            if isinstance(item, type) and item.__module__.startswith("tapegrad") and item is not tapegrad.Tensor:
                classes.setdefault(item, f"{path}.{name}")
    return {name: (cls, item) for cls, path in classes.items() for name, item in members(path, cls)}


METHODS = methods()


def above(cls, name):
    """What a method says of itself, in its class and in those above."""
    return "\n".join(inspect.getdoc(vars(one)[name]) or "" for one in cls.__mro__[:-1] if name in vars(one))


def around(cls):
    """What a class, and those above, say of themselves."""
    return "\n".join(told(one) for one in cls.__mro__[:-1])


def is_abstract(method):
    """Whether a method only raises: those of subclasses do something."""
    body = ast.parse(textwrap.dedent(inspect.getsource(method))).body[0].body
    return isinstance(body[-1], ast.Raise) and len(body) <= 2


def lacking(cls, name, item):
    """What the docstring of a method does not say."""
    own, whole = above(cls, name), f"{above(cls, name)}\n{around(cls)}"
    if not own.strip() and name not in whole:
        yield "what it does"
    if isinstance(item, (property, type)):
        return
    given = [one for one in arguments(item) if one not in ("self", "cls")]
    for one in given[len(given) == 1 :]:
        if one not in ALIKE and not one.startswith("_") and not re.search(rf"\b{one}\b", whole):
            yield f"what {one} is"
    if raises(item) and "Raises:" not in own and not is_abstract(inspect.unwrap(item)):
        yield "what it raises"
    if len(given) > 3 and ">>>" not in whole:
        yield "an example"


def test_methods_tell_of_arguments_and_errors():
    assert len(METHODS) > 700
    found = {name: [*lacking(cls, name.rpartition(".")[2], item)] for name, (cls, item) in METHODS.items()}
    assert {name: lacks for name, lacks in found.items() if lacks} == {}


def test_what_methods_lack_is_found():
    class Above:
        """Has an ``edge``."""

        def taken(self, edge, amount):
            """Said above: amount."""
            raise NotImplementedError

    class Below(Above):
        """Nothing."""

        def taken(self, edge, amount, other_one):
            if amount:
                raise ValueError

        def given(self):
            pass

    assert [*lacking(Above, "taken", Above.taken)] == []
    assert [*lacking(Below, "taken", Below.taken)] == ["what other_one is", "what it raises"]
    assert [*lacking(Below, "given", Below.given)] == ["what it does"]


def test_what_docstrings_lack_is_found():
    def silent(one, two, three, four):
        """Nothing of one."""
        raise ValueError

    assert unnamed(silent) == ["two", "three", "four"]
    assert raises(silent) and not raises(silent.__call__)
