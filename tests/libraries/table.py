"""The libraries whose own tests are run on tapegrad, with their pins: ``running.py`` runs them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Library:
    """A library, and which of its tests are run.

    Attributes:
        name: its name on PyPI.
        version: its version; its tests are those of its sdist.
        needs: what else is installed beside it; pip adds what that needs.
        tests: the files and folders to run, below the sdist.
        one_in: of so many tests one is run, by a hash of their names.
        options: further arguments of pytest.
        environment: variables of the environment.
        part: which part of the tests that is, where it isn't all of them.
        left_out: files that are not run, and why.
        differs: what of the rest differs, and why.
    """

    name: str
    version: str
    needs: tuple[str, ...] = ()
    tests: tuple[str, ...] = ("tests",)
    one_in: int = 1
    options: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    part: str = ""
    left_out: dict[str, str] = field(default_factory=dict)
    differs: str = ""


TABLE = [
    Library("cooper-optim", "1.0.1", one_in=3),
    Library("einops", "0.8.2", tests=("einops/tests",), environment={"EINOPS_TEST_BACKENDS": "torch"}),
    Library("ema-pytorch", "0.8.3"),
    Library(
        "gpytorch", "1.15.2", ("linear_operator==0.6.1", "scikit-learn==1.7.2"), tests=("test",), one_in=12
    ),
    Library("julius", "0.2.8", ("resampy==0.4.3",)),
    Library(
        "linear_operator", "0.6.1", tests=("test",), one_in=12,
        differs="the inverse root of a matrix of low rank is nan here, and noise of rounding there",
    ),
    Library("neurodiffeq", "0.7.0", ("tensorboardX==2.6.4",), one_in=4),
    Library(
        "nflows", "0.14",
        ("matplotlib==3.11.2", "tensorboard==2.21.0", "tqdm==4.70.1", "UMNN==1.71", "torchtestcase==2018.2"),
        one_in=1,
    ),
    Library("normflows", "1.7.3", tests=("normflows",), one_in=1),
    Library(
        "opacus", "1.6.0", ("hypothesis==6.170.17", "scikit-learn==1.9.1"), tests=("opacus/tests/grad_samples",),
        one_in=6, options=("-o", "python_files=*_test.py"), part="gradients of layers by sample",
    ),
    Library(
        "opt_einsum", "3.4.0", tests=("opt_einsum/tests",), options=("-k", "torch"), part="those named after torch",
        differs="a tensor on memory of NumPy's keeps the memory alive, not the array: a weak reference to that ends",
    ),
    Library(
        "pytorch-ignite", "0.5.5",
        ("pytest-order==1.5.0", "tqdm==4.70.1", "scikit-learn==1.9.1", "matplotlib==3.11.2", "dill==0.4.1",
         "pytest-xdist==3.8.0"),
        tests=("tests/ignite/engine", "tests/ignite/metrics/regression"), one_in=4,
        part="engines and metrics of regression",
    ),
    Library("pytorch_optimizer", "4.1.0", one_in=8),
    Library("pytorch_warmup", "0.2.0", tests=("test",)),
    Library(
        "sbi", "0.27.0",
        ("pytest-harvest==1.10.5", "torchtestcase==2018.2", "tensorboardX==2.6.4", "pandas==3.1.1"), one_in=160,
        options=("-m", "not slow and not gpu"), part="those that it does not call slow",
    ),
    Library(
        "skorch", "1.4.0", ("pandas==3.1.1", "flaky==3.8.1"), tests=("skorch/tests",), one_in=4,
        differs="a pickle is read without `torch.load`",
    ),
    Library(
        "stable_baselines3", "2.9.2", ("pandas==3.1.1", "matplotlib==3.11.2", "tqdm==4.70.1", "rich==15.0.0"),
        one_in=25,
    ),
    Library("tensorly", "0.10.0", tests=("tensorly",), one_in=6, environment={"TENSORLY_BACKEND": "pytorch"}),
    Library(
        "torch-optimizer", "0.3.0", ("pytorch-ranger==0.1.1",),
        tests=("tests/test_optimizer.py", "tests/test_param_validation.py"), one_in=1,
        part="without fits of hundreds of steps",
    ),
    Library("torchkbnufft", "1.5.2", one_in=6),
    Library(
        "torchsde", "0.2.6", ("boltons==25.0.0", "trampoline==0.1.2"),
        tests=("tests/test_brownian_interval.py", "tests/test_brownian_path.py", "tests/test_brownian_tree.py"),
        one_in=5, options=("-k", "not determinism"),
        part="Brownian motion, without thousands of points (other tests lack files)",
    ),
    Library("zuko", "1.6.0", one_in=2),
]  # fmt: skip
"""All libraries, in the order of their names."""

LIBRARIES = {library.name: library for library in TABLE}

SKIPPED = {
    "timm": "needs torchvision, which loads an extension that is built against PyTorch's C++; so do "
    "backpack-for-pytorch, curvlinops-for-pytorch, laplace-torch, lightly and segmentation-models-pytorch.",
    "tensordict": "has such an extension itself; torchrl needs it.",
    "kornia": "its sdist has no tests; nor have those of captum, botorch, geoopt, torchdiffeq, torchmetrics, "
    "lightning, torch_geometric and torchcde.",
    "transformers": "its sdist has what tests of models have in common, and not these. Those of peft, accelerate, "
    "nnsight and transformer-lens fetch models.",
    "pyro-ppl": "its sdist has five files of its tests only, which run its examples.",
    "torchopt": "its sdist lacks what its tests import, `helpers`.",
    "higher": "there is no sdist of it that builds; nor of entmax.",
}
"""Libraries that are not in the table, and why."""
