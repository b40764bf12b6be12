"""Names that packages import, and small functions beside them: what they do in PyTorch."""

import collections
import importlib

import numpy as np
import pytest
import torch
from harness import agree, attempt, recorded_warnings, same, warned

import tapegrad

pytestmark = pytest.mark.parity

Pair = collections.namedtuple("Pair", "x y")


def plain(value):
    """Containers as they are, with tensors as lists."""
    if isinstance(value, dict):
        return type(value).__name__, {key: plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value).__name__, [plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def gathered_badly(lib):
    gather = importlib.import_module(f"{lib.__name__}.nn.parallel.scatter_gather").gather
    return gather([{"a": lib.ones(1)}, {}], "cpu")


def allclose(lib):
    with recorded_warnings() as seen:
        lib.testing.assert_allclose([1.0, float("nan")], np.array([1.00001, np.nan]))
    refused = attempt(lambda: lib.testing.assert_allclose([1.0], [2.0]))
    return [(str(one.message), one.category) for one in seen], refused


@pytest.mark.parametrize("program", [gathered_badly, allclose])
def test_as_pytorch(program):
    theirs, ours = (plain(attempt(lambda lib=lib: program(lib))) for lib in (torch, tapegrad))
    assert str(ours) == str(theirs)


def test_containers_are_cut_and_gathered():
    """PyTorch's want GPUs: here is what its documentation says."""
    parallel = tapegrad.nn.parallel
    parts = parallel.scatter(Pair({"a": tapegrad.arange(3)}, "text"), ["cpu", "cpu"])
    assert plain(parts) == (
        "list",
        [("Pair", [("dict", {"a": [0, 1]}), "text"]), ("Pair", [("dict", {"a": [2]}), "text"])],
    )
    again = parallel.gather([part.x for part in parts], "cpu")
    assert plain(again) == ("dict", {"a": [0, 1, 2]})


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("_subclasses.fake_tensor", "is_fake"),
        ("compiler", "set_stance"),
        ("fx.experimental.proxy_tensor", "get_proxy_mode"),
        ("jit", "Error"),
        ("jit", "ScriptWarning"),
        ("overrides", "get_ignored_functions"),
        ("utils", "set_module"),
    ],
)
def test_what_packages_import_is_there(module, name):
    theirs, ours = (getattr(importlib.import_module(f"{lib}.{module}"), name) for lib in ("torch", "tapegrad"))
    assert callable(ours)
    assert isinstance(ours, type) == isinstance(theirs, type) or name == "set_stance"


def checks(lib):
    """Conditions that raise when they don't hold, each its own error."""
    kinds = ["_check", "_check_index", "_check_value", "_check_type", "_check_not_implemented"]
    calls = [lambda kind=kind, args=args: getattr(lib, kind)(*args) for kind in kinds for args in [
        (True,), (False,), (False, lambda: "why"), (False, lambda: 3), (False, "why"), (1,), (lib.ones(1),), (None,),
    ]]  # fmt: skip
    calls += [
        lambda: lib._check_with(KeyError, False, lambda: "why"), lambda: lib._check_with(UserWarning, False, None),
        lambda: lib._check_with(int, False, None), lambda: lib._check_tensor_all(lib.tensor([True, False])),
        lambda: lib._check_tensor_all(lib.tensor([True])), lambda: lib._check_tensor_all(lib.ones(1)),
        lambda: lib._check_tensor_all(True), lambda: lib._check_tensor_all(lib.tensor([False]), lambda: "why"),
        lambda: lib._check_tensor_all_with(KeyError, lib.tensor(False)), lambda: lib._assert(True, "why"),
        lambda: lib._assert(lib.zeros(1), "why"), lambda: lib._assert(lib.ones(1), "why"), lambda: lib._assert(0, None),
    ]  # fmt: skip
    sizes = [lambda: lib._check_is_size(2), lambda: lib._check_is_size(-1), lambda: lib._check_is_size(3, max=2)]
    return [[attempt(call) for call in calls], [[attempt(size), warned(lambda: attempt(size))] for size in sizes]]  # noqa: B023


