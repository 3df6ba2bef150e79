#!/usr/bin/env python3
"""Makes the README's picture, docs/images/chat.png: the chat, with answers of the default model.

The engine draws it on a virtual screen where there is none. The answers are greedy, so that only
the speeds differ from one run to the next.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))

from setup import default_model
from setup.launch import Launcher
from setup.main import exclusive, prepare_engine


def main() -> int:
    with exclusive():
        launcher = Launcher(prepare_engine())
        default_model.ensure()
    return launcher.script("res://tools/screenshot.gd", (), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
