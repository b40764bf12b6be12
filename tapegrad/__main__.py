"""``python -m tapegrad``: the demonstration."""

import sys

from tapegrad.demo.run import main

if __name__ == "__main__":
    sys.exit(main())
