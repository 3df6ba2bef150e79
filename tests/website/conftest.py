"""The site, built once as `./llm docs` builds it."""

import subprocess
import sys
from pathlib import Path

import pytest

from setup.paths import ROOT
from website.main import SITE


@pytest.fixture(scope="session")
def site() -> Path:
    command = [sys.executable, str(ROOT / "llm"), "docs"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return SITE
