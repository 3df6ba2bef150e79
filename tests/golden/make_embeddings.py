"""Writes embeddings.npz: vectors of the default model by llama.cpp, on its weights in float32.

    make_embeddings.py FLOAT32.gguf

Arrays: texts, and vectors (N, C) by mean pooling.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.llama_cpp import embeddings

TEXTS = (
    "The quick brown fox jumps over the lazy dog.",
    "Where is the nearest inn?",
    "Die Königin trinkt Tee mit Zitrone 🍋.",
    "A dragon sleeps under the mountain in the north. " * 30,
)


def main() -> None:
    vectors = embeddings(Path(sys.argv[1]), TEXTS, "mean", context=512)
    target = Path(__file__).parent / "embeddings.npz"
    np.savez_compressed(target, texts=np.array(TEXTS), vectors=vectors.astype(np.float32))


if __name__ == "__main__":
    main()
