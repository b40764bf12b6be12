"""``Optimizer``: parameter groups, state, hooks, state dicts; and ``PerParameter``, the loop that most of them share.

Note [Numbers of a step]
How often a parameter was updated is a tensor of its own, as in PyTorch, whose number most formulas need. At once it is
read. Where operators are recorded to be run later, in deferred mode and in compiled steps, reading would end the
recording; there, and with ``capturable`` or ``differentiable``, the formulas are computed on the tensor itself, in
float64 like Python's numbers.
"""

from __future__ import annotations

import functools
import math
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from copy import deepcopy
from functools import partial
from itertools import chain, repeat
from operator import attrgetter
from types import MethodType
from typing import Any, TypeAlias, TypeVar

from tapegrad._src.bindings.fused_update import elements_of, may_join, partitions
from tapegrad._src.bindings.state.attributes import typename
from tapegrad._src.execution.array_functions.updates import run_in_place
from tapegrad._src.execution.data.allocating import giving_back
from tapegrad._src.execution.data.dtypes import bfloat16, float16, float32, float64, get_default_dtype
from tapegrad._src.execution.recording.capturing import Repetition
from tapegrad._src.execution.recording.execution_mode import get_execution
from tapegrad._src.functions.construction import tensor
from tapegrad._src.functions.creation import zeros_like
from tapegrad._src.functions.joining import stack
from tapegrad._src.functions.retyping import view_as_complex, view_as_real
from tapegrad._src.tape.hooks import RemovableHandle
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.autograd.grad_mode import enable_grad, no_grad
from tapegrad.autograd.profiler import record_function
from tapegrad.compiler.annotations import is_compiling
from tapegrad.compiler.attachments import ATTACHMENTS
from tapegrad.compiler.replay.compiled_modules import compiled_updates
from tapegrad.optim.fused_parameters import FEWEST, FusedParameters, Given, Partition, Update
from tapegrad.utils._foreach_utils import _group_tensors_by_device_and_dtype

Params: TypeAlias = Iterable[Any]
"""Tensors, pairs of a name and a tensor, or dicts: one for each group, with the tensors under ``"params"``."""

ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
"""The same as a type, by PyTorch's name."""

StateDict: TypeAlias = dict[str, Any]
Function = TypeVar("Function", bound=Callable)


