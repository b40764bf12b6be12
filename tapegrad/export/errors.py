"""Errors of exporting, by PyTorch's names: users find them in ``torch._dynamo.exc``."""

from __future__ import annotations

from enum import Enum, auto

DRAFT = (
    "The error above occurred when calling torch.export.export. If you would like to view some more information about "
    "this error, and get a list of all other errors that may occur in your export call, you can replace your "
    "`export()` call with `draft_export()`."
)
"""The words behind the errors that ``draft_export`` passes over."""


class TorchDynamoException(RuntimeError):
    """The base class of these errors."""


class Unsupported(TorchDynamoException):
    """An error of a call that can't be traced."""


class UserErrorType(Enum):
    """The kinds of mistakes that programs make."""

    DYNAMIC_CONTROL_FLOW = auto()
    ANTI_PATTERN = auto()
    STANDARD_LIBRARY = auto()
    CONSTRAINT_VIOLATION = auto()
    DYNAMIC_DIM = auto()
    INVALID_INPUT = auto()
    INVALID_OUTPUT = auto()
    UNSUPPORTED_ALIASED_MUTATED_DYNAMIC_INPUTS = auto()


class UserError(Unsupported):
    """An error of a mistake of the program.

    Args:
        error_type: its kind.
        msg: what is wrong.
        case_name: the name of PyTorch's page that explains it.

    >>> print(UserError(UserErrorType.INVALID_INPUT, "no tuple"))
    no tuple
    """

    def __init__(self, error_type: UserErrorType, msg: str, case_name: str | None = None) -> None:
        if case_name is not None:
            page = "https://pytorch.org/docs/main/generated/exportdb/index.html#" + case_name.replace("_", "-")
            msg += ("" if msg.endswith(". ") else "\n") + f"For more information about this error, see: {page}"
        super().__init__(msg)
        self.error_type, self.message = error_type, msg

    @property
    def msg(self) -> str:
        """The message."""
        return self.args[0]


class ConstraintViolationError(RuntimeError):
    """An error of a length that isn't what ``dynamic_shapes`` says of it."""


class GuardOnDataDependentSymNode(RuntimeError):
    """An error of Python that asks for the elements of a tensor."""


for _error in (TorchDynamoException, Unsupported, UserErrorType, UserError):
    _error.__module__ = "tapegrad._dynamo.exc"
