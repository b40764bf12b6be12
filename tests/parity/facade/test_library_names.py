"""Names that libraries import from PyTorch's insides, and what they do: next to PyTorch, and where that is refused."""

import abc
import importlib

import pytest
import torch
from harness import agree, attempt

import tapegrad

pytestmark = [pytest.mark.parity, pytest.mark.once("names, and small functions")]


def of(lib, home):
    return importlib.import_module(f"{lib.__name__}.{home}")


def slices(lib):
    x = lib.arange(6.0)
    told = [x[2:4].slice_inverse(lib.zeros(4)).tolist(), lib.slice_inverse(x, lib.zeros(2)).tolist()]
    told.append(x.view(2, 3)[:, 1:].slice_inverse(lib.zeros(2, 3), 1, 1, 3, 1).tolist())
    return [*told, attempt(lambda: x[2:4].slice_inverse(lib.zeros(9))), attempt(lambda: x.slice_inverse())]


def views(lib):
    bases = lib.ones(2, 3), lib.ones(6), lib.ones(2, 3, dtype=lib.int32), lib.arange(6.0).view(2, 3)
    shown = lib.zeros(2, 3), lib.zeros(2, 3)[1], lib.zeros(2, 3).t()
    told = [view._view_func(base) for view in shown for base in bases]
    told += [view._view_func_unsafe(bases[0]) for view in shown]
    refused = attempt(lambda: shown[1]._rev_view_func_unsafe(bases[1])), attempt(lambda: shown[1]._view_func(3))
    return [[None if one is None else one.tolist() for one in told], refused]


def indices(lib):
    ends, columns = lib.tensor([0, 1, 3]), lib.tensor([1, 0, 1])
    coordinates, rows = lib._convert_indices_from_csr_to_coo, lib._convert_indices_from_coo_to_csr
    found = [coordinates(ends, columns, transpose=flag, out_int32=flag) for flag in (False, True)]
    found += [rows(lib.tensor([0, 1, 1]), 3, out_int32=flag) for flag in (False, True)]
    return [[one.tolist(), str(one.dtype)] for one in (*found, lib._shape_as_tensor(lib.ones(2, 3)))]


def nested(lib):
    sizes = lib.tensor([[2, 3], [1, 3]])
    strides, offsets = lib._nested_compute_contiguous_strides_offsets(sizes)
    made = lib._nested_view_from_buffer(lib.arange(9.0), sizes, strides, offsets)
    told = [one.tolist() for one in (strides, offsets, *made.unbind())]
    parts = made._nested_tensor_size(), made._nested_tensor_strides(), made._nested_tensor_storage_offsets()
    return [*told, [one.tolist() for one in parts], attempt(lambda: lib.ones(2)._nested_tensor_size())[1]]


def switches(lib):
    core, x = lib._C, lib.ones(3)
    told = [core._jit_set_profiling_executor(False), core._jit_set_profiling_executor(True)]
    told += [core._jit_set_texpr_fuser_enabled(True), core._jit_can_fuse_on_cpu(), core._jit_can_fuse_on_gpu()]
    told += [core._is_alias_of(x, x[1:]), core._is_alias_of(x, x.clone()), str(core._get_accelerator())]
    return [*told, lib._has_compatible_shallow_copy_type(x, x), core._get_privateuse1_backend_name()]


def layers(lib):
    module = of(lib, "distributed.algorithms._checkpoint.checkpoint_wrapper")
    lib.manual_seed(0)
    model = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.ReLU(), lib.nn.Sequential(lib.nn.Linear(2, 1)))
    with lib.no_grad():
        for p in model.parameters():
            p.fill_(0.5)
    module.apply_activation_checkpointing(model, check_fn=lambda m: isinstance(m, lib.nn.Linear))
    told = [repr(model), list(model.state_dict()), [name for name, _ in model.named_parameters()]]
    told.append([name for name, _ in model[0].named_parameters()])
    model(lib.ones(3, 2)).sum().backward()
    told += [[p.grad.tolist() for p in model.parameters()], model[0].in_features]
    plain = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.ReLU(), lib.nn.Sequential(lib.nn.Linear(2, 1)))
    plain.load_state_dict(model.state_dict())
    told.append(str(model.load_state_dict(plain.state_dict())))
    kept = module.checkpoint_wrapper(lib.nn.Bilinear(2, 2, 1), module.CheckpointImpl.REENTRANT)
    told.append(tuple(kept(lib.ones(1, 2), input2=lib.ones(1, 2)).shape))
    counted = []
    own = module.checkpoint_wrapper(lib.nn.ReLU(), checkpoint_fn=lambda m, *args: counted.append(m) or m(*args))
    own(lib.ones(1))
    return [*told, len(counted), attempt(lambda: module.ActivationWrapper(lib.nn.ReLU())(1))]


