"""Where set-up puts the default model."""

from pathlib import Path

DEFAULT_MODEL = Path(__file__).parents[2] / ".models" / "gemma-3-270m-q4_k_m.gguf"
