"""``torch.optim.lr_scheduler``: schedules of learning rates. Nothing is defined here."""

from tapegrad.optim.combined_schedules import ChainedScheduler, SequentialLR
from tapegrad.optim.cycles import CyclicLR, OneCycleLR
from tapegrad.optim.optimizer import Optimizer
from tapegrad.optim.plateau import ReduceLROnPlateau
from tapegrad.optim.schedule import EPOCH_DEPRECATION_WARNING, LRScheduler, _LRScheduler
from tapegrad.optim.schedules import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)

__all__ = [
    "EPOCH_DEPRECATION_WARNING", "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts",
    "CyclicLR", "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR",
    "Optimizer", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR", "_LRScheduler",
]  # fmt: skip
