"""``torch.distributed.constants``. Nothing is defined here."""

from tapegrad.distributed.distributed_c10d import default_pg_timeout

__all__ = ["default_pg_timeout"]