class _Required:
    """The class of ``required``."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()
"""A default that each parameter group has to replace."""

_step_pre_hooks: OrderedDict[int, Callable] = OrderedDict()
_step_post_hooks: OrderedDict[int, Callable] = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable) -> RemovableHandle:
    """Register a hook that is called before each step of every optimizer, as ``Optimizer.register_step_pre_hook``."""
    return _registered(_step_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable) -> RemovableHandle:
    """Register a hook that is called after each step of every optimizer, as ``Optimizer.register_step_post_hook``."""
    return _registered(_step_post_hooks, hook)


def _registered(hooks: OrderedDict[int, Callable], hook: Callable, prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


HOOKS = ("step_pre", "step_post", "state_dict_pre", "state_dict_post", "load_state_dict_pre", "load_state_dict_post")
"""The kinds of hooks; an optimizer has those of a kind in ``_optimizer_KIND_hooks``."""


def _updated(function: Callable, given: tuple, kwargs: dict[str, Any]) -> Any:
    """The result of a ``step``, by what is called in its place, if there is something like that, and no closure."""
    compiled = compiled_updates.get(id(given[0])) if len(given) == 1 and not kwargs else None
    if compiled is None or compiled.function != MethodType(function, given[0]):
        return function(*given, **kwargs)
    return compiled()


class Optimizer:
    """The base class of optimizers.

    Args:
        params: the tensors to optimize, in an order that is the same in each run; or pairs of names and tensors; or
            dicts, one for each group of tensors with options of its own.
        defaults: the options of groups that don't say otherwise.

    Attributes:
        param_groups: a dict for each group: its ``"params"``, and its options.
        state: what is remembered of each parameter.

    Raises:
        TypeError: ``params`` is a tensor, or something in it is none.
        ValueError: there are no parameters; one that is no leaf; one that is in two groups.
    """

    __slots__ = (ATTACHMENTS, "__dict__", "__weakref__")

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        for kind in HOOKS:
            setattr(self, f"_optimizer_{kind}_hooks", OrderedDict())
        self._patch_step_function()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + typename(params)
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for kind in HOOKS:
            self.__dict__.setdefault(f"_optimizer_{kind}_hooks", OrderedDict())
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines += [*[""] * (i > 0), f"Parameter Group {i}"]
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])

    # -- steps ---------------------------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters by their gradients.

        Args:
            closure: computes the loss, and the gradients, anew; most optimizers can do without.
        """
        raise NotImplementedError

    @staticmethod
    def _group_tensors_by_device_and_dtype(tensorlistlist: list[list[Any]], with_indices: bool = False) -> dict:
        """Lists of tensors, cut up by the device and dtype of those of the first one, as PyTorch's optimizers do.

        Args:
            tensorlistlist: the lists.
            with_indices: whether to tell where each came from.
        """
        return _group_tensors_by_device_and_dtype(tensorlistlist, with_indices)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters.

        Args:
            set_to_none: whether ``.grad`` is None afterwards, or zeros. A parameter without a gradient is left out of
                the next step; one with a gradient of zeros takes part in it.
        """
        with record_function(f"Optimizer.zero_grad#{type(self).__name__}.zero_grad"):
            for p in chain.from_iterable(group["params"] for group in self.param_groups):
                if set_to_none:
                    p.grad = None
                elif p.grad is not None:
                    p.grad.detach_() if p.grad.grad_fn is not None else p.grad.requires_grad_(False)
                    p.grad.zero_()

    @staticmethod
    def profile_hook_step(function: Function) -> Function:
        """``step`` with the hooks around it, and a range of its own in profiles.

        Raises:
            RuntimeError: when it is called, a hook returns neither None nor a pair of arguments.
        """

        @functools.wraps(function)
        def step(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
            given: tuple = (self, *args)
            before, after = self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks  # type: ignore[attr-defined]
            with record_function(f"Optimizer.step#{type(self).__name__}.step"):
                for hook in (*_step_pre_hooks.values(), *before.values()):
                    changed = hook(self, given, kwargs)
                    if changed is not None:
                        if not isinstance(changed, tuple) or len(changed) != 2:
                            raise RuntimeError(
                                f"{function} must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                            )
                        given, kwargs = changed
                result = _updated(function, given, kwargs) if compiled_updates else function(*given, **kwargs)
                for hook in (*after.values(), *_step_post_hooks.values()):
                    hook(self, given, kwargs)
            return result

        return step  # type: ignore[return-value]

    def _patch_step_function(self) -> None:
        """See that the ``step`` of this class calls the hooks, once for each class."""
        cls = type(self)
        if not getattr(cls.step, "hooked", False):
            cls.step = self.profile_hook_step(cls.step)  # type: ignore[method-assign]
            cls.step.hooked = True  # type: ignore[attr-defined]

    # -- hooks ---------------------------------------------------------------------------------------------------------

    def register_step_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return other ``(args, kwargs)``."""
        return _registered(self._hooks("step_pre"), hook)

    def register_step_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return _registered(self._hooks("step_post"), hook)

    def register_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before a state dict is made.

        Args:
            hook: the function.
            prepend: whether it is called before those that are there.
        """
        return _registered(self._hooks("state_dict_pre"), hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` with a state dict that was made; it may return another.

        Args:
            hook: the function.
            prepend: whether it is called before those that are there.
        """
        return _registered(self._hooks("state_dict_post"), hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before a state dict is loaded; it may return another.

        Args:
            hook: the function.
            prepend: whether it is called before those that are there.
        """
        return _registered(self._hooks("load_state_dict_pre"), hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` after a state dict was loaded.

        Args:
            hook: the function.
            prepend: whether it is called before those that are there.
        """
        return _registered(self._hooks("load_state_dict_post"), hook, prepend)

    def _hooks(self, kind: str) -> OrderedDict[int, Callable]:
        return getattr(self, f"_optimizer_{kind}_hooks")

    # -- parameter groups ----------------------------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, with options of its own: those of a part that is to be trained from now on, say.

        Args:
            param_group: the parameters under ``"params"``, and options.

        Raises:
            TypeError: it is no dictionary, or its parameters are a set, or no tensors.
            ValueError: a parameter is no leaf, or is in another group; only some have names; an option that has no
                default is missing.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        given = param_group["params"]
        if isinstance(given, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead."
            )
        given = [given] if isinstance(given, Tensor) else list(given)
        names = [one[0] for one in given if isinstance(one, tuple)]
        param_group["params"] = params = [one[1] if isinstance(one, tuple) else one for one in given]
        if names and len(names) != len(params):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        if names:
            param_group["param_names"] = names
        for p in params:
            self._check_parameter(p)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        if len(params) != len(set(params)):
            warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information"
            )
        for group in self.param_groups:
            if ("param_names" in param_group) != ("param_names" in group):
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param group "
                    f"{'with' if 'param_names' in param_group else 'without'} names to the optimizer"
                )
        others = {p for group in self.param_groups for p in group["params"]}
        if not others.isdisjoint(params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def _check_parameter(self, p: Any) -> None:
        if not isinstance(p, Tensor):
            raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {typename(p)}")
        if not self.defaults.get("differentiable") and not (p.is_leaf or p.retains_grad):
            raise ValueError("can't optimize a non-leaf Tensor")

    # -- state dicts ---------------------------------------------------------------------------------------------------

    def state_dict(self) -> StateDict:
        """The state of the optimizer: ``"state"``, by the number of the parameter, and ``"param_groups"``.

        Parameters are numbered in the order of the groups. The tensors are those of the optimizer, not copies.
        """
        for hook in self._hooks("state_dict_pre").values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
            groups.append({key: value for key, value in group.items() if key != "params"})
            groups[-1]["params"] = [numbers[id(p)] for p in group["params"]]
        state = {numbers[id(key)] if isinstance(key, Tensor) else key: value for key, value in self.state.items()}
        result: StateDict = {"state": state, "param_groups": groups}
        for hook in self._hooks("state_dict_post").values():
            changed = hook(self, result)
            result = result if changed is None else changed
        return result

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Take over the state of another optimizer of the same kind, with as many parameters in as many groups.

        Args:
            state_dict: what ``state_dict()`` gave. Floating tensors in it take the dtypes of the parameters that they
                belong to, except the numbers of steps.

        Raises:
            ValueError: another number of groups, or of parameters in a group.
        """
        state_dict = state_dict.copy()
        for hook in self._hooks("load_state_dict_pre").values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        saved = deepcopy(state_dict["param_groups"])
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        pairs = list(zip(self.param_groups, saved, strict=True))
        if any(len(group["params"]) != len(new["params"]) for group, new in pairs):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        meant = {number: p for group, new in pairs for number, p in zip(new["params"], group["params"], strict=True)}
        state: defaultdict[Any, Any] = defaultdict(dict)
        for number, value in state_dict["state"].items():
            if number in meant:
                state[meant[number]] = _cast(meant[number], value, number, state_dict["param_groups"])
            else:
                state[number] = value
        for group, new in pairs:
            new["params"] = group["params"]
            if "param_names" in group:
                new.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._hooks("load_state_dict_post").values():
            hook(self)


def _cast(p: Tensor, value: Any, number: Any, groups: list[dict], key: Any = None) -> Any:
    """A copy of loaded state, on the device of its parameter, and of its dtype unless it counts steps."""
    if isinstance(value, Tensor):
        return _cast_tensor(p, value, number, groups, key)
    if isinstance(value, dict):
        return {name: _cast(p, item, number, groups, name) for name, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return type(value)(_cast(p, item, number, groups) for item in value)  # type: ignore[call-arg]
    return value


def _cast_tensor(p: Tensor, value: Tensor, number: Any, groups: list[dict], key: Any) -> Tensor:
    if key == "step":
        group = next((group for group in groups if number in group["params"]), {})
        stays = not (group.get("capturable") or group.get("fused"))
        return value if stays else value.to(dtype=float32, device=p.device)
    if p.is_floating_point():
        return value.to(dtype=p.dtype, device=p.device)
    return value.to(device=p.device)


# -- the loop that most algorithms share -------------------------------------------------------------------------------


class PerParameter(Optimizer):
    """An optimizer that updates one parameter after the other, by its gradient and its state.

    Subclasses say what is remembered (``begin``) and how a parameter is updated (``update``). Complex parameters come
    as pairs of reals; the gradient comes with its sign turned if it is to be maximized, and with the weight decay
    added, unless that is ``decoupled``.

    Attributes:
        counts: whether updates are counted.
        begins: whether there is a state before the first update, for which ``begin`` has to be asked.
        is_elementwise: whether each element is updated by itself, so that parameters can be updated as one.
        states: the names of tensors that are remembered, zeros at first, of the shape of the parameter.
    """

    counts = True
    begins = True
    is_elementwise = True
    states: tuple[str, ...] = ()
    takes_sparse = False
    """True if ``update`` takes sparse gradients, too."""
    refuses_sparse = "{name} does not support sparse gradients"

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters by their gradients.

        Args:
            closure: computes the loss and the gradients anew, and returns the loss.

        Returns:
            what the closure returned, or None.
        """
        loss = loss_of(closure)
        with enable_grad() if self.defaults.get("differentiable") else no_grad():
            known = chain(partitions.get(self, ()), repeat(None))
            partitions[self] = list(map(self._update_group, self.param_groups, known))
        giving_back.after_step()
        return loss

    def _update_group(self, group: dict[str, Any], known: Partition | None) -> Partition | None:
        """Update the parameters of a group that have gradients; small ones together, where that gives the same.

        Args:
            group: the group.
            known: how it was parted at the last step, if it was.

        Returns:
            how it was parted now.
        """
        together, repetition = self.is_elementwise and may_join(), Repetition()
        given, begun = self._given(group, attrgetter("_grad" if together else "grad"))
        if together and len(given.params) >= FEWEST:
            if known is None or not known.is_of(given):
                known = Partition(given, partial(self._fused, group=group))
            others = known.others_of(given)
        else:
            known, others = None, given
        if others.params:
            for p, grad, state in zip(*others, strict=True):
                with repetition.of(_likeness, p, grad, state):
                    self._update_one(p, grad, state, group)
        if known is not None:
            for joined in known.joined:
                self._update_fused(joined, given.grads, group)
            self._update_large(known.large, given.grads, group)
        if any(given.states):
            self.state.update((given.params[i], given.states[i]) for i in begun if given.states[i])
        return known

    def _given(self, group: dict[str, Any], gradient: Callable[[Tensor], Any]) -> tuple[Given, list[int]]:
        """The parameters of a group that have gradients, and the places of those whose state has just begun."""
        params: list[Tensor] = group["params"]
        grads = list(map(gradient, params))
        kinds = set(map(type, grads))
        if type(None) in kinds:
            pairs = zip(params, grads, strict=True)
            grads = [p.grad if grad is None and p._spec.overrides else grad for p, grad in pairs]
            params = [p for p, grad in zip(params, grads, strict=True) if grad is not None]
            grads = [grad for grad in grads if grad is not None]
        if kinds - {Tensor, type(None)} and not self.takes_sparse and any(grad.is_sparse for grad in grads):
            raise RuntimeError(self.refuses_sparse.format(name=type(self).__name__))
        states: list[Any] = list(map(self.state.get, params)) if self.state else [None] * len(params)
        begun = [] if all(states) else [i for i, state in enumerate(states) if not state]
        for i in begun:
            states[i] = {}
        repetition = Repetition()
        for i in begun if self.begins else ():
            with repetition.of(_likeness, params[i], None, states[i]):
                self.begin(params[i], group, states[i])
        return Given(params, grads, states), begun

    def _update_one(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        decay = 0 if self.is_decoupled(group) else group.get("weight_decay", 0)
        grad = -grad if group.get("maximize") else grad
        if isinstance(decay, Tensor) or decay != 0:
            grad = grad.add(p * decay) if isinstance(decay, Tensor) else grad.add(p, alpha=decay)
        if p.is_complex():
            shown = _Reals(state)
            self.update(view_as_real(p), view_as_real(grad), shown, group)
            shown.give_back(state)
        else:
            self.update(p, grad, state, group)

    def _update_fused(self, joined: FusedParameters, grads: list[Tensor], group: dict[str, Any]) -> None:
        """Update parameters behind one another as if they were one: Note [Fused updates] in
        ``bindings/fused_update.py``."""
        gradient = elements_of(joined.of(grads))
        numbers = joined.present_numbers()
        update = self._fused(joined, group, numbers)
        if update is None:
            joined.update(gradient, lambda p, grad, state: self._update_one(p, grad, state, group))
        else:
            joined.run(gradient, update, numbers)

    def _update_large(self, large: list[FusedParameters], grads: list[Tensor], group: dict[str, Any]) -> None:
        """Update large parameters in their own memory: Note [Updates in place] in
        ``execution/array_functions/updates.py``."""
        updates = []
        for one in large:
            numbers = one.present_numbers()
            update = self._fused(one, group, numbers)
            if update is None:  # the options are others now
                (p,), (grad,), (state,) = one.row.tensors, one.of(grads), one.states
                self._update_one(p, grad, state, group)
            else:
                updates.append(one.opened(grads, update, numbers))
        if updates:
            run_in_place(updates)

    def _fused(
        self, joined: FusedParameters, group: dict[str, Any], numbers: dict[str, float] | None = None
    ) -> Update | None:
        """The update of some parameters by one kernel, if there is one."""
        if joined.row.tensors[0].dtype in (float16, bfloat16):  # rounded after each call; numbers are not
            return None
        return self.fused(tuple(joined.rows), joined.present_numbers() if numbers is None else numbers, group)

    def fused(self, states: tuple[str, ...], numbers: dict[str, float], group: dict[str, Any]) -> Update | None:
        """A kernel that computes all that an ``update`` computes; None if it must be call by call.

        Args:
            states: the names of the tensors that the parameters have as their state.
            numbers: the numbers of the state, to be put in place of by those after the step.
            group: the options.
        """
        return None

    def is_decoupled(self, group: dict[str, Any]) -> bool:
        """Tell whether weights decay by themselves, not by way of the gradient; ``update`` sees to it then."""
        return group.get("decoupled_weight_decay", False)

    def begin(self, p: Tensor, group: dict[str, Any], state: dict[str, Any]) -> None:
        """Make the state of a parameter before its first update.

        Args:
            p: the parameter.
            group: its options.
            state: the state, to be filled.
        """
        if self.counts:
            state["step"] = self.number(p, group)
        for name in self.states:
            state[name] = zeros_like(p)

    def update(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Update a parameter, and its state, in place.

        Args:
            p: the parameter.
            grad: its gradient.
            state: its state.
            group: its options.
        """
        raise NotImplementedError

    def __setstate__(self, state: dict[str, Any]) -> None:
        """States of old, whose steps were plain numbers and whose groups had fewer options, are brought up to date."""
        options = set(state.get("defaults") or self.defaults)  # of its own; all optimizers get some more
        super().__setstate__(state)
        for group in self.param_groups:
            for name in ("maximize", "foreach", "capturable", "differentiable", "fused", "decoupled_weight_decay"):
                if name in options:
                    group.setdefault(name, None if name in ("foreach", "fused") else False)
            for p in group["params"]:
                known = self.state.get(p, {})
                for name in ("step", "mu_product", "eta", "mu"):
                    if name in known and not isinstance(known[name], Tensor):
                        known[name] = self.number(p, group, float(known[name]))

    @staticmethod
    def number(p: Tensor, group: dict[str, Any], value: float = 0.0) -> Tensor:
        """A number of the state, as a tensor: on the CPU, unless all must be where the parameters are, as on a mesh."""
        with_p = group.get("capturable") or group.get("fused") or p.device.sharded
        return tensor(value, dtype=_get_scalar_dtype(group.get("fused")), device=p.device if with_p else "cpu")


def _likeness(p: Tensor, grad: Any, state: dict[str, Any]) -> Hashable:
    """All that decides which code updates a parameter, among those of a group; of a sparse gradient it is not known."""
    if not (grad is None or type(grad) is Tensor):
        return object()
    inside = ((name, item if type(item) in (bool, int, float) else type(item)) for name, item in state.items())
    return type(p), p._spec, None if grad is None else grad._spec, tuple(inside)


class _Reals(dict):
    """The state of a complex parameter, shown as pairs of reals; numbers are as they are."""

    def __init__(self, state: dict[str, Any]) -> None:
        super().__init__(
            {
                name: view_as_real(item) if isinstance(item, Tensor) and item.is_complex() else item
                for name, item in state.items()
            }
        )
        self.shown = frozenset(self)

    def give_back(self, state: dict[str, Any]) -> None:
        """Give back what ``update`` has put into the state itself: it is made complex, and kept."""
        for name in self.keys() - self.shown:
            state[name] = view_as_complex(self[name]) if isinstance(self[name], Tensor) else self[name]


def counted(state: dict[str, Any], group: dict[str, Any]) -> Any:
    """The number of updates, this one counted: a number, or a tensor. See Note [Numbers of a step]."""
    count = state["step"]
    count += 1
    return value_of(count, group)


def value_of(number: Tensor, group: dict[str, Any]) -> Any:
    """The value of a number of the state; the tensor itself where it must not be read. See Note [Numbers of a step]."""
    if group.get("capturable") or group.get("differentiable") or get_execution() == "deferred":
        return number.double() if number.device.type == "cpu" else number
    return number.item()


def _use_grad_for_differentiable(func: Function) -> Function:
    """A ``step`` that is recorded if the optimizer is ``differentiable``, and else is not."""

    @functools.wraps(func)
    def step(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        with enable_grad() if self.defaults["differentiable"] else no_grad():
            return func(self, *args, **kwargs)

    return step  # type: ignore[return-value]


def _get_value(x: Any) -> Any:
    """The number of a tensor, anything else as it is; in a step that is compiled, the tensor."""
    return x.item() if isinstance(x, Tensor) and not is_compiling() else x


def _stack_if_compiling(x: Any) -> Any:
    """The numbers; in a step that is compiled, one tensor of them."""
    return stack(x) if is_compiling() else x


def _dispatch_sqrt(x: Any) -> Any:
    """The root of a number, or of a tensor."""
    return x.sqrt() if isinstance(x, Tensor) else math.sqrt(x)


def _default_to_fused_or_foreach(params: list[Any], differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    """(False, False): parameters are updated together where that gives the same, whoever asks."""
    return False, False


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """The types of devices on which a step may be ``capturable``: all."""
    return ["cpu", "cuda", "xla"]


def _view_as_real(params: list[Tensor], *state_and_grads: list[Any]) -> None:
    """Put pairs of reals in the place of complex parameters, and of what belongs to them, in these lists."""
    for i in [i for i, p in enumerate(params) if p.is_complex()]:
        for one in (params, *state_and_grads):
            one[i] = view_as_real(one[i])


def _get_scalar_dtype(is_fused: bool | None = None) -> Any:
    """The dtype of numbers of the state."""
    return float64 if get_default_dtype() is float64 and not is_fused else float32


def scalar(value: Any) -> Any:
    """A tensor of one element without dimensions; anything else as it is."""
    return value.squeeze() if isinstance(value, Tensor) and value.dim() else value


def add_scaled(p: Tensor, direction: Tensor, factor: Any) -> None:
    """``p += factor * direction``, where the factor may be a tensor that isn't to be read."""
    if isinstance(factor, Tensor):
        p.addcmul_(direction, factor.to(direction.dtype))
    else:
        p.add_(direction, alpha=factor)


def add_quotient(p: Tensor, numerator: Tensor, denominator: Tensor, factor: Any) -> None:
    """``p += factor * numerator / denominator``, where the factor may be a tensor that isn't to be read."""
    if isinstance(factor, Tensor):
        p.addcdiv_(numerator * factor.to(numerator.dtype), denominator)
    else:
        p.addcdiv_(numerator, denominator, value=factor)


# -- options -----------------------------------------------------------------------------------------------------------


def loss_of(closure: Callable[[], Any] | None) -> Any:
    """The loss of a closure given to ``step``, which computes gradients; None without one."""
    if closure is None:
        return None
    with enable_grad():
        return closure()


def chosen(given: dict[str, Any], names: str) -> dict[str, Any]:
    """The options of these names, in this order: of the arguments of an ``__init__``, as ``locals`` has them.

    >>> chosen({"lr": 0.1, "eps": 1.0, "params": []}, "eps lr")
    {'eps': 1.0, 'lr': 0.1}
    """
    return {name: given[name] for name in names.split()}


def check_lr(lr: Any) -> None:
    """Refuse a learning rate that is negative, or several."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not lr >= 0.0:
        raise ValueError(f"Invalid learning rate: {lr}")


def check_nonnegative(**options: float) -> None:
    """Refuse options that are negative; they are called as PyTorch calls them."""
    for name, value in options.items():
        if not value >= 0.0:
            raise ValueError(f"Invalid {'epsilon' if name == 'eps' else name} value: {value}")


def check_betas(betas: tuple[Any, Any]) -> None:
    """Refuse weights of running means that are not in [0, 1)."""
    for i, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")


def check_moments(lr: Any, betas: tuple[Any, Any], eps: float, weight_decay: float) -> None:
    """Refuse options out of range that ``Adam`` and its kin share, in PyTorch's order."""
    check_lr(lr)
    check_nonnegative(eps=eps)
    check_betas(betas)
    check_nonnegative(weight_decay=weight_decay)


def check_ways(options: dict[str, Any]) -> None:
    """Refuse ways of computing that exclude each other."""
    if options.get("fused"):
        if options.get("differentiable"):
            raise RuntimeError("`fused` does not support `differentiable`")
        if options.get("foreach"):
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def all_params(optimizer: Optimizer) -> Iterator[tuple[dict[str, Any], Tensor]]:
    """Each parameter, with its group."""
    for group in optimizer.param_groups:
        for p in group["params"]:
            yield group, p


__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]
