"""The whole-step compiler: an imperative step becomes one XLA program."""

from tapegrad.compiler.capture import DataDependentError
from tapegrad.compiler.step import Compiled, compile