def debug_modes(lib):
    try:
        told = []
        for mode in ("warn", "error", "default", 1, 2, 0, 3, "no", None):
            told.append(attempt(lambda: lib.set_deterministic_debug_mode(mode)))  # noqa: B023
            told.append([lib.get_deterministic_debug_mode(), lib.are_deterministic_algorithms_enabled()])
        module = importlib.import_module(f"{lib.__name__}.utils.deterministic")
        told.append(module.fill_uninitialized_memory)
        module.fill_uninitialized_memory = False
        told.append([module.fill_uninitialized_memory, lib.utils.deterministic is module])
        module.fill_uninitialized_memory = True
    finally:
        lib.use_deterministic_algorithms(False)
    return told


def uniques(lib):
    x = lib.tensor([3, 1, 1, 2])
    found = [lib._unique(x), lib._unique(x, True, True), lib._unique2(x), lib._unique2(x, True, False, True)]
    return [*found, lib._unique2(x.view(2, 2), return_inverse=True, return_counts=True), lib._unique2(x[:0])]


def weak_references(lib):
    x = lib.ones(1)
    reference = lib._C._WeakTensorRef(x)
    told = [reference.expired()]
    del x
    return [*told, reference.expired()]


def view_replay(lib):
    force, asked = lib.autograd._force_original_view_tracking, lib._C._is_view_replay_enabled
    told = [asked()]
    with force(True):
        told.append(asked())
    decorated = force(True)(asked)
    told += [asked(), decorated(), asked()]
    force(True)
    told.append(asked())
    lib._C._set_view_replay_enabled(False)
    same_class = lib.autograd.grad_mode._force_original_view_tracking is force
    return [*told, asked(), attempt(lambda: force(1))[:2], same_class]


def hooks_of_all_modules(lib):
    module, told = importlib.import_module(f"{lib.__name__}.nn.modules.module"), []
    kinds = ["forward", "forward_pre", "backward", "backward_pre", "forward_always_called", "forward_with_kwargs"]

    def state():
        sizes = [len(getattr(module, f"_global_{kind}_hooks", ())) for kind in kinds[:4]]
        return [*sizes, module._global_is_full_backward_hook, bool(module._has_any_global_hook())]

    told.append(state())
    handles = [module.register_module_forward_hook(lambda *args: None)]
    told.append(state())
    handles.append(module.register_module_forward_pre_hook(lambda *args: None))
    handles.append(module.register_module_full_backward_pre_hook(lambda *args: None))
    told.append(state())
    for handle in handles:
        handle.remove()
    names = "_global_forward_hooks_always_called _global_forward_hooks_with_kwargs _global_buffer_registration_hooks "
    names += "_global_module_registration_hooks _global_parameter_registration_hooks"
    told.append([[name, len(getattr(module, name))] for name in names.split()])
    return [*told, state(), module._EXTRA_STATE_KEY_SUFFIX, module._addindent("a\nb", 2)]


def optimizers_as_text(lib):
    parameters = [lib.nn.Parameter(lib.ones(1)) for _ in range(3)]
    groups = [{"params": [one], "lr": 0.1 * i} for i, one in enumerate(parameters)]
    return [repr(lib.optim.SGD(groups, lr=0.1)), repr(lib.optim.Adam(parameters))]


def keys_of_cyclic_schedules(lib):
    def schedule(**options):
        optimizer = lib.optim.SGD([lib.nn.Parameter(lib.ones(1))], lr=0.1, momentum=0.9)
        return lib.optim.lr_scheduler.CyclicLR(optimizer, 0.1, 0.2, **options)

    told = []
    for options in ({}, {"mode": "triangular2"}, {"mode": "exp_range", "gamma": 0.5}, {"scale_fn": lambda x: 0.5}):
        made, again = schedule(**options), schedule(**options)
        again.load_state_dict(made.state_dict())
        own = hasattr(again, "_scale_fn_ref")
        told.append([list(made.state_dict()), own, again._scale_fn_ref(3) if own else None, again.scale_fn(3)])
    one_cycle = lib.optim.lr_scheduler.OneCycleLR(schedule().optimizer, 0.3, total_steps=10)
    return [told, list(one_cycle.state_dict())]


def backends(lib):
    told = [lib.backends.cpu.get_cpu_capability(), lib.backends.cuda.matmul.allow_tf32]
    dtypes = [lib.float32, lib.bool, lib.complex64, lib.bfloat16]
    return [*told, [importlib.import_module(f"{lib.__name__}._utils")._element_size(one) for one in dtypes]]


