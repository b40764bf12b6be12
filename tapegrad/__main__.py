"""``python -m tapegrad SCRIPT`` runs a program written for PyTorch; without a script, the demonstration."""

import sys

from tapegrad.demo.run import main as demonstrate
from tapegrad.script import command

if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(command.main(given) if command.is_meant(given) else demonstrate(given))
