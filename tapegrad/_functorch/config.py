"""``torch._functorch.config``: see Note [Settings of another compiler]."""

from __future__ import annotations

from typing import Any

from tapegrad.utils._config_module import install_config_module

ON = """
    autograd_cache_normalize_inputs ban_recompute_long_fusible_chains ban_recompute_materialized_backward
    ban_recompute_not_in_allowlist ban_recompute_reductions ban_recompute_used_far_apart
    check_custom_op_aliasing cse decompose_custom_triton_ops donated_buffer enable_autograd_cache
    fake_tensor_allow_meta fake_tensor_allow_unsafe_data_ptr_access graphsafe_rng_functionalization
    guess_tangent_strides_as_outputs remat_using_tags_for_fwd_loss_bwd_graph static_weight_shapes
    treat_parameters_as_free_to_save view_replay_for_aliased_outputs
"""

OFF = """
    activation_offload_separate_stream activation_offload_sink_wait activation_reload_prefetch
    aggressive_recomputation autograd_cache_allow_custom_autograd_functions bundled_autograd_cache
    bypass_autograd_cache_key debug_assert debug_partitioner
    disable_guess_zero_tangent_for_mutated_input_subclass enable_activation_offloading enable_complex_wrapper
    error_on_custom_op_aliasing fake_tensor_crossref fake_tensor_propagate_real_tensors force_autograd_cache
    force_non_lazy_backward_lowering functionalize_rng_ops generate_fake_kernels_from_real_mismatches
    is_non_builtin_to_include recompute_views selective_decompose strict_autograd_cache unlift_effect_tokens
    unsafe_allow_optimization_of_collectives unsafe_treat_script_objects_as_zero_size
    visualize_memory_budget_pareto
"""

SETTINGS: dict[str, Any] = {
    **dict.fromkeys(ON.split(), True), **dict.fromkeys(OFF.split(), False),
    "activation_memory_budget": 1.0, "activation_memory_budget_runtime_estimator": "flops",
    "activation_memory_budget_solver": "dp", "activation_offload_cpu_gpu_bw": 50.0, "backward_pass_autocast":
    "same_as_forward", "custom_op_default_layout_constraint": "needs_exact_strides",
    "enable_remote_autograd_cache": None, "fake_tensor_prefer_device_type": None, "joint_custom_pass": None,
    "max_dist_from_bw": 1000, "memory_budget_pareto_dir": None, "saved_tensors_hooks_filtering_mode": "donated",
    "torch_compile_graph_format": "svg",
}  # fmt: skip
"""The settings, with PyTorch's defaults."""

PROMISES = {
    "fake_tensor_crossref": "no tensor is a fake one; those of device meta have shapes without values",
    "joint_custom_pass": "there are no graphs that a pass could change",
    "visualize_memory_budget_pareto": "tapegrad.explain(loss) says what a tape keeps",
}
"""The things that don't happen here, and what does the like."""

install_config_module(__name__, SETTINGS, PROMISES)
