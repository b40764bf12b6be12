"""``torch.optim``: optimizers, schedules of learning rates, averages of weights."""

from tapegrad._src.absent import refusing
from tapegrad.optim import lr_scheduler, swa_utils
from tapegrad.optim.adadelta import Adadelta
from tapegrad.optim.adafactor import Adafactor
from tapegrad.optim.adagrad import Adagrad
from tapegrad.optim.adam import Adam, AdamW
from tapegrad.optim.adamax import Adamax
from tapegrad.optim.asgd import ASGD
from tapegrad.optim.lbfgs import LBFGS
from tapegrad.optim.muon import Muon
from tapegrad.optim.nadam import NAdam
from tapegrad.optim.optax import Optax
from tapegrad.optim.optimizer import Optimizer
from tapegrad.optim.radam import RAdam
from tapegrad.optim.rmsprop import RMSprop
from tapegrad.optim.rprop import Rprop
from tapegrad.optim.sgd import SGD
from tapegrad.optim.sparse_adam import SparseAdam

__getattr__ = refusing(__name__)

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam", "Optax",
    "Optimizer", "RAdam", "RMSprop", "Rprop", "SparseAdam", "lr_scheduler", "swa_utils",
]  # fmt: skip
