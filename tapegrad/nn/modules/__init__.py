"""``torch.nn.modules``: the classes of modules, one file for each family, which says in ``__all__`` what it has."""

from tapegrad.nn.modules.activation import *
from tapegrad.nn.modules.adaptive import *
from tapegrad.nn.modules.attention import *
from tapegrad.nn.modules.batchnorm import *
from tapegrad.nn.modules.channelshuffle import *
from tapegrad.nn.modules.container import *
from tapegrad.nn.modules.conv import *
from tapegrad.nn.modules.distance import *
from tapegrad.nn.modules.dropout import *
from tapegrad.nn.modules.flatten import *
from tapegrad.nn.modules.fold import *
from tapegrad.nn.modules.instancenorm import *
from tapegrad.nn.modules.linear import *
from tapegrad.nn.modules.linear_cross_entropy_options import *
from tapegrad.nn.modules.loss import *
from tapegrad.nn.modules.module import Module
from tapegrad.nn.modules.normalization import *
from tapegrad.nn.modules.optimized import OptimizedModule as _OptimizedModule
from tapegrad.nn.modules.padding import *
from tapegrad.nn.modules.pixelshuffle import *
from tapegrad.nn.modules.pooling import *
from tapegrad.nn.modules.rnn import *
from tapegrad.nn.modules.sparse import *
from tapegrad.nn.modules.transformer import *
from tapegrad.nn.modules.upsampling import *

globals()["__all__"] = sorted(name for name, found in globals().items() if isinstance(found, type) and name[0] != "_")
