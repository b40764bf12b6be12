"""``torch.optim._functional``: optimizers as functions of lists. Nothing is defined here."""

from tapegrad._src.absent import refusing
from tapegrad.optim.adadelta import adadelta
from tapegrad.optim.adagrad import adagrad
from tapegrad.optim.adam import adam, adamw
from tapegrad.optim.adamax import adamax
from tapegrad.optim.asgd import asgd
from tapegrad.optim.nadam import nadam
from tapegrad.optim.radam import radam
from tapegrad.optim.rmsprop import rmsprop
from tapegrad.optim.rprop import rprop
from tapegrad.optim.sgd import sgd

__getattr__ = refusing(__name__)
__all__ = ["adadelta", "adagrad", "adam", "adamax", "adamw", "asgd", "nadam", "radam", "rmsprop", "rprop", "sgd"]
