"""The whole-step compiler: an imperative step becomes one XLA program. See Note [Compiled steps] in ``step.py``."""

from tapegrad.compile.capture import DataDependentError
from tapegrad.compile.step import Compiled, compile
