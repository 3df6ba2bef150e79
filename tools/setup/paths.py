"""Where everything is. All of it but the tracked files can be deleted and is made again."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache"
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
ENGINE = ROOT / ".engine"
ADDON = ROOT / "addons" / "llm"
ADDON_BIN = ADDON / "bin"
MODELS = ROOT / ".models"
DEFAULT_MODEL = MODELS / "gemma-3-270m-q4_k_m.gguf"
ENGINE_LOG = CACHE / "engine.log"
