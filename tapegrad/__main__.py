"""``python -m tapegrad SCRIPT`` runs a program written for PyTorch; without a script, the demonstration."""

import sys

from tapegrad._src.script import command
from tapegrad.demo.run import main as demonstrate

if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(command.main(given) if command.is_meant(given) else demonstrate(given))
