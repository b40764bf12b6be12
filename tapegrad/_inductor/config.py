"""``torch._inductor.config``: see Note [Settings of another compiler]."""

from __future__ import annotations

from typing import Any

from tapegrad.utils._config_module import install_config_module

ON = """
    alignment_asserts allow_buffer_reuse apply_gumbel_max_trick assert_indirect_indexing autotune_local_cache
    batch_fusion benchmark_epilogue_fusion benchmark_harness bundle_triton_into_fx_graph_cache
    bw_outputs_user_visible combo_kernel_autotune_grouping combo_kernel_foreach_dynamic_shapes
    comprehensive_padding constant_and_index_propagation cpp.enable_loop_tail_vec cpp.enable_tiling_heuristics
    cpp.fallback_scatter_reduce_sum cpp.no_redundant_loops cpp.use_constexpr_for_int_array cpp.weight_prepack
    cpp_cache_precompile_headers delay_realize_cheap_outputs disable_padding_cpu disable_progress
    dynamic_scale_rblock emulate_precision_casts_on_saved_tensors enable_auto_functionalized_v2
    enable_caching_generated_triton_templates epilogue_fusion fx_graph_cache graph_partition implicit_fallbacks
    inplace_buffers inplace_padding joint_graph_constant_folding keep_addmm_fused_for_half_dtypes
    keep_output_stride layout_optimization loop_index_inversion_in_fusion loop_ordering_after_fusion
    loop_reindexing_after_fusion max_autotune_report_choices_stats non_blocking_remote_cache_write
    online_softmax optimize_scatter_upon_const_tensor pattern_matcher pick_loop_orders prologue_fusion
    quiesce_async_compile_pool reorder_for_locality reorder_for_peak_memory scalar_asserts shape_padding
    size_asserts split_cat_fx_passes split_reductions static_weight_shapes trace.fx_graph
    trace.fx_graph_transformed trace.ir_post_fusion trace.ir_pre_fusion trace.output_code
    triton.autotune_cublasLt triton.autotune_pointwise triton.coalesce_tiling_analysis
    triton.codegen_upcast_to_fp32 triton.cudagraph_support_input_mutation triton.cudagraph_trees
    triton.divisible_by_16 triton.dynamic_disable_pipelining triton.emit_pointer_range_32
    triton.mix_order_reduction triton.mix_order_reduction_allow_multi_stages triton.persistent_reductions
    triton.proton_group_by_sm triton.proton_per_cta_occupancy triton.proton_split_invocations
    triton.reorder_for_reducing_graph_partitions triton.slow_path_cudagraph_asserts
    triton.tiling_prevents_pointwise_fusion triton.tiling_prevents_reduction_fusion
    triton.transpose_discontiguous_tensor_descriptor triton.unique_kernel_names use_dce
    use_experimental_benchmarker use_fast_triton_launcher use_joint_graph_passes use_launch_metadata_schema
    use_mixed_mm use_post_grad_passes use_pre_grad_passes use_static_cuda_launcher worker_suppress_logging
    write_are_deterministic_algorithms_enabled
"""

