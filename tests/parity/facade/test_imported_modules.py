"""Modules that libraries import from PyTorch: what their names do, and what is refused when it is called."""

import importlib
import inspect

import numpy as np
import pytest
import torch
from harness import agree, attempt, same, warned

import tapegrad

pytestmark = [pytest.mark.parity, pytest.mark.once("names, and small functions")]

NAMES = """
_VF: lstm split
_C._functorch: is_batchedtensor is_gradtrackingtensor get_unwrapped maybe_get_level _add_batch_dim
_decomp: get_decompositions decomposition_table
_dynamo: optimize config allow_in_graph disable mark_dynamic graph_break run
_dynamo.eval_frame: OptimizedModule
_dynamo.exc: Unsupported BackendCompilerFailed
_functorch.apis: vmap grad chunk_vmap
_functorch.eager_transforms: vjp jvp jacrev jacfwd hessian
_functorch.make_functional: make_functional FunctionalModule
_functorch.vmap: _process_batched_inputs _get_name tree_flatten in_dims_t
_inductor: config cudagraph_mark_step_begin
_jit_internal: boolean_dispatch _copy_to_script_wrapper Final Future
_prims_common: canonicalize_dim is_float_dtype elementwise_dtypes
_refs: softmax sum
_tensor: Tensor
_utils: _flatten_dense_tensors _unflatten_dense_tensors _take_tensors ExceptionWrapper _get_device_module
cuda.amp.grad_scaler: GradScaler OptState
cuda.nvtx: range_push range
distributed.elastic.multiprocessing.errors: record
distributed.fsdp: MixedPrecision ShardingStrategy BackwardPrefetch wrap
distributed.launch: main
jit.annotations: List BroadcastingList2
nn.functional: has_torch_function _get_softmax_dim _verify_batch_size handle_torch_function
nn.modules.activation: MultiheadAttention
_dynamo.testing: CompileCounter CompileCounterWithBackend
distributed._tensor.experimental: implicit_replication local_map
nn.init: _no_grad_uniform_ _no_grad_normal_ _no_grad_fill_ _no_grad_zero_ _no_grad_trunc_normal_
distributed.distributed_c10d: _rank_not_in_group
nn.common_types: _size_2_t _size_any_t _scalar_or_tuple_3_t _maybe_indices_t
nn.modules.transformer: _get_clones _get_activation_fn
nn.utils._named_member_accessor: swap_tensor
onnx: export
optim._functional: sgd adam rprop
optim.optimizer: _use_grad_for_differentiable _get_value ParamsT _view_as_real
return_types: max topk
testing._internal.common_utils: TestCase
utils._contextlib: _DecoratorContextManager
utils.benchmark: Timer Measurement
utils.collect_env: get_pretty_env_info main
utils.data.dataloader: _collate_fn_t _worker_init_fn_t
utils.model_zoo: load_url
utils.weak: WeakIdKeyDictionary WeakTensorKeyDictionary TensorWeakRef WeakIdRef
"""


@pytest.mark.parametrize("line", NAMES.strip().splitlines(), ids=lambda line: line.partition(":")[0])
def test_names_are_there(line):
    home, _, names = line.partition(": ")
    for lib in (torch, tapegrad):
        module = importlib.import_module(f"{lib.__name__}.{home}")
        assert [name for name in names.split() if not hasattr(module, name)] == []


@pytest.mark.parametrize(
    "call",
    ["_dynamo.export", "_C._functorch._add_batch_dim", "onnx.export",
     "distributed.tensor.experimental.implicit_replication"],
)  # fmt: skip
def test_what_is_refused_is_so_when_it_is_called(call):
    home, _, name = call.rpartition(".")
    function = getattr(importlib.import_module(f"tapegrad.{home}"), name)
    with pytest.raises(NotImplementedError, match=rf"^torch\.{call} is not in tapegrad \(yet\): .{{20,}}"):
        function([])


@pytest.mark.parametrize("lib", [torch, tapegrad])
def test_who_is_in_no_group(lib):
    ask, member = lib.distributed._rank_not_in_group, lib.distributed.distributed_c10d.GroupMember
    assert (ask(None), ask(member.NON_GROUP_MEMBER)) == (False, True)


