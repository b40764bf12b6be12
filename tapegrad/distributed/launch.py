"""``torch.distributed.launch``: an old name of ``tapegrad.distributed.run``, which starts processes."""

import sys

from tapegrad.distributed.run import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
