"""``torch.utils.model_zoo``: ``load_url``, an old name of a function of ``torch.hub``."""

from tapegrad._src.declaring import on_demand

__getattr__, __dir__ = on_demand(__name__, {})