def of(lib, name):
    return importlib.import_module(f"{lib.__name__}.{name}")


def test_flattened_tensors():
    x, y = np.arange(6.0).reshape(2, 3), np.arange(2.0)

    def program(lib, x, y):
        utils = of(lib, "_utils")
        flat = utils._flatten_dense_tensors([x, y, x.T])
        return [flat, *utils._unflatten_dense_tensors(flat * 2, [x, y, x.T])]

    same(program, x, y, names=False)

    def groups(lib):
        tensors = [lib.ones(2), lib.ones(3, dtype=lib.int64), lib.ones(1), lib.ones(4), lib.ones(1, dtype=lib.int64)]
        found = [[one.tolist() for one in group] for group in of(lib, "_utils")._take_tensors(tensors, 12)]
        again = of(lib, "_utils")._reorder_tensors_as([lib.ones(1), lib.zeros(1, dtype=lib.int64)], tensors[1:3])
        return [found, [one.tolist() for one in again], *(
            attempt(lambda device=device, kw=kw: of(lib, "_utils")._get_device_index(device, **kw))
            for device in ("cpu", 1, "cuda:1", "cuda") for kw in ({}, {"allow_cpu": True})
        )]  # fmt: skip

    agree(groups)


def small(lib):
    functional, transformer = lib.nn.functional, of(lib, "nn.modules.transformer")
    dims = [[attempt(lambda n=n: functional._get_softmax_dim("f", n, 2)) for n in range(4)]]
    dims.append(warned(lambda: functional._get_softmax_dim("f", 1, 2)))
    sizes = [attempt(lambda s=s: functional._verify_batch_size(s)) for s in ([1, 3], [2, 3], [1, 3, 1], [1, 3, 2])]
    spaces = [attempt(lambda s=s: functional._verify_spatial_size(s)) for s in ([4, 3, 1], [1, 3, 2])]
    clones = transformer._get_clones(lib.nn.ReLU(), 2)
    kinds = [attempt(lambda k=k: transformer._get_activation_fn(k).__name__) for k in ("relu", "gelu", "tanh")]
    prims = of(lib, "_prims_common")
    strides = [prims.make_contiguous_strides_for(s, row_major=r) for s in ((), (3,), (2, 0, 3)) for r in (True, False)]
    ways = [attempt(lambda a=a: prims.canonicalize_dim(*a)) for a in ((2, -1), (2, 2), (0, 0), (0, 0, False), (-1, 0))]
    types = [str(prims.type_to_dtype(t)) for t in (bool, int, float, complex)]
    types += [prims.dtype_to_type(t).__name__ for t in (lib.bool, lib.int8, lib.bfloat16, lib.complex64)]
    chosen = of(lib, "_jit_internal").boolean_dispatch("up", 1, False, lambda x, up: 1, lambda x, up=0: 0, "m", "f")
    seeds = of(lib, "utils.data._utils.worker")._generate_state(2**40 + 3, 5)
    return [dims, sizes, spaces, repr(clones), kinds, strides, ways, types, chosen(0), chosen(0, True), seeds]


def settings(lib):
    config, inductor = of(lib, "_dynamo.config"), of(lib, "_inductor.config")
    told = [config.suppress_errors, config.cache_size_limit, inductor.triton.cudagraphs, inductor.max_autotune]
    with config.patch(cache_size_limit=3), inductor.patch({"triton.cudagraphs": True}):
        told += [config.recompile_limit, inductor.triton.cudagraphs]
    told += [config.recompile_limit, inductor.triton.cudagraphs, attempt(lambda: config.nope)[:2]]

    @config.patch("verbose", True)
    def inside():
        return config.verbose

    return [*told, inside(), config.verbose, of(lib, "_functorch.config").activation_memory_budget]


def streams(lib):
    stream, event = lib.Stream(), lib.Event()
    with stream:
        x = lib.ones(2) + 1
    stream.synchronize()
    told = [repr(stream), stream.query(), stream == lib.Stream("cpu"), x.tolist(), repr(event)]
    return [*told, attempt(event.record), attempt(lambda: lib.Event(enable_timing=True).elapsed_time(event))[:2]]