def default_types(lib):
    told = []
    try:
        kinds = lib.DoubleTensor, "torch.HalfTensor", lib.IntTensor, 3, None, lib.float32, "torch.Foo", "FloatTensor"
        for kind in kinds:
            told.append(attempt(lambda: lib.set_default_tensor_type(kind)))  # noqa: B023
            told.append(str(lib.get_default_dtype()).rpartition(".")[2])
    finally:
        lib.set_default_dtype(lib.float32)
    return told


def gradients_of_convolutions_are_recorded(lib):
    """Only where something requires grad."""
    told = []
    for which in range(3):
        x, weight, grad_output = (lib.ones(shape, requires_grad=i == which) for i, shape in enumerate([
            (1, 2, 4), (3, 2, 2), (1, 3, 3),
        ]))  # fmt: skip
        conv = importlib.import_module(f"{lib.__name__}.nn.grad")
        plain = lib.ops.aten.convolution_backward(
            grad_output.detach(), x.detach(), weight.detach(), [3], [1], [0], [1], False, [0], 1, [True] * 3
        )
        made = conv.conv1d_input((1, 2, 4), weight, grad_output), conv.conv1d_weight(x, (3, 2, 2), grad_output)
        told.append([one.requires_grad for one in (*plain, *made)])
    return told


SMALL = [
    gradients_of_convolutions_are_recorded, checks, debug_modes, uniques, weak_references, view_replay,
    hooks_of_all_modules, optimizers_as_text, keys_of_cyclic_schedules, backends, default_types,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*set_default_tensor_type")
@pytest.mark.parametrize("program", SMALL, ids=lambda program: program.__name__)
def test_small_names(program):
    agree(program)


def test_default_types_are_deprecated():
    def program(lib):
        lib.set_warn_always(True)
        try:
            return warned(lambda: lib.set_default_tensor_type(lib.FloatTensor))
        finally:
            lib.set_warn_always(False)

    agree(program)


MASKS = [[bool(number & bit) for bit in (1, 2, 4)] for number in range(8)]
CONVOLVED = [
    # shapes of input, weight, result; bias, stride, padding, dilation, transposed, output_padding, groups
    ([2, 2, 5], [3, 2, 3], [2, 3, 3], [3], [1], [0], [1], False, [0], 1),
    ([2, 4, 5, 6], [6, 2, 2, 3], [2, 6, 4, 2], None, [1, 2], [0, 0], [1, 1], False, [0, 0], 2),
    ([1, 2, 6], [3, 2, 2], [1, 3, 4], [3], [2], [2], [3], False, [0], 1),
    ([2, 3, 4], [3, 2, 3], [2, 2, 8], [2], [2], [1], [1], True, [1], 1),
    ([1, 1, 3, 3, 3], [2, 1, 2, 2, 2], [1, 2, 2, 2, 2], [2], [1] * 3, [0] * 3, [1] * 3, False, [0] * 3, 1),
]


@pytest.mark.parametrize("settings", CONVOLVED, ids=lambda settings: str(settings[0]))
def test_convolution_backward(settings):
    rng = np.random.default_rng(0)
    x, weight, grad_output = (rng.standard_normal(shape) for shape in settings[:3])
    for mask in MASKS:
        def program(lib, *tensors, mask=mask):
            found = lib.ops.aten.convolution_backward(*tensors, *settings[3:], mask)
            assert [one is not None for one in found] == mask
            return [one for one in found if one is not None]

        same(program, grad_output, x, weight, names=False, second=not settings[7], rtol=1e-6)


IMPORTED = """
torch: Storage from_file _check _assert get_deterministic_debug_mode _unique _unique2
torch.nn.functional: grad
torch.nn.grad: conv1d_input conv2d_weight
torch.nn.modules.module: _global_forward_hooks _global_backward_hooks _has_any_global_hook _WrappedHook
torch.backends.cpu: get_cpu_capability
torch.utils.deterministic: fill_uninitialized_memory
torch.autograd.grad_mode: _force_original_view_tracking
torch._C: _WeakTensorRef _is_torch_function_enabled _is_view_replay_enabled _set_view_replay_enabled
torch._utils: _element_size
torch.overrides: get_testing_overrides enable_reentrant_dispatch
"""


@pytest.mark.parametrize("line", IMPORTED.strip().splitlines(), ids=lambda line: line.partition(":")[0])
def test_names_are_there(line):
    home, _, names = line.partition(": ")
    for lib in (torch, tapegrad):
        module = importlib.import_module(home.replace("torch", lib.__name__, 1))
        assert [name for name in names.split() if not hasattr(module, name)] == []
