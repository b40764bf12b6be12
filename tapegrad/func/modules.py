"""Modules as functions of their parameters: ``functional_call``, ``stack_module_state`` and what else deals with them.

A module is any object with ``named_parameters``, ``named_buffers`` and ``__call__``, whose tensors are attributes of it
and of the modules below it; if it keeps them in dicts ``_parameters`` and ``_buffers``, they are changed there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

from tapegrad._src.bindings.writes.in_place import before_write
from tapegrad._src.functions.joining import stack
from tapegrad._src.tape.modes import switched
from tapegrad._src.tensor.lifted import Lifted
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad._src.tensor.trees import flatten, unflatten

MISSING: Any = object()
"""Stands for a tensor that a module doesn't have."""


def functional_call(
    module: Any, parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]], args: Any = None,
    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """Call a module with other tensors in place of its parameters and buffers; afterwards it has its own again.

    Args:
        module: the module.
        parameter_and_buffer_dicts: tensors by name (``"layer.weight"``); or several such dicts without a common name.
            If the module replaces one of them meanwhile, a single dict has the new one afterwards.
        args: a tuple of the arguments, or the only one.
        kwargs: those by keyword.
        tie_weights: whether names of one tensor stand for one tensor here too.
        strict: whether all tensors of the module have to be given, and no others.

    Raises:
        ValueError: the dicts are none, or have a name in common, or have several tensors for tied names.
        RuntimeError: names are missing or unexpected, if ``strict``.
        AttributeError: there is no such module below this one.
        TypeError: something is no tensor.

    >>> class Scale:
    ...     def __init__(self):
    ...         self.weight = torch.ones(2)
    ...     def named_parameters(self, remove_duplicate=True):
    ...         yield "weight", self.weight
    ...     def named_buffers(self, remove_duplicate=True):
    ...         yield from ()
    ...     def __call__(self, x):
    ...         return (x * self.weight).sum()
    >>> def loss(parameters, x):
    ...     return functional_call(Scale(), parameters, x)
    >>> torch.func.grad(loss)({"weight": torch.zeros(2)}, torch.tensor([1.0, 2.0]))
    {'weight': tensor([1., 2.])}
    """
    given = merged(parameter_and_buffer_dicts)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with reparametrized(module, given, tie_weights, strict):
        return module(*args, **(kwargs or {}))


def merged(dicts: Any) -> dict[str, Tensor]:
    """All tensors by name.

    Raises:
        ValueError: these are no dicts, or a name is in several of them.
    """
    if isinstance(dicts, dict):
        return dicts
    if not isinstance(dicts, Sequence):
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(dicts)}"
        )
    if not all(isinstance(part, dict) for part in dicts):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    counts = Counter(key for part in dicts for key in part)
    repeated = [key for key, count in counts.items() if count > 1]
    if repeated:
        raise ValueError(
            f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous"
        )
    return {key: value for part in dicts for key, value in part.items()}


@contextmanager
def reparametrized(
    module: Any, given: dict[str, Tensor], tie_weights: bool, strict: bool, backwards: bool = False
) -> Iterator[None]:
    """Let a module have other tensors for a block; with ``backwards`` those replaced last are put back first."""
    tensors = with_tied_names(module, given) if tie_weights else dict(given)
    if strict:
        check_names(module, set(tensors))
    own: dict[str, Any] = {}
    try:
        own.update(exchanged(module, tensors))
        yield
    finally:
        left = exchanged(module, dict(reversed(own.items())) if backwards else own)
        given.update({name: left[name] for name in given if name in left})


def all_tensors(module: Any) -> dict[str, Tensor]:
    """The parameters and buffers of a module by all their names."""
    return {
        **dict(module.named_parameters(remove_duplicate=False)), **dict(module.named_buffers(remove_duplicate=False))
    }  # fmt: skip


def with_tied_names(module: Any, given: dict[str, Tensor]) -> dict[str, Tensor]:
    """The given tensors by all names that stand for the same one in the module.

    Raises:
        ValueError: there are several tensors for these names.
    """
    tied: dict[int, set[str]] = {}
    for name, tensor in all_tensors(module).items():
        tied.setdefault(id(tensor), set()).add(name)
    tensors = dict(given)
    for names in tied.values():
        known = names & given.keys()
        if len(known) > 1 and len({id(given.get(name)) for name in names}) != 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(names)}, which are tied. Consider using "
                "tie_weights=False"
            )
        tensors.update({name: given[next(iter(known))] for name in names} if known else {})
    return tensors


def check_names(module: Any, names: set[str]) -> None:
    """Refuse names that are not those of the module."""
    own = set(all_tensors(module))
    errors = [
        f"{what} key(s): {', '.join(map(repr, sorted(keys)))}."
        for what, keys in (("Unexpected", names - own), ("Missing", own - names))
        if keys
    ]
    if errors:
        raise RuntimeError("Error(s) in reparametrizing for {}:\n\t{}".format(name_of(module), "\n\t".join(errors)))