OFF = """
    aggressive_fusion align_random_eager always_keep_tensor_constants annotate_training assume_32bit_indexing
    assume_aligned_inputs assume_unaligned_fallback_output autotune_fallback_to_aten autotune_in_subproc
    autotune_multi_device b2b_gemm_pass batch_invariant benchmark_combo_kernel benchmark_fusion benchmark_kernel
    cache_sdpa_constraint can_inplace_pad_graph_input combo_kernel_per_subkernel_blocks combo_kernels
    combo_kernels_pointwise_only comment_origin compute_all_bounds conv_1x1_as_mm
    coordinate_descent_check_all_directions coordinate_descent_tuning cpp.dynamic_threads
    cpp.enable_concat_linear cpp.enable_grouped_gemm_template cpp.enable_kernel_profile
    cpp.enable_unsafe_math_opt_flag cpp.force_inline_kernel cpp.use_decompose_tanh cpp.use_small_dequant_buffer
    cpp_wrapper cpp_wrapper_build_separate cutedsl_enable_autotuning dce debug debug_fusion debug_index_asserts
    debug_ir_traceback decompose_mem_bound_mm dedup_reduce_scatters deterministic developer_warnings
    disable_cpp_codegen distributed_max_autotune_gemm do_not_emit_runtime_assertions
    efficient_conv_bn_eval_fx_passes emulate_precision_casts enable_autograd_for_aot
    enable_linear_binary_folding epilogue_fusion_first epilogue_fusion_user_defined_triton_kernel
    epilogue_fusion_with_atomic_add expand_dimension_for_pointwise_nodes fallback_by_default
    fallback_embedding_bag_byte_unpack fallback_random force_fuse_int_mm_with_mul force_layout_optimization
    force_pointwise_cat force_shape_pad freezing freezing_discard_parameters fx_wrapper
    generate_intermediate_hooks group_fusion incremental_autotune is_predispatch keep_static_cubin_raw
    log_tlparse max_autotune max_autotune_allow_flexible_layouts max_autotune_gemm max_autotune_pointwise
    max_autotune_prune_choices_based_on_shared_mem memory_planning nan_asserts nvgemm_supplement_configs
    pad_channels_last pad_dynamic_shapes pad_outputs partitioned_scatter_enabled permute_fusion
    pipeline_max_autotune_gemm profile_bandwidth profile_bandwidth_with_do_bench_using_profiling
    profiler_mark_wrapper_call remote_gemm_autotune_cache reorder_for_compute_comm_overlap
    reorder_for_peak_memory_debug run_jit_post_compile_hook runtime_estimations_mms_benchmark
    runtime_triton_nan_asserts save_args search_autotune_cache selective_decompose
    static_launch_user_defined_triton_kernels strict_static_cuda_launcher trace.compile_profile trace.debug_log
    trace.draw_orig_fx_graph trace.enabled trace.graph_diagram trace.info_log trace.log_autotuning_results
    trace.save_real_tensors triton.autotune_with_sample_inputs triton.cooperative_reductions
    triton.cudagraph_or_error triton.cudagraph_skip_dynamic_graphs triton.cudagraph_trees_history_recording
    triton.cudagraph_trees_objgraph triton.cudagraphs triton.debug_sync_graph triton.debug_sync_kernel
    triton.decompose_sort_ops triton.dense_indexing triton.enable_pdl triton.enable_persistent_tma_matmul
    triton.enable_template_tma_store triton.enable_tma_load_for_template_epilogue
    triton.fast_path_cudagraph_asserts triton.force_cooperative_reductions triton.force_cudagraph_sync
    triton.force_cudagraphs_warmup triton.mix_order_reduction_autotune_split_size
    triton.mix_order_reduction_non_strict_mode triton.native_matmul triton.nested_reduction
    triton.prefer_nd_tiling triton.proton_profiling triton.skip_cudagraph_warmup triton.skip_l1_cache
    triton.store_cubin triton.tile_reductions triton.unique_user_kernel_names triton.use_block_ptr
    triton.use_tensor_descriptor triton_disable_device_detection unsafe_ignore_unsupported_triton_autotune_args
    unsafe_skip_cache_dynamic_shape_guards use_fast_math use_torch_profiler_benchmarker verbose_progress
    warn_mix_layout wrap_inductor_compiled_regions
"""

