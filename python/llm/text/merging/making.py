"""What merges the text of a model file, as `tokenizer.ggml.*` describes it.

Each way is imported where it is wanted: SentencePiece is not needed by most files.
"""

from typing import TYPE_CHECKING

from llm.errors import ModelFileError
from llm.text.kinds import LIKELIEST_PIECES, WORD_PIECES, Kind

if TYPE_CHECKING:
    from llm.files.metadata import Metadata
    from llm.text.merging import Merging
    from llm.text.vocabulary import Vocabulary

_CHARSMAP = "tokenizer.ggml.precompiled_charsmap"


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
    if kind.name == LIKELIEST_PIECES:
        from llm.text.merging.charsmap import CharsMap
        from llm.text.merging.likeliest_pieces import LikeliestPieces

        stored = metadata.numbers(_CHARSMAP, None)
        try:
            charsmap = CharsMap(b"" if stored is None else stored.tobytes())
        except ValueError as error:
            raise ModelFileError(metadata.path, _CHARSMAP, str(error)) from error
        joins_spaces = metadata.bool("tokenizer.ggml.remove_extra_whitespaces", False)
        return LikeliestPieces(vocabulary, charsmap, joins_spaces=joins_spaces)
    from llm.text.merging.sentencepiece import ScoredPairs

    return ScoredPairs(vocabulary)
