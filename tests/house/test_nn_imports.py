"""A module is a user: what the files of ``nn`` import from the rest of the package has a public name."""

import ast
from importlib import import_module
from pathlib import Path

import pytest
from sources import nodes_in

import tapegrad

pytestmark = pytest.mark.once("reads the source")

NN = Path(tapegrad.__file__).parent / "nn"
TENSORS = {"nn/parameter.py", "nn/functional.py"}
"""What makes parameters and names functions is no module."""

TOLERATED = {
    "tapegrad._src.functions.attention.kernels",  # what PyTorch sets in ``torch._C``
    "tapegrad._src.bindings.asked._is_any_autocast_enabled",  # what PyTorch's modules ask ``torch._C``
    "tapegrad._src.bindings.unbound.keep_unbound",  # PyTorch's functions in C++ are no methods of their own accord
    "tapegrad._src.tensor.paths.owners",  # where modules are noted, so that parameters have paths
    "tapegrad._src.tensor.paths.note_module",  # and where they are looked for, when an error leaves one
    *(f"tapegrad._src.tape.hooks.module_forward{kind}" for kind in ("", "_pre", "_always_called")),  # as profiles do
    "tapegrad.func.modules.reparametrized",  # which PyTorch has in ``nn.utils.stateless``, and ``func`` uses
    "tapegrad.interop.pytrees.register_node",  # modules are trees of jax, which PyTorch has nothing for
    "tapegrad._src.tape.showing.shown_in_html",  # what modules look like in notebooks, which PyTorch has nothing for
}

HOMES = (
    "tapegrad", "tapegrad.__future__", "tapegrad.autograd", "tapegrad.autograd.function", "tapegrad.autograd.profiler",
    "tapegrad.cuda", "tapegrad.fft", "tapegrad.func", "tapegrad.linalg", "tapegrad.nn.functional",
    "tapegrad.overrides", "tapegrad.special", "tapegrad.utils", "tapegrad.utils.checkpoint", "tapegrad.utils.hooks",
)  # fmt: skip
"""Where PyTorch's users find names."""


def imported(source):
    """The module and the name of all that a file imports from the package."""
    for node in nodes_in(source):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "tapegrad":
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names if alias.name.startswith("tapegrad"))


def public_objects():
    """All that has a public name."""
    modules = [import_module(home) for home in HOMES]
    found = {id(getattr(module, name)) for module in modules for name in dir(module)}
    return found | {id(found) for found in vars(tapegrad._C._nn).values()}


def not_public(source, public):
    """What a file imports that is neither of ``nn`` nor has a public name."""
    for module, name in imported(source):
        if name is None or not module.startswith(("tapegrad.nn", "tapegrad._src.declaring")):
            found = None if name is None else getattr(import_module(module), name)
            if id(found) not in public and f"{module}.{name}" not in TOLERATED:
                yield f"{module}.{name}"


def test_what_modules_import_is_public():
    files = [path for path in NN.rglob("*.py") if f"nn/{path.relative_to(NN)}" not in TENSORS]
    assert len(files) > 5
    public = public_objects()
    assert {str(path.relative_to(NN)): list(not_public(path.read_text(), public)) for path in files} == {
        str(path.relative_to(NN)): [] for path in files
    }


def test_other_imports_are_found():
    source = (
        "from tapegrad._src.dispatch.nodes.accumulate_grad import AccumulateGrad, edge_of\n"
        "from tapegrad._src.functions.joining import cat"
    )
    assert list(not_public(source, public_objects())) == [
        "tapegrad._src.dispatch.nodes.accumulate_grad.AccumulateGrad",
        "tapegrad._src.dispatch.nodes.accumulate_grad.edge_of"
    ]  # fmt: skip
