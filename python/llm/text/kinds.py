"""What files of each kind of vocabulary (`tokenizer.ggml.model`) leave unsaid.

Source: llama.cpp, llama-vocab.cpp.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from llm.errors import UnsupportedModelError
from llm.text.merging.pre_tokenizers import DEFAULT, LINES, PRE_TOKENIZERS, PreTokenizer

if TYPE_CHECKING:
    from llm.files.metadata import Metadata


@dataclass(frozen=True, slots=True)
class Kind:
    name: str
    # Ids of tokens that play a part, if they are marked as such.
    bos_id: int | None = None
    eos_id: int | None = None
    unknown_id: int | None = None
    end_role: str = "eos"  # what the file calls the token at the end of a whole text
    add_bos: bool = False
    add_eos: bool = False
    # Whatever the file says.
    must_add_bos: bool = False
    must_add_eos: bool = False
    add_space_prefix: bool = False
    pre_tokenizer: PreTokenizer | None = None
    warning: str = ""  # for the user


SCORED_PAIRS = "llama"
RANKED_PAIRS = "gpt2"
CHARACTER_PAIRS = "gemma4"
WORD_PIECES = "bert"
LIKELIEST_PIECES = "t5"

_KINDS = {
    kind.name: kind
    for kind in (
        Kind(SCORED_PAIRS, bos_id=1, eos_id=2, unknown_id=0, add_bos=True, add_space_prefix=True),
        Kind(RANKED_PAIRS, bos_id=11, eos_id=11),
        Kind(CHARACTER_PAIRS, pre_tokenizer=LINES),
        Kind(
            WORD_PIECES,
            bos_id=101,
            eos_id=102,
            unknown_id=100,
            end_role="seperator",  # so spelled in the files
            add_bos=True,
            add_eos=True,
            must_add_bos=True,
            must_add_eos=True,
        ),
        Kind(LIKELIEST_PIECES, eos_id=1, unknown_id=2, add_eos=True),
    )
}


def kind_of(metadata: "Metadata") -> Kind:
    """Raises UnsupportedModelError where this build has no such kind."""
    name = metadata.str("tokenizer.ggml.model")
    if name not in _KINDS:
        raise UnsupportedModelError(metadata.path, "tokenizer.ggml.model", name, _KINDS)
    kind = _KINDS[name]
    warning = ""
    if name == RANKED_PAIRS:
        pre = metadata.str("tokenizer.ggml.pre", "")
        if pre not in PRE_TOKENIZERS:
            known = f"is '{pre}', which is not known" if pre else "is missing"
            warning = (
                f"{metadata.path}: tokenizer.ggml.pre {known}: text is cut into words by guess, "
                "and answers may be worse; convert the model anew"
            )
        kind = replace(kind, pre_tokenizer=PRE_TOKENIZERS.get(pre, DEFAULT), warning=warning)
    if kind.pre_tokenizer is not None:
        always = kind.pre_tokenizer == LINES  # some files of Gemma 4 say otherwise
        kind = replace(kind, add_bos=kind.pre_tokenizer.add_bos, must_add_bos=always)
    return kind
