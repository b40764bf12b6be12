"""``torch.optim._functional``: optimizers as functions of lists. See ``functional_forms.py``."""

from tapegrad.absent import refusing
from tapegrad.optim.adadelta import Adadelta
from tapegrad.optim.adagrad import Adagrad
from tapegrad.optim.adam import Adam, AdamW
from tapegrad.optim.adamax import Adamax
from tapegrad.optim.asgd import ASGD
from tapegrad.optim.functional_forms import functional_form
from tapegrad.optim.nadam import NAdam
from tapegrad.optim.radam import RAdam
from tapegrad.optim.rmsprop import RMSprop
from tapegrad.optim.rprop import Rprop
from tapegrad.optim.sgd import SGD

__getattr__ = refusing(__name__)
__all__ = [
    "adadelta", "adagrad", "adam", "adamax", "adamw", "asgd", "nadam", "radam", "rmsprop", "rprop", "sgd",
]  # fmt: skip

BETAS = {"betas": ("beta1", "beta2")}
MOMENTS = "params grads exp_avgs exp_avg_sqs max_exp_avg_sqs state_steps"
WAYS = "foreach capturable differentiable fused grad_scale found_inf has_complex"
LATER = "foreach maximize differentiable capturable has_complex"

sgd = functional_form(
    SGD, "params d_p_list momentum_buffer_list", "has_sparse_grad foreach fused grad_scale found_inf",
    "weight_decay momentum lr dampening nesterov maximize",
)  # fmt: skip
adam = functional_form(
    Adam, MOMENTS, f"{WAYS} decoupled_weight_decay", "amsgrad beta1 beta2 lr weight_decay eps maximize", BETAS
)
adamw = functional_form(AdamW, MOMENTS, WAYS, "amsgrad beta1 beta2 lr weight_decay eps maximize", BETAS)
adadelta = functional_form(
    Adadelta, "params grads square_avgs acc_deltas state_steps", "capturable foreach differentiable has_complex",
    "lr rho eps weight_decay maximize",
)  # fmt: skip
adagrad = functional_form(
    Adagrad, "params grads state_sums state_steps",
    "fused grad_scale found_inf has_sparse_grad foreach differentiable has_complex",
    "lr weight_decay lr_decay eps maximize",
)  # fmt: skip
adamax = functional_form(
    Adamax, "params grads exp_avgs exp_infs state_steps", LATER, "eps beta1 beta2 lr weight_decay", BETAS
)
asgd = functional_form(
    ASGD, "params grads axs mus etas state_steps", LATER, "lambd lr t0 alpha weight_decay"
)  # fmt: skip
nadam = functional_form(
    NAdam, "params grads exp_avgs exp_avg_sqs mu_products state_steps",
    "decoupled_weight_decay foreach capturable differentiable has_complex maximize",
    "beta1 beta2 lr weight_decay momentum_decay eps", BETAS,
)  # fmt: skip
radam = functional_form(
    RAdam, "params grads exp_avgs exp_avg_sqs state_steps",
    "decoupled_weight_decay foreach differentiable capturable has_complex maximize",
    "beta1 beta2 lr weight_decay eps", BETAS,
)  # fmt: skip
rmsprop = functional_form(
    RMSprop, "params grads square_avgs grad_avgs momentum_buffer_list state_steps", LATER,
    "lr alpha eps weight_decay momentum centered",
)  # fmt: skip
rprop = functional_form(
    Rprop, "params grads prevs step_sizes state_steps",
    "foreach capturable maximize differentiable has_complex", "step_size_min step_size_max etaminus etaplus",
    {"etas": ("etaminus", "etaplus"), "step_sizes": ("step_size_min", "step_size_max")},
)  # fmt: skip