def exchanged(module: Any, tensors: dict[str, Any]) -> dict[str, Any]:
    """Give a module tensors by name, and return those that it had; all or none."""
    before: dict[str, Any] = {}
    try:
        for name, tensor in tensors.items():
            before[name] = exchange(owner_of(module, name), name.rpartition(".")[2], tensor)
    except Exception:
        for name, tensor in before.items():
            exchange(owner_of(module, name), name.rpartition(".")[2], tensor)
        raise
    return before


def owner_of(module: Any, name: str) -> Any:
    """The module below this one that has the tensor of a name."""
    parts = name.split(".")[:-1]
    for index, part in enumerate(parts):
        if not hasattr(module, part):
            raise AttributeError(f"{name_of(module)} has no attribute `{part}`")
        module = getattr(module, part)
        if not hasattr(module, "named_parameters"):
            path = ".".join(parts[: index + 1])
            raise TypeError(f"submodule `{path}`: {module} is not an instance of torch.nn.Module")
    return module


def exchange(module: Any, name: str, tensor: Any) -> Any:
    """Put a tensor in the place of another one of a module itself, and return that."""
    if not (tensor is MISSING or tensor is None or isinstance(tensor, Tensor)):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    if name == "":
        raise KeyError('tensor name can\'t be empty string ""')
    for kept in (getattr(module, "_parameters", None), getattr(module, "_buffers", None)):
        if isinstance(kept, dict) and name in kept:
            before = kept[name]
            if tensor is MISSING:
                del kept[name]
            else:
                kept[name] = tensor
            return before
    before = getattr(module, name, MISSING)
    if not (before is MISSING or before is None or isinstance(before, Tensor)):
        raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    if tensor is not MISSING:
        setattr(module, name, tensor)
    elif before is not MISSING:
        delattr(module, name)
    return before


def name_of(module: Any) -> str:
    """The name of a module in messages."""
    return module._get_name() if hasattr(module, "_get_name") else type(module).__name__


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of several modules of one class, stacked: for ``vmap`` over an ensemble.

    Returns:
        ``(parameters, buffers)`` by name, each with the modules as the first dimension. They are leaves, which require
        grad if those of the modules do.

    Args:
        models: a list of modules.

    Raises:
        RuntimeError: no module, or modules that differ in class, in ``training`` or in what requires grad.
    """
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({bool(model.training) for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(model) is not type(models[0]) for model in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = [dict(model.named_parameters()) for model in models]
    buffers = [dict(model.named_buffers()) for model in models]
    return stacked(parameters), stacked(buffers)


def stacked(states: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Tensors by name of several modules as leaves that have all."""
    return {name: stacked_leaf([state[name] for state in states], name) for name in states[0]}


def stacked_leaf(tensors: list[Tensor], name: str) -> Tensor:
    """Tensors of several modules in one."""
    if len({tensor.requires_grad for tensor in tensors}) > 1:
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    result = stack(tensors)
    return result.detach().requires_grad_() if tensors[0].requires_grad else result


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Let the batch norms of a module, in place, use the statistics of each batch alone; ``vmap`` can't write others.

    Returns:
        the module.

    Args:
        root: the module, itself or with such modules inside.
    """
    for module in (root, *root.modules()):
        if is_batch_norm(module) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def is_batch_norm(module: Any) -> bool:
    """Tell whether a module is one of the batch norms, which have a base class of this name."""
    return any(base.__name__ == "_BatchNorm" for base in type(module).__mro__)


def functionalize(func: Callable, *, remove: str = "mutations") -> Callable:
    """A function with the results of ``func``, to which writes inside it are as if there were none.

    What was saved for backward survives them, and an input that is written to is returned as a tensor of its own. Else
    the function is called as it is, for arrays are never written to here: what PyTorch shows inside (tensors that don't
    require grad, whose writes have no version) can't be seen.

    Args:
        remove: ``"mutations"`` or ``"mutations_and_views"``.

    Raises:
        RuntimeError: ``remove`` is something else.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            "     remove='mutations': all inplace and out= operators will be removed from the program, and replaced "
            "with their out-of-place equivalents.\n"
            "     remove='mutations_and_views': In addition to the above, all aliasing operators {view} will be "
            "replaced with their non-aliasing counterparts, {view}_copy.\n"
        )

    @wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        given = [(one, one._version) for one in flatten((args, kwargs))[0] if isinstance(one, Tensor)]
        with switched(surviving=True):
            items, structure = flatten(func(*args, **kwargs))
        written = [one for one, version in given if one._version != version]
        return unflatten([before_write(x) if any(x is one for one in written) else x for x in items], structure)

    return wrapped


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """Show the tensor outside of a function transform that one inside it is, or outside of all of them; to look at, no
    more.

    Args:
        tensor: any tensor.
        recurse: whether to go on until it is at no level any more.

    Raises:
        TypeError: no tensor.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(
            "is_functorch_wrapped_tensor(): incompatible function arguments. The following argument types are "
            f"supported:\n    1. (arg0: torch.Tensor) -> bool\n\nInvoked with: {tensor!r}"
        )
    while tensor._spec.level:
        value = value_of(tensor)
        if not isinstance(value, Lifted):
            break
        tensor = value.tensor
        if not recurse:
            break
    return tensor
