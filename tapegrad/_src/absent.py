"""Names that PyTorch has and this package has not (yet): who calls them is told so, and what to do instead.

Libraries import more than they use. So functions and classes can be imported, and are refused when they are called;
modules are not there. A name that comes to exist is found before anybody asks here; its entry is then to be deleted,
which a test demands.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable
from functools import cache, partial
from typing import Any, ClassVar, NoReturn

SPARSE = "a sparse tensor is not resized, but made anew of its indices and values, and multiplied by mm and addmm"
QUANTIZED = "there are no quantized tensors; float16 and bfloat16 are the small dtypes that compute"
DISTRIBUTED = "processes are started by python -m tapegrad.distributed.run, and meet in torch.distributed"
PACKAGES = "there are no archives of code; torch.save keeps what a module has learnt, and Python packages keep code"
STREAMS = "XLA orders what is computed, there are no streams; to read a value, as item() does, is to wait for it"
MEMORY = "XLA keeps its own pool of memory; jax.local_devices()[0].memory_stats() tells of it"
NO_SUCH_DEVICE = "jax has no such device; torch.accelerator tells what there is"
SYSTEM = "what it does for PyTorch's own machinery has no counterpart here"
EXPORTS = (
    "torch.export.export gives a module's program as StableHLO; jax.export and jax.make_jaxpr do the like for "
    "functions on arrays: see tapegrad.interop.to_jax"
)
HOOKS = "XLA sums gradients within the step, and each process has as much of a batch: there is nothing to hook"
STORES = "XLA carries arrays; a TCPStore carries what is none"
PROGRAM = "processes run one program together here; objects go from one to another by send_object_list"
PIPELINES = "XLA divides the work of a step among devices: see torch.distributed.tensor.parallel"
FILES = "torch.distributed.checkpoint.save and load write and read what each process has"
COMPILER = "XLA compiles; torch.compile gives it whole steps"
META = "x.to('meta') gives a tensor without elements"
SCRIPTS = "torch.jit.script and trace keep a module as Python: there is no other representation"
TRACER = "steps are captured, not traced: torch.compile takes any function, and torch.fx traces it"
FULLY = "torch.distributed.fsdp.fully_shard divides the parameters of a module, which stays itself"
SYMBOLS = "lengths that are not known are torch.export.Dim"
PIPES = "PyTorch leaves pipes of data as they are, too; write a Dataset or an IterableDataset"
MARKS = "jax.profiler.trace marks what XLA runs; torch.profiler tells of operators"

ABSENT: dict[str, list[tuple[str, str]]] = {
    "torch": [
        (SPARSE, "hsmm saddmm"),
        (QUANTIZED, """quantize_per_tensor quantize_per_channel quantize_per_tensor_dynamic dequantize int_repr q_scale
            q_zero_point"""),
        (PACKAGES, "package"),
        (QUANTIZED, "_scaled_mm"),
        (SYSTEM, "windows monitor"),
        (SCRIPTS, "DeviceObjType FloatType TensorType"),
    ],
    "torch.nn": [
        (QUANTIZED, "quantizable quantized"),
    ],
    "torch.nn.functional": [
        (QUANTIZED, "scaled_mm scaled_grouped_mm ScalingType SwizzleType"),
    ],
    "torch.nn.attention": [
        ("attention over sequences of several lengths: pad them and mask what is padding, or give flex_attention a "
         "mask of documents", "varlen"),
    ],
    "torch.sparse": [
        ("what is semi-structured is of one vendor's GPUs; gradcheck takes a function of the values", """
            SparseSemiStructuredTensor SparseSemiStructuredTensorCUTLASS SparseSemiStructuredTensorCUSPARSELT
            to_sparse_semi_structured as_sparse_gradcheck"""),
        ("torch.linalg.solve of x.to_dense() does the same", "spsolve"),
    ],
    "torch.library": [
        ("there is no dispatcher; custom_op registers a function, and tapegrad.interop.from_jax makes one of a "
         "function of arrays", "get_kernel triton_op wrap_triton"),
    ],
    "torch.onnx": [
        (EXPORTS, "ONNXProgram register_custom_op_symbolic"),
    ],
    "torch.utils": [
        (SYSTEM, "bottleneck mobile_optimizer"),
    ],
    "torch.serialization": [
        ("checksums are always written, mapped files are never written to, and storages are always there", """
            get_crc32_options set_crc32_options get_default_mmap_options set_default_mmap_options skip_data"""),
    ],
    "torch.mps": [
        (NO_SUCH_DEVICE, """synchronize empty_cache current_allocated_memory driver_allocated_memory
            recommended_max_memory set_per_process_memory_fraction seed get_rng_state set_rng_state
            profiler event Event compile_shader load_metallib"""),
    ],
    "torch.xpu": [
        (NO_SUCH_DEVICE, """synchronize current_device set_device device get_device_name get_device_capability
            get_device_properties mem_get_info memory_stats memory_stats_as_nested_dict reset_peak_memory_stats
            reset_accumulated_memory_stats get_rng_state get_rng_state_all set_rng_state set_rng_state_all
            initial_seed Stream Event StreamContext current_stream set_stream stream init
            is_current_stream_capturing"""),
    ],
    "torch.mtia": [
        (NO_SUCH_DEVICE, """synchronize empty_cache current_device set_device device memory_allocated memory_stats
            max_memory_allocated reset_peak_memory_stats get_device_capability get_device_properties seed seed_all
            get_rng_state set_rng_state initial_seed default_stream set_stream current_stream stream
            is_bf16_supported init"""),
    ],
    "torch.utils.data": [
        (PIPES, """IterDataPipe MapDataPipe DFIterDataPipe DataChunk argument_validation
            runtime_validation runtime_validation_disabled guaranteed_datapipes_determinism non_deterministic"""),
    ],
    "torch.distributed": [
        (HOOKS, "Reducer Logger"),
        (STORES, "FileStore HashStore PrefixStore"),
        (DISTRIBUTED, "ProcessGroupGloo"),
    ],
    "torch.distributed.rpc": [
        (PROGRAM, """init_rpc shutdown rpc_sync rpc_async remote RRef get_worker_info functions WorkerInfo BackendType
            RpcBackendOptions TensorPipeRpcBackendOptions"""),
    ],
    "torch.distributed.rpc.api": [
        (PROGRAM, "_all_gather _barrier _require_initialized _wait_all get_worker_info rpc_sync rpc_async shutdown"),
    ],
    "torch.distributed.rpc.backend_registry": [
        (PROGRAM, "register_backend init_backend construct_rpc_backend_options"),
    ],
    "torch._C._distributed_rpc": [
        (PROGRAM, "PyRRef RpcAgent RpcBackendOptions WorkerInfo _is_current_rpc_agent_set"),
    ],
    "torch._C._distributed_c10d": [
        (HOOKS, "Reducer Logger"),
        (STORES, "FileStore HashStore PrefixStore"),
        ("torch.distributed gives the groups of processes", "ProcessGroup Work"),
    ],
    "torch.distributed.autograd": [
        ("a loss over a mesh, or of several processes, has gradients as any", """
            backward get_gradients DistAutogradContext"""),
    ],
    "torch.distributed.optim": [
        (PROGRAM, "DistributedOptimizer"),
        (HOOKS, "PostLocalSGDOptimizer"),
    ],
    "torch.distributed.algorithms.ddp_comm_hooks": [
        (HOOKS, "DDPCommHookType register_ddp_comm_hook"),
    ],
    "torch.distributed.algorithms.ddp_comm_hooks.default_hooks": [
        (HOOKS, """allreduce_hook bf16_compress_hook bf16_compress_wrapper fp16_compress_hook fp16_compress_wrapper"""),
    ],
    "torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook": [
        (HOOKS, "PowerSGDState powerSGD_hook batched_powerSGD_hook"),
    ],
    "torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook": [
        (HOOKS, "PostLocalSGDState post_localSGD_hook"),
    ],
    "torch.distributed.algorithms.model_averaging.averagers": [
        (HOOKS, "ModelAverager PeriodicModelAverager"),
    ],
    "torch.distributed.launcher": [
        (DISTRIBUTED, "LaunchConfig elastic_launch launch_agent"),
    ],
    "torch.distributed.launcher.api": [
        (DISTRIBUTED, "LaunchConfig elastic_launch launch_agent"),
    ],
    "torch.distributed.run": [
        (DISTRIBUTED, "get_args_parser run"),
    ],
    "torch.distributed.pipelining": [
        (PIPELINES, """pipeline pipe_split SplitPoint ScheduleGPipe Schedule1F1B ScheduleInterleaved1F1B PipelineStage
            build_stage"""),
    ],
    "torch.distributed.checkpoint.default_planner": [
        (FILES, "DefaultLoadPlanner DefaultSavePlanner"),
    ],
    "torch.distributed.checkpoint.format_utils": [
        (FILES, """_EmptyStateDictLoadPlanner _load_state_dict BroadcastingTorchSaveReader
            DynamicMetaLoadPlanner dcp_to_torch_save torch_save_to_dcp"""),
    ],
    "torch.distributed.checkpoint.optimizer": [
        ("set_optimizer_state_dict of torch.distributed.checkpoint.state_dict reads one",
         "load_sharded_optimizer_state_dict"),
    ],
    "torch.distributed.checkpoint._consolidate_hf_safetensors": [
        (FILES, "consolidate_safetensors_files"),
    ],
    "torch.numa.binding": [
        (DISTRIBUTED, "AffinityMode NumaOptions"),
    ],
    "torch.cuda.profiler": [
        (MARKS, "profile start stop"),
    ],
    "torch.cuda.nccl": [
        (DISTRIBUTED, "version all_reduce reduce broadcast all_gather reduce_scatter unique_id is_available"),
    ],
    "torch.cuda.memory": [
        (MEMORY, """_record_memory_history _dump_snapshot _snapshot memory_summary memory_snapshot list_gpu_processes
            MemPool"""),
    ],
    "torch.onnx.symbolic_helper": [
        (EXPORTS, "cast_pytorch_to_onnx parse_args _get_tensor_sizes _maybe_get_const _unimplemented"),
    ],
    "torch.onnx.symbolic_opset9": [
        (EXPORTS, "softmax masked_fill"),
    ],
    "torch.onnx.symbolic_opset12": [
        (EXPORTS, "dropout"),
    ],
    "torch.jit": [
        ("torch.export.export(module, args) has a module's program, torch.fx.symbolic_trace(module) its graph; "
         "torch.utils.flop_counter counts operators", "_get_trace_graph"),
    ],
    "torch.jit._recursive": [
        ("there are no types of modules: scripted modules are Python", "concrete_type_store create_script_module"),
    ],
    "torch._inductor.codecache": [
        (COMPILER, "extract_tensor_metadata_for_cache_key FxGraphCache PyCodeCache CppCodeCache"),
    ],
    "torch._inductor.cpu_vec_isa": [
        (COMPILER, "pick_vec_isa valid_vec_isa_list"),
    ],
    "torch._inductor.cpp_builder": [
        (COMPILER, "get_cpp_compiler CppBuilder"),
    ],
    "torch._inductor.runtime.cache_dir_utils": [
        (COMPILER, "cache_dir default_cache_dir triton_cache_dir"),
    ],
    "torch._subclasses.meta_utils": [
        (META, "MetaConverter"),
    ],
    "torch._subclasses.fake_tensor": [
        (META, "FakeTensorConverter"),
    ],
    "torch.ao.quantization.fx._decomposed": [
        (QUANTIZED, """quantize_per_tensor dequantize_per_tensor quantize_per_channel dequantize_per_channel
            quantized_decomposed_lib"""),
    ],
    "torch.export._trace": [
        (EXPORTS, "_export _export_to_torch_ir"),
    ],
    "torch.export.decomp_utils": [
        ("run_decompositions() of an ExportedProgram says what it means here", "CustomDecompTable"),
    ],
    "torch.utils._sympy.numbers": [
        (SYMBOLS, "IntInfinity NegativeIntInfinity"),
    ],
    "torch.utils._sympy.value_ranges": [
        (SYMBOLS, "ValueRanges"),
    ],
    "torch.utils.data.datapipes.iter": [
        (PIPES, "Batcher Collator Filter IterableWrapper Mapper Shuffler Zipper"),
    ],
    "torch.utils.data.datapipes.iter.combinatorics": [
        (PIPES, "SamplerIterDataPipe ShufflerIterDataPipe"),
    ],
    "torch.utils.data.graph_settings": [
        (PIPES, "apply_shuffle_settings apply_random_seed get_all_graph_pipes"),
    ],
    "torch._C": [
        (SCRIPTS, "Graph Value Node Block"),
        ("torch.save writes files", "PyTorchFileWriter"),
        ("there is no dispatcher; torch.library gives functions names", """
            _ExcludeDispatchKeyGuard _IncludeDispatchKeyGuard"""),
    ],
    "torch._C._profiler": [
        (MARKS, "_ExperimentalConfig"),
    ],
    "torch._ops": [
        ("torch.library.custom_op registers a function; torch.cond and its kin take functions", """
            HigherOrderOperator OperatorBase"""),
    ],
    "torch._dynamo.variables.builder": [
        (TRACER, "wrap_fx_proxy VariableBuilder"),
    ],
    "torch._dynamo.variables.constant": [
        (TRACER, "ConstantVariable"),
    ],
    "torch._dynamo.variables.functions": [
        (TRACER, "NestedUserFunctionVariable UserFunctionVariable"),
    ],
    "torch._dynamo.variables.higher_order_ops": [
        (TRACER, "TorchHigherOrderOperatorVariable make_attr speculate_subgraph unimplemented"),
    ],
    "torch._dynamo.variables.tensor": [
        (TRACER, "TensorVariable"),
    ],
    "torch._functorch._aot_autograd.functional_utils": [
        (TRACER, "from_fun to_fun"),
    ],
    "torch.fx.experimental.symbolic_shapes": [
        (SYMBOLS, "ShapeEnv"),
    ],
    "torch.fx.experimental.proxy_tensor": [
        ("make_fx traces a function, and torch.fx.Interpreter runs what it gives", """_ProxyTensor _SymNodeDict
            decompose disable_proxy_modes_tracing fetch_object_proxy fetch_sym_proxy get_proxy_slot
            track_tensor_tree"""),
    ],
    "torch.fx.passes.split_utils": [
        ("torch.fx.passes.split_module.split_module divides a graph", "split_by_tags"),
    ],
    "torch.cuda._memory_viz": [
        (MEMORY, "memory segment_plot segments trace_plot"),
    ],
    "torch.profiler._memory_profiler": [
        ("torch.viz and torch.explain tell what keeps memory", """
            MemoryProfileTimeline _CATEGORY_TO_COLORS _CATEGORY_TO_INDEX"""),
    ],
    "torch.distributed._shard.sharded_tensor": [
        ("torch.distributed.tensor has tensors of which each device has a part", "ShardedTensor"),
    ],
    "torch.distributed._tensor.placement_types": [
        ("a DTensor has device_mesh and placements", "DTensorSpec TensorMeta"),
    ],
    "torch.distributed.checkpoint.metadata": [
        (FILES, "Metadata TensorStorageMetadata BytesStorageMetadata"),
    ],
    "torch.distributed.checkpoint.planner": [
        (FILES, "LoadPlan LoadPlanner SavePlan SavePlanner"),
    ],
    "torch.distributed.checkpoint.storage": [
        (FILES, "StorageReader StorageWriter"),
    ],
    "torch.distributed.checkpoint.utils": [
        (FILES, "CheckpointException"),
    ],
    "torch.distributed.checkpoint.state_dict": [
        ("get_optimizer_state_dict makes states that are not there yet", "_init_optim_state"),
    ],
    "torch.distributed.checkpoint.state_dict_loader": [
        (FILES, "_load_state_dict load load_state_dict"),
    ],
    "torch.distributed.distributed_c10d": [
        (STORES, "PrefixStore"),
        (DISTRIBUTED, "ProcessGroupGloo _new_process_group_helper _world rendezvous"),
    ],
    "torch.distributed._functional_collectives": [
        ("torch.distributed.tensor moves parts", "permute_tensor"),
    ],
    "torch.distributed.fsdp._flat_param": [
        (FULLY, "FlatParamHandle FlatParameter"),
    ],
    "torch.distributed.fsdp._runtime_utils": [
        (FULLY, "_post_backward_final_callback _root_pre_forward _lazy_init"),
    ],
    "torch.distributed.pipelining.microbatch": [
        (PIPELINES, "TensorChunkSpec split_args_kwargs_into_chunks merge_chunks"),
    ],
    "torch.distributed.tensor.experimental._attention": [
        ("shard sequences by distribute_tensor, and XLA sends the parts", "set_rotate_method context_parallel"),
    ],
    "torch.distributed.utils": [
        ("broadcast each parameter, or give DistributedDataParallel the module", "_sync_module_states"),
    ],
    "torch.nested._internal.ops": [
        ("functions of nested tensors are those of torch", "extract_kwargs"),
    ],
    "torch.quantization": [
        (QUANTIZED, "convert_jit prepare_jit quantize_dynamic quantize_jit quantize_qat"),
    ],
    "torch.ao.quantization": [
        (QUANTIZED, """convert_dynamic_jit convert_jit get_default_dynamic_quant_module_mappings
            get_default_float_to_quantized_operator_mappings get_default_static_quant_module_mappings
            get_default_static_quant_reference_module_mappings get_dynamic_quant_module_class get_quantized_operator
            get_static_quant_module_class prepare_dynamic_jit prepare_jit quantize_dynamic quantize_dynamic_jit
            quantize_jit quantize_qat"""),
        ("prepare_qat and prepare take a qconfig of each module, as its attribute", """QConfigMapping
            get_default_qat_qconfig_dict get_default_qat_qconfig_mapping get_default_qconfig_dict
            get_default_qconfig_mapping"""),
    ],
    "torch.compiler": [
        (COMPILER, "load_compiled_function"),
    ],
    "torch.autograd": [
        (MARKS, "_disable_profiler"),
    ],
    "torch._tensor_str": [
        ("repr(x) gives the text of a tensor", "_add_suffixes _str_intern"),
    ],
    "torch.utils._device": [
        ("torch.set_default_device, and a device as a context, say where tensors are made", "DeviceContext"),
    ],
    "torch.cuda": [
        (STREAMS, """ExternalStream graphs make_graphed_callables is_current_stream_capturing"""),
        (MEMORY, """memory_summary memory_snapshot list_gpu_processes utilization memory_usage
            reset_max_memory_allocated reset_max_memory_cached reset_accumulated_memory_stats
            set_per_process_memory_fraction MemPool"""),
        (DISTRIBUTED, "can_device_access_peer"),
        ("XLA compiles for what is there", "get_gencode_flags"),
        (SYSTEM, "jiterator cudart"),
    ],
}
"""For each module what it lacks: what to do instead, and the names."""

REASONS = {
    f"{module}.{name}": reason
    for module, rows in ABSENT.items()
    for reason, names in rows
    for name in names.split()
}  # fmt: skip


MODULES = frozenset([
    "bottleneck", "event", "functions", "graphs", "jiterator",
    "mobile_optimizer", "monitor", "package", "quantizable", "quantized", "varlen", "windows",
])  # fmt: skip
"""Those of these names that are modules, or objects with names of their own: nothing stands for them."""


def absent(module: str, name: str) -> Any:
    """The object that stands for what a module of the package has not: it can be imported, and is refused when called.

    Raises:
        AttributeError: nothing does: PyTorch has no such name, or it is a module there.

    >>> absent("tapegrad", "package")
    Traceback (most recent call last):
    AttributeError: torch.package is not in tapegrad (yet): there are no archives of code; torch.save keeps what a ...
    >>> absent("tapegrad", "sinn")
    Traceback (most recent call last):
    AttributeError: module 'tapegrad' has no attribute 'sinn'
    >>> absent("tapegrad", "hsmm")()
    Traceback (most recent call last):
    NotImplementedError: torch.hsmm is not in tapegrad (yet): a sparse tensor is not resized, but made anew of its ...
    """
    full = f"{module.replace('tapegrad', 'torch', 1)}.{name}"
    if full not in REASONS:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    if name in MODULES:
        raise AttributeError(f"{full} is not in tapegrad (yet): {REASONS[full]}")
    return stand_in(full)


@cache
def stand_in(full: str) -> Any:
    """A function, or a class if its name begins with a capital letter, in place of what is refused."""
    name = full.rpartition(".")[2]
    if name.lstrip("_")[0].isupper():
        return type(name, (RefusedClass,), {"refusal": (full, REASONS[full]), "__module__": full.rpartition(".")[0]})
    return refused(full, REASONS[full])


def is_stand_in(value: Any) -> bool:
    """Tell whether something stands for a name that is refused."""
    return isinstance(getattr(value, "refusal", None), tuple)


def refusing(module: str) -> Callable[[str], Any]:
    """``__getattr__`` of a module, for the names that it has not."""
    return partial(absent, module)


def refused(full: str, advice: str) -> Callable[..., NoReturn]:
    """A function that can be imported, and is refused when it is called: ``full`` is its name, as ``torch.f``.

    >>> refused("torch.f", "call g")(1)
    Traceback (most recent call last):
    NotImplementedError: torch.f is not in tapegrad (yet): call g
    """

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"{full} is not in tapegrad (yet): {advice}")

    refuse.__name__ = refuse.__qualname__ = full.rpartition(".")[2]
    refuse.refusal = full, advice  # type: ignore[attr-defined]
    refuse.__doc__ = f"Refused: {advice}.\n\nRaises:\n    NotImplementedError: always; it says what to do instead."
    return refuse


class _RefusedKind(ABCMeta):  # so that users' classes may be abstract, too
    """The class of refused classes: what is read of one is refused when it is called, too."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") or "refusal" not in vars(cls):  # a user's class has what its body says
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        full, advice = cls.refusal
        return refused(f"{full}{cls.__name__ if full.endswith('.') else ''}.{name}", advice)


class RefusedClass(metaclass=_RefusedKind):
    """A class that libraries ask for when they are imported; it is refused when it is used.

    Raises:
        NotImplementedError: always; it says what to do instead.
    """

    refusal: ClassVar[tuple[str, str]]
    """Its name, or that of its module and a dot, behind which that of the class comes; and what to do."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        name, advice = self.refusal
        own = type(self).__name__ if name.endswith(".") else ""
        raise NotImplementedError(f"{name}{own} is not in tapegrad (yet): {advice}")
