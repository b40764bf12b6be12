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
    fetch: tuple[str, ...] = ()


LIBRARIES = {
    library.name: library
    for library in (
        Library("einops", "0.8.2", tests=("einops/tests",), environment={"EINOPS_TEST_BACKENDS": "torch"}),
        Library("opt_einsum", "3.4.0", tests=("opt_einsum/tests",), options=("-k", "torch"), part="tests named after torch"),
        Library("torchsde", "0.2.6", needs=("boltons==25.0.0", "trampoline==0.1.2"), tests=("tests/test_adjoint.py", "tests/test_sdeint.py"), part="integration and its adjoint"),
        Library("zuko", "1.6.0"),
        Library("linear_operator", "0.6.1", tests=("test",)),
        Library("gpytorch", "1.15.2", needs=("linear_operator==0.6.1", "scikit-learn==1.7.2"), tests=("test",)),
        Library("torchopt", "0.7.3", needs=("optree==0.17.0", "graphviz==0.21", "optax", "jaxopt"), fetch=("--no-build-isolation",)),
        Library("pytorch_optimizer", "4.1.0"),
        Library("torch-optimizer", "0.3.0", needs=("pytorch-ranger==0.1.1",)),
        Library("nflows", "0.14", needs=("matplotlib", "tensorboard", "tqdm", "UMNN")),
        Library("normflows", "1.7.3", tests=("normflows",)),
        Library("tensorly", "0.10.0", tests=("tensorly",), environment={"TENSORLY_BACKEND": "pytorch"}),
        Library("skorch", "1.4.0", needs=("pandas", "flaky"), tests=("skorch/tests",)),
        Library("pytorch-ignite", "0.5.5", needs=("pytest-order", "tqdm", "scikit-learn", "matplotlib", "dill", "pytest-xdist", "filelock"), tests=("tests/ignite/engine", "tests/ignite/metrics")),
        Library("torchkbnufft", "1.5.2"),
        Library("pytorch_warmup", "0.2.0", tests=("test",)),
        Library("julius", "0.2.8", needs=("resampy==0.4.3",)),
        Library("cooper-optim", "1.0.1"),
        Library("neurodiffeq", "0.7.0"),
        Library("ema-pytorch", "0.8.3"),
        Library("stable_baselines3", "2.9.2", needs=("pandas", "matplotlib", "tqdm", "rich")),
        Library("opacus", "1.6.0", needs=("hypothesis", "scikit-learn"), tests=("opacus/tests/grad_samples",), options=("-o", "python_files=*_test.py")),
        Library("sbi", "0.27.0", needs=("pytest-harvest", "torchtestcase")),
        Library("transformers", "5.24.0", needs=("parameterized", "sentencepiece"), tests=("tests/models/bert",)),
    )
}