SETTINGS: dict[str, Any] = {
    **dict.fromkeys(ON.split(), True), **dict.fromkeys(OFF.split(), False),
    "add_pre_grad_passes": None, "autoheuristic_log_path": "DEFAULT", "autotune_num_choices_displayed": 10,
    "autotune_remote_cache": None, "bucket_all_gathers_bucket_mode": "default", "bucket_all_gathers_fx": "none",
    "bucket_all_gathers_fx_bucket_size_determinator": None, "bucket_all_reduces_fx": "none",
    "bucket_all_reduces_fx_bucket_size_determinator": None, "bucket_reduce_scatters_bucket_mode": "default",
    "bucket_reduce_scatters_fx": "none", "bucket_reduce_scatters_fx_bucket_size_determinator": None,
    "bundled_autotune_remote_cache": None, "collective_benchmark_nruns": 50, "collective_benchmark_timeout": 30.0,
    "combo_kernel_allow_mixed_sizes": 1, "combo_kernel_max_distance": -1, "combo_kernel_max_num_args": 250,
    "combo_kernel_max_num_nodes": 8, "combo_kernel_peak_memory_increase_gb": None,
    "combo_kernel_peak_memory_pct_threshold": 0.05, "combo_kernels_autotune": 1, "compile_threads": 2,
    "compile_worker_wait_timeout": 0, "coordinate_descent_search_radius": 1, "cpp.descriptive_names":
    "original_aten", "cpp.enable_floating_point_contract_flag": "off", "cpp.gemm_cache_blocking": None,
    "cpp.gemm_max_k_slices": 1, "cpp.gemm_thread_factors": None, "cpp.march": None,
    "cpp.max_horizontal_fusion_size": 16, "cpp.min_chunk_size": 512, "cpp.simdlen": None, "cpp.threads": -1,
    "cpp.use_two_step_variance_threshold": 1024, "cpp.vec_isa_ok": None, "cpu_backend": "cpp", "cpu_gpu_bw": 50.0,
    "cuda_backend": "triton", "cudagraph_policy": None, "custom_partitioner_fn": None, "disabled_passes": "",
    "enabled_metric_tables": "", "estimate_op_runtime": "default", "file_lock_timeout": 600,
    "fx_graph_remote_cache": None, "global_cache_dir": None, "inductor_choices_class": None,
    "inductor_default_autotune_rep": 100, "inductor_default_autotune_warmup": 25, "inter_node_bw": None,
    "intra_node_bw": None, "joint_custom_post_pass": None, "joint_custom_pre_pass": None, "kernel_name_max_ops":
    10, "layout_opt_default": "1", "max_autotune_conv_backends": "ATEN,TRITON",
    "max_autotune_conv_bwd_input_backends": "ATEN", "max_autotune_conv_bwd_weight_backends": "ATEN",
    "max_autotune_flex_search_space": "DEFAULT", "max_autotune_gemm_backends": "ATEN,TRITON,CPP",
    "max_autotune_gemm_search_space": "DEFAULT", "max_autotune_subproc_graceful_timeout_seconds": 0.0,
    "max_autotune_subproc_result_timeout_seconds": 60.0, "max_autotune_subproc_terminate_timeout_seconds": 0.0,
    "max_complex_pointwise_cat_inputs": 8, "max_epilogue_benchmarked_choices": 1,
    "max_fusion_buffer_group_pairwise_attempts": 64, "max_fusion_size": 64, "max_fusion_unique_io_buffers": None,
    "max_pointwise_cat_inputs": 8, "memory_pool": "intermediates", "min_num_split": 0, "min_overlap_ratio": 1.1,
    "mixed_mm_choice": "heuristic", "nvgemm_max_profiling_configs": 5, "padding_alignment_bytes": 128,
    "padding_stride_threshold": 1024, "partitioned_scatter_max_partitions": 128,
    "partitioned_scatter_memory_budget": 0.1, "partitioned_scatter_min_partitions": 2,
    "post_grad_custom_post_pass": None, "post_grad_custom_pre_pass": None, "pre_grad_custom_pass": None,
    "pre_grad_pass_timing": "default", "precompilation_timeout_seconds": 300, "profile_bandwidth_output": None,
    "profile_bandwidth_regex": "", "quiesce_async_compile_time": 60, "realize_acc_reads_size_threshold": None,
    "realize_acc_reads_threshold": None, "realize_cpu_acc_reads_threshold": 12, "realize_cpu_opcount_threshold":
    50, "realize_opcount_threshold": None, "realize_reads_threshold": 4, "remove_pre_grad_passes": None,
    "reorder_prefetch_limit": None, "score_fusion_memory_threshold": 10, "size_threshold_for_succ_based_strategy":
    0, "small_memory_access_threshold": 16777216, "torchinductor_worker_logpath": "", "tpu_backend": "pallas",
    "trace.debug_dir": None, "trace.dot_graph_shape": None, "trace.graph_diagram_format": "svg",
    "trace.log_url_for_graph_xform": None, "trace.orig_fx_graph_diagram_format": "svg",
    "trace.provenance_tracking_level": 0, "trace.upload_tar": None, "triton.autotune_at_compile_time": None,
    "triton.cudagraph_capture_sizes": None, "triton.cudagraph_dynamic_shape_warn_limit": 8,
    "triton.cudagraph_min_partition_size": 0, "triton.cudagraph_partition_memory_budget": 1.1,
    "triton.cudagraph_unexpected_rerecord_limit": 128, "triton.decompose_k_threshold": 32,
    "triton.descriptive_names": "original_aten", "triton.max_kernel_dump_occurrences": 3, "triton.max_tiles":
    None, "triton.min_split_scan_rblock": 256, "triton.mix_order_reduction_initial_xblock": 1,
    "triton.mix_order_reduction_max_reads": 10, "triton.mix_order_reduction_split_size": None,
    "triton.multi_kernel": 0, "triton.num_decompose_k_splits": 10, "triton.proton_output_dir": None,
    "triton.spill_threshold": 16, "triton.use_two_step_variance_min_numel": 1024,
    "triton.use_two_step_variance_threshold": 32768, "triton_kernel_default_layout_constraint":
    "needs_fixed_stride_order", "unbacked_symint_fallback": 8192, "unroll_reductions_threshold": 8,
    "worker_log_path": None, "worker_start_method": "subprocess", "xpu_backend": "triton",
}  # fmt: skip
"""The settings, with PyTorch's defaults."""

PROMISES = {
    "batch_invariant": "XLA chooses how sums are divided, by their sizes",
    "debug": "JAX writes what XLA compiles where XLA_FLAGS=--xla_dump_to=FOLDER says",
    "nan_asserts": "torch.autograd.set_detect_anomaly(True) looks for nans",
    "joint_custom_post_pass": "there are no graphs that a pass could change",
    "joint_custom_pre_pass": "there are no graphs that a pass could change",
    "post_grad_custom_post_pass": "there are no graphs that a pass could change",
    "post_grad_custom_pre_pass": "there are no graphs that a pass could change",
    "pre_grad_custom_pass": "there are no graphs that a pass could change",
    "profile_bandwidth": "torch.profiler tells how long operators take",
    "trace.enabled": "JAX writes what XLA compiles where XLA_FLAGS=--xla_dump_to=FOLDER says",
}
"""The things that don't happen here, and what does the like."""

install_config_module(__name__, SETTINGS, PROMISES)
