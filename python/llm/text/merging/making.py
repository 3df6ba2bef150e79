"""What merges the text of a model file, as `tokenizer.ggml.*` describes it.

Each way is imported where it is wanted: SentencePiece is not needed by most files.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from llm.errors import ModelFileError
from llm.text.kinds import LIKELIEST_PIECES, WORD_PIECES, Kind

if TYPE_CHECKING:
    from llm.files.metadata import Metadata
    from llm.text.merging import Merging
    from llm.text.vocabulary import Vocabulary

_CHARSMAP = "tokenizer.ggml.precompiled_charsmap"
_WORD = 4  # bytes
_LABELS = 256  # values of a byte


def make_merging(metadata: "Metadata", kind: Kind, vocabulary: "Vocabulary") -> "Merging":
    """Raises ModelFileError where the file lacks something, or it is damaged."""
    if kind.pre_tokenizer is not None:
        from llm.text.merging.byte_pairs import BytePairs

        merges = metadata.strings("tokenizer.ggml.merges")
        return BytePairs(vocabulary.tokens, vocabulary.control_ids, merges, kind.pre_tokenizer)
    if kind.name == WORD_PIECES:
        from llm.text.merging.word_pieces import WordPieces

        lower_case = metadata.bool("tokenizer.ggml.normalizer.lowercase", True)
        return WordPieces(
            vocabulary.tokens,
            vocabulary.control_ids,
            vocabulary.unknown_id,
            lower_case=lower_case,
            strip_accents=metadata.bool("tokenizer.ggml.normalizer.strip_accents", lower_case),
        )
    from llm.text.merging.sentencepiece import likeliest_pieces, scored_pairs

    if kind.name == LIKELIEST_PIECES:
        charsmap = metadata.numbers(_CHARSMAP, None)
        return likeliest_pieces(
            vocabulary,
            charsmap=b"" if charsmap is None else _checked(metadata.path, charsmap.tobytes()),
            joins_spaces=metadata.bool("tokenizer.ggml.remove_extra_whitespaces", False),
        )
    return scored_pairs(vocabulary)


def _checked(path: str, charsmap: bytes) -> bytes:
    """Raises ModelFileError unless every step through the map stays within it.

    It is the size of a double array in bytes, the array (darts-clone's, of words), and texts that
    end in NUL. SentencePiece follows the array without looking.
    """
    size = int.from_bytes(charsmap[:_WORD], "little")
    texts = charsmap[_WORD + size :]
    if not charsmap:
        return charsmap
    if size % (_LABELS * _WORD) or not size or not texts.endswith(b"\0"):
        raise ModelFileError(path, _CHARSMAP, f"is no map: {len(charsmap):,} bytes, {size:,} of them an array")
    words: NDArray[np.uint32] = np.frombuffer(charsmap, "<u4", size // _WORD, _WORD)
    is_value = words >> 31 == 1  # where a text begins
    offsets = (words >> 10) << ((words & 1 << 9) >> 6)
    reached = (np.arange(len(words), dtype=np.uint32) ^ offsets) | (_LABELS - 1)
    if (reached[~is_value] >= len(words)).any():
        raise ModelFileError(path, _CHARSMAP, "is damaged: its array points beyond its end")
    if ((words[is_value] & 0x7FFFFFFF) >= len(texts)).any():
        raise ModelFileError(path, _CHARSMAP, "is damaged: a text begins beyond its end")
    return charsmap