def policies(lib):
    wrap = of(lib, "distributed.fsdp.wrap")
    names = "module recurse nonwrapped_numel".split()  # noqa: SIM905 - short
    yes, no = (lambda answer: lambda **given: answer and sorted(given) == sorted(names))(True), lambda **given: False
    told = [wrap._or_policy(lib.nn.ReLU(), False, 0, several) for several in ([no], [no, yes], [])]
    clean = of(lib, "distributed.fsdp._common_utils").clean_tensor_name
    told.append(clean("_fsdp_wrapped_module.a._checkpoint_wrapped_module.b._orig_mod.c"))
    shard = of(lib, "distributed.tensor").Shard
    told += [shard.local_shard_size_and_offset(*given) for given in ((5, 2, 0), (5, 2, 1), (5, 4, 3), (4, 4, 3))]
    return [*told, [one.name for one in of(lib, "distributed.fsdp").OptimStateKeyType]]


def questions(lib):
    symbols, x = of(lib, "fx.experimental.symbolic_shapes"), lib.ones(2, 3)
    told = [symbols.guard_or_false(True), symbols.guard_or_true(3 > 4), len(symbols.free_symbols(x))]
    told.append(attempt(lambda: symbols.guard_or_false(3)))
    common = of(lib, "_prims_common")
    told += [common.is_contiguous_or_false(x), common.is_contiguous_or_false(x.t())]
    told += [lib._guards.TracingContext.try_get(), of(lib, "_dynamo.eval_frame").is_dynamo_supported()]
    told += [of(lib, "_inductor").list_mode_options("max-autotune"), of(lib, "utils._triton").has_triton()]
    told += [attempt(lambda: lib.backends.mps.is_macos_or_newer(14, 0)), lib._C._get_cudnn_enabled()]
    told += [lib.legacy_contiguous_format is lib.contiguous_format, lib.torch.Tensor is lib.Tensor, repr(lib.uint4)]
    tree = of(lib, "utils._pytree")
    return [*told, tree._dict_unflatten([1, 2], ["a", "b"]), lib.ByteStorage._from_buffer(b"ab").tolist()]


def passes(lib):
    base = of(lib, "fx.passes.infra.pass_base")

    class Counting(base.PassBase):
        def requires(self, graph_module):
            told.append("before")

        def call(self, graph_module):
            return base.PassResult(graph_module, len(graph_module.graph.nodes) > 2)

    told = []
    result = Counting()(lib.fx.symbolic_trace(lambda x: x + 1))
    return [*told, result.modified, len(result), attempt(base.PassBase)]


def classes(lib):
    return attempt(lambda: lib.classes.some.Thing), lib.classes.some is not None


PROGRAMS = [slices, views, indices, nested, switches, layers, policies, questions, passes, classes]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_as_pytorch(program):
    agree(program)


@pytest.mark.parametrize(
    ("home", "name"),
    {
        "distributed.pipelining": "ScheduleGPipe", "onnx.symbolic_opset9": "softmax", "numa.binding": "NumaOptions",
        "distributed.algorithms.ddp_comm_hooks.powerSGD_hook": "powerSGD_hook", "_inductor.cpu_vec_isa": "pick_vec_isa",
        "utils.cpp_extension": "load", "_dynamo.variables.tensor": "TensorVariable", "cuda.nccl": "version",
    }.items(),
)  # fmt: skip
def test_what_is_refused_can_be_imported(home, name):
    theirs, ours = (getattr(of(lib, home), name) for lib in (torch, tapegrad))
    assert isinstance(theirs, type) == isinstance(ours, type)
    with pytest.raises(NotImplementedError, match=rf"^torch\.{home}\.{name} is not in tapegrad \(yet\): .{{20,}}"):
        ours()


def test_what_is_read_of_a_refused_class_is_refused():
    parallel = tapegrad.distributed.fsdp.FullyShardedDataParallel
    with pytest.raises(NotImplementedError, match=r"FullyShardedDataParallel\.state_dict_type is not in tapegrad"):
        parallel.state_dict_type()

    class Users(parallel, abc.ABC):
        pass

    assert not hasattr(Users, "state_dict_type") and not hasattr(parallel, "__sinn__")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("tapegrad.distributed.sinn")
