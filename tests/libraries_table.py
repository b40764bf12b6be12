"""The libraries whose own tests are run on tapegrad, with their pins: ``libraries.py`` runs them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Library:
    """A library, and which of its tests are run.

    Attributes:
        name: its name on PyPI.
        version: its version; its tests are those of its sdist.
        needs: what else is installed beside it, as pip names it; ``--no-deps`` is nowhere said.
        tests: the files and folders to run, below the sdist.
        options: further arguments of pytest.
        part: which part of the tests that is, where it isn't all of them.
        left_out: files that are not run, and why.
        differs: what of the rest differs, and why.
        environment: variables of the environment.
    """

    name: str
    version: str
    needs: tuple[str, ...] = ()
    tests: tuple[str, ...] = ("tests",)
    options: tuple[str, ...] = ()
    part: str = ""
    left_out: dict[str, str] = field(default_factory=dict)
    differs: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    one_in: int = 1
    fetch: tuple[str, ...] = ()


LIBRARIES = {
    library.name: library
    for library in (
        Library("einops", "0.8.2", tests=("einops/tests",), environment={"EINOPS_TEST_BACKENDS": "torch"}),
        Library("opt_einsum", "3.4.0", one_in=1, tests=("opt_einsum/tests",), options=("-k", "torch"), part="tests named after torch"),
        Library("torchsde", "0.2.6", one_in=40, needs=("boltons==25.0.0", "trampoline==0.1.2"), tests=("tests/test_adjoint.py", "tests/test_sdeint.py"), part="integration and its adjoint"),
        Library("zuko", "1.6.0", one_in=2),
        Library("linear_operator", "0.6.1", one_in=25, tests=("test",)),
        Library("gpytorch", "1.15.2", one_in=25, needs=("linear_operator==0.6.1", "scikit-learn==1.7.2"), tests=("test",)),
        Library("pytorch_optimizer", "4.1.0", one_in=20),
        Library("torch-optimizer", "0.3.0", one_in=3, needs=("pytorch-ranger==0.1.1",), tests=("tests/test_optimizer.py", "tests/test_param_validation.py"), part="without the fits of hundreds of steps"),
        Library("nflows", "0.14", one_in=3, needs=("matplotlib", "tensorboard", "tqdm", "UMNN", "torchtestcase==2018.2")),
        Library("normflows", "1.7.3", one_in=2, tests=("normflows",)),
        Library("tensorly", "0.10.0", one_in=6, tests=("tensorly",), environment={"TENSORLY_BACKEND": "pytorch"}),
        Library("skorch", "1.4.0", one_in=12, needs=("pandas", "flaky"), tests=("skorch/tests",)),
        Library("pytorch-ignite", "0.5.5", one_in=12, needs=("pytest-order", "tqdm", "scikit-learn", "matplotlib", "dill", "pytest-xdist", "filelock"), tests=("tests/ignite/engine", "tests/ignite/metrics/regression")),
        Library("torchkbnufft", "1.5.2", one_in=12),
        Library("pytorch_warmup", "0.2.0", tests=("test",)),
        Library("julius", "0.2.8", needs=("resampy==0.4.3",)),
        Library("cooper-optim", "1.0.1", one_in=10),
        Library("neurodiffeq", "0.7.0", one_in=4, needs=("tensorboardX==2.6.4",)),
        Library("ema-pytorch", "0.8.3"),
        Library("stable_baselines3", "2.9.2", one_in=25, needs=("pandas", "matplotlib", "tqdm", "rich")),
        Library("opacus", "1.6.0", one_in=6, needs=("hypothesis", "scikit-learn"), tests=("opacus/tests/grad_samples",), options=("-o", "python_files=*_test.py")),
        Library("sbi", "0.27.0", one_in=40, needs=("pytest-harvest==1.10.5", "torchtestcase==2018.2", "tensorboardX==2.6.4")),
    )
}

SKIPPED = {
    "timm": "needs torchvision, which is built against PyTorch's C++ and loads it; so do lightly and segmentation-models-pytorch.",
    "backpack-for-pytorch": "needs torchvision; curvlinops and laplace-torch need it.",
    "tensordict": "has an extension that is built against PyTorch's C++; torchrl needs it.",
    "kornia": "its sdist has no tests, as those of captum, botorch, geoopt, torchdiffeq, torchmetrics, lightning, "
    "torch_geometric, torchcde and entmax.",
    "transformers": "its sdist has what its tests of models have in common, and not these tests; those of peft, accelerate, "
    "nnsight and transformer-lens fetch models.",
    "torchopt": "its sdist lacks what its tests import (`helpers`).",
    "higher": "its sdist can't be had for this Python.",
}
"""Libraries that are not in the table, and why."""