def weak(lib):
    module = of(lib, "utils.weak")
    x, y, names = lib.ones(2), lib.ones(2), module.WeakIdKeyDictionary()
    names[x], names[y] = "x", "y"
    told = [len(names), names[x], y in names, lib.ones(2) in names, list(names.values()), names.get(3.5 and x)]
    reference, copied = module.TensorWeakRef(y), names.copy()
    del y
    told += [len(names), reference() is None, len(copied), next(iter(names)) is x]
    told.append(attempt(lambda: names[lib.ones(1)])[:2])
    return [*told, attempt(lambda: module.TensorWeakRef(3)), module.WeakIdRef(x) == module.WeakIdRef(x)]


def decorated(lib):
    class Entered(of(lib, "utils._contextlib")._DecoratorContextManager):
        def __enter__(self):
            told.append("in")

        def __exit__(self, *error):
            told.append("out")

    told = []

    @Entered()
    def function():
        return 1

    @Entered()
    def generator():
        got = yield 1
        told.append(got)
        return 2

    running = generator()
    told += [function(), next(running), attempt(lambda: running.send("sent"))[:2]]
    return told


def wrapped(lib):
    wrap = lib.distributed.fsdp.wrap
    model = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.ReLU())
    told = [wrap.always_wrap_policy(), wrap.lambda_auto_wrap_policy(model, False, 0, lambda m: False)]
    told += [wrap.size_based_auto_wrap_policy(m, r, 5, 4) for m in (model, lib.nn.ModuleList()) for r in (True, False)]
    policy = wrap.ModuleWrapPolicy({lib.nn.Linear})
    told += [policy(model, False, 0), policy(model[0], False, 0), policy(model, True, 0)]
    told += [wrap.wrap(model) is model, [one.name for one in lib.distributed.fsdp.ShardingStrategy]]
    fields = lib.distributed.fsdp.MixedPrecision(param_dtype=lib.float16)
    return [*told, str(fields.param_dtype), fields.cast_root_forward_inputs, fields.keep_low_precision_grads]


def stateful(lib):
    functorch = importlib.import_module("functorch" if lib is torch else "tapegrad.functorch")
    model = lib.nn.Sequential(lib.nn.Linear(2, 1), lib.nn.BatchNorm1d(1))
    with lib.no_grad():
        for p in model.parameters():
            p.fill_(0.5)
    told = [attempt(lambda: functorch.make_functional(model))]
    f, params, buffers = functorch.make_functional_with_buffers(model, disable_autograd_tracking=True)
    told += [[p.requires_grad for p in params], len(buffers), params[0] is model[0].weight]
    x = lib.tensor([[1.0, 2.0], [3.0, 5.0]])
    told.append([round(item, 4) for item in f(params, buffers, x).detach().flatten().tolist()])
    f, params = functorch.make_functional(model[0])
    told += [f(params, x).tolist(), [p.requires_grad for p in params]]
    g, stacked, _ = functorch.combine_state_for_ensemble([model[0], model[0]])
    told += [[tuple(p.shape) for p in stacked], lib.vmap(g, (0, None, None))(stacked, (), x).tolist()]
    told.append(attempt(lambda: functorch.combine_state_for_ensemble([])))
    found = functorch.experimental if hasattr(functorch, "experimental") else None
    return [*told, found is None or found.chunk_vmap(lambda v: v + 1, chunks=2)(x).tolist() == (x + 1).tolist()]


@pytest.mark.filterwarnings("ignore:We've integrated functorch:FutureWarning", "ignore:Implicit dimension:UserWarning")
@pytest.mark.parametrize(
    "program", [small, settings, streams, weak, decorated, wrapped, stateful], ids=lambda program: program.__name__
)
def test_as_pytorch(program):
    agree(program)


def test_functorch_warns_as_pytorch_does():
    theirs, ours = importlib.import_module("functorch"), importlib.import_module("tapegrad.functorch")
    assert warned(lambda: ours.vmap(abs)) == warned(lambda: theirs.vmap(abs))


