"""``torch.utils.model_zoo``: ``load_url``, which is ``torch.hub.load_state_dict_from_url`` under its old name."""

from tapegrad.declaring import on_demand

__getattr__, __dir__ = on_demand(__name__, load_url="tapegrad.hub")
del on_demand
