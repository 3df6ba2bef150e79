#!/usr/bin/env python3
"""Makes the documents' pictures, docs/pictures/*.png, with the default model: the chat, the demos,
the X-ray and its tour.

The engine draws them on a virtual screen where there is none. The answers are greedy or seeded, so
that little more than the speeds differs from one run to the next. Arguments name some of the
pictures: chat, shopkeeper, room, xray, tour.
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
    return launcher.script("res://tools/screenshot.gd", sys.argv[1:], sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