def test_a_setting_that_promises_something_warns():
    config = importlib.import_module("tapegrad._dynamo.config")
    with pytest.warns(UserWarning, match=r"torch\._dynamo\.config\.error_on_recompile changes nothing in tapegrad: "):
        with config.patch(error_on_recompile=True):
            assert config.error_on_recompile
    assert not config.error_on_recompile


NUMBERS = {
    "lr": 0.1, "momentum": 0.9, "dampening": 0.1, "nesterov": False, "weight_decay": 0.01, "maximize": False,
    "amsgrad": False, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "rho": 0.9, "lr_decay": 0.01, "lambd": 1e-4, "t0": 1e6,
    "alpha": 0.75, "momentum_decay": 0.004, "centered": True, "step_size_min": 1e-6, "step_size_max": 50.0,
    "etaminus": 0.5, "etaplus": 1.2,
}  # fmt: skip


@pytest.mark.parametrize("name", ["sgd", "adam", "adamw", "adadelta", "adagrad", "adamax", "asgd", "nadam", "radam",
                                  "rmsprop", "rprop"])  # fmt: skip
def test_optimizers_as_functions(name):
    def program(lib):
        function = getattr(of(lib, f"optim.{name}"), name)
        arguments = inspect.signature(function).parameters.values()
        lists = [one.name for one in arguments if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD]
        numbers = {one.name: NUMBERS[one.name] for one in arguments if one.kind is one.KEYWORD_ONLY}
        params, grads = [lib.tensor([1.0, -2.0])], [lib.tensor([0.3, 0.4])]
        states = {key: [lib.zeros(2)] for key in lists[2:]}
        states |= {key: [lib.tensor(0.0 if key == "state_steps" else 1.0)] for key in states if key in (
            "state_steps", "mus", "etas", "mu_products",
        )}  # fmt: skip
        if "step_sizes" in states:
            states["step_sizes"] = [lib.full((2,), 0.1)]
        for _ in range(3):
            function(params, grads, *states.values(), **numbers)
        return [lists, *(one.name for one in arguments), [[round(v, 5) for v in params[0].tolist()]], [
            [round(v, 4) for v in one[0].flatten().tolist()] for one in states.values()
        ]]  # fmt: skip

    agree(program)


def test_a_timer_times_what_the_device_computes():
    benchmark = importlib.import_module("tapegrad.utils.benchmark")
    importlib.import_module("torch.utils.benchmark")
    found = benchmark.Timer("x @ x", globals={"x": tapegrad.ones(8, 8)}, label="product").timeit(20)
    assert (found.number_per_run, len(found.times), found.title) == (20, 1, "product") and 0 < found.median < 1
    several = benchmark.Measurement(2, [2e-3, 4e-3, 6e-3], found.task_spec)
    theirs = torch.utils.benchmark.Measurement(2, [2e-3, 4e-3, 6e-3], torch.utils.benchmark.TaskSpec("x @ x", "pass"))
    assert [several.mean, several.median, several.iqr] == pytest.approx([theirs.mean, theirs.median, theirs.iqr])


def test_errors_of_processes_are_written_down(tmp_path, monkeypatch):
    errors = importlib.import_module("tapegrad.distributed.elastic.multiprocessing.errors")
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "error.json"))

    @errors.record
    def main():
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        main()
    assert "ValueError: broken" in (tmp_path / "error.json").read_text()


def test_a_case_compares_tensors():
    case = importlib.import_module("tapegrad.testing._internal.common_utils").TestCase()
    case.assertEqual(tapegrad.tensor([1.0, 2.0]), tapegrad.tensor([1.0, 2.0 + 1e-7]))
    case.assertEqual({"a": [tapegrad.ones(1)]}, {"a": [tapegrad.ones(1)]})
    case.assertEqual("a", "a")
    with pytest.raises(AssertionError):
        case.assertEqual(tapegrad.tensor([1.0]), tapegrad.tensor([1.1]))
    with pytest.raises(AssertionError):
        case.assertEqual([1], [2])
