"""How each family's text is cut into words before byte pairs merge: `tokenizer.ggml.pre`.

Names, patterns and rules are those of llama.cpp (llama-vocab.cpp), where a family's letters by case
are told apart in ASCII only, and otherwise count as both. Patterns that would search a long
text again and again from each of its places look behind, so that they do so once.
"""

# ruff: noqa: RUF001  (punctuation of many scripts)

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PreTokenizer:
    patterns: tuple[str, ...]  # each applied within the pieces of the one before
    takes_whole_words: bool = False  # a word that is a token needs no merges
    takes_newlines: bool = False  # nor do newlines that are one
    by_characters: bool = False  # spelled so, and not byte by byte
    add_bos: bool = False  # where the file does not say


_CONTRACTION = r"'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])"
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_MARKS = r" ?[^\s\p{L}\p{N}]+[\r\n]*"

# Letters that are no lower, or no upper, case.
_UPPER, _LOWER = r"(?:(?![a-z])\p{L})", r"(?:(?![A-Z])\p{L})"
_UPPER_MARKED, _LOWER_MARKED = r"(?:(?![a-z])[\p{L}\p{M}])", r"(?:(?![A-Z])[\p{L}\p{M}])"

_GPT2 = r"'(?:[stmd]|re|ve|ll)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_CJK = r"[一-龥\u0800-一가-\ud7ff]+"
_KANA_AND_HAN = r"[一-龥\u3040-\u309f\u30a0-\u30ff]+"
_ASCII_MARK = r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~]"""

# Thousands: three digits, but the first one or two where a number's length asks for it.
_THOUSANDS = r"(?:(?<!\p{N})\p{N}{1,2}(?=(?:\p{N}{3})+(?!\p{N}))|\p{N}{3}|\p{N}+)"
# llama.cpp leaves the first of them with the text before.
_TEXT_AND_THOUSANDS = rf"(?<![^\p{{N}}])[^\p{{N}}]*{_THOUSANDS}"

# First and last of each run of letters that have case, Latin, Greek, Cyrillic, Armenian, Georgian,
# Cherokee and others, as code points.
_CASED_RUNS = """
    41-5a 61-7a b5-b5 c0-d6 d8-f6 f8-1ba 1bc-1bf 1c4-293 295-2af 370-373 376-377 37b-37d 37f-37f
    386-386 388-38a 38c-38c 38e-3a1 3a3-3f5 3f7-481 48a-52f 531-556 10a0-10c5 13a0-13f5 13f8-13fd
    1c90-1cba 1cbd-1cbf 1d00-1d2b 1d6b-1d77 1d79-1d9a 1e00-1f15 1f18-1f1d 1f20-1f45 1f48-1f4d
    1f50-1f57 1f59-1f59 1f5b-1f5b 1f5d-1f5d 1f5f-1f7d 1f80-1fb4 1fb6-1fbc 1fbe-1fbe 1fc2-1fc4
    1fc6-1fcc 1fd0-1fd3 1fd6-1fdb 1fe0-1fec 1ff2-1ff4 1ff6-1ffc 2102-2102 2107-2107 210a-2113
    2115-2115 2119-211d 2124-2124 2126-2126 2128-2128 212a-212d 212f-2134 2139-2139 213c-213f
    2145-2149 214e-214e 2183-2184 2c00-2c7b 2c7e-2ce4 2ceb-2cee 2cf2-2cf3 a640-a66d a680-a69b
    a722-a76f a771-a787 a78b-a78e ab70-abbf fb00-fb06 fb13-fb17 ff21-ff3a ff41-ff5a 10400-1044f
    104b0-104d3 104d8-104fb 10c80-10cb2 10cc0-10cf2 118a0-118df 1e900-1e943
"""
_CASED = "".join(
    f"{chr(int(first, 16))}-{chr(int(last, 16))}"
    for first, last in (run.split("-") for run in _CASED_RUNS.split())
)


def _llama3(digits: str, *, contractions: bool = True, letter: str = r"\p{L}") -> str:
    start = f"{_CONTRACTION}|" if contractions else ""
    marks = _MARKS if letter == r"\p{L}" else r" ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
    return rf"{start}[^\r\n\p{{L}}\p{{N}}]?{letter}+|{digits}|{marks}|{_SPACES}"


def _gpt4o(digits: str, upper: str, lower: str, contraction: str) -> str:
    before = r"[^\r\n\p{L}\p{N}]?"
    return (
        rf"{before}{upper}*{lower}+{contraction}|{before}{upper}+{lower}*{contraction}|"
        rf"{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_SPACES}"
    )


_LETTERS = r"[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
_DEEPSEEK_V3 = rf"{_ASCII_MARK}[A-Za-z]+|{_LETTERS}| ?[\p{{P}}\p{{S}}]+[\r\n]*|{_SPACES}"
_ANY_CASE = r"[\p{L}\p{M}]"
_UP_TO_THREE = r"\p{N}{1,3}"

_QWEN2 = (_llama3(r"\p{N}"),)
_LLAMA3 = (_llama3(_UP_TO_THREE),)
_GPT4O = (_gpt4o(_UP_TO_THREE, _UPPER, _LOWER, f"(?:{_CONTRACTION})?"),)
_SINGLE_DIGITS = (r"\p{N}", _GPT2)
_BLOOM = r" ?[^(\s|.,!?…。，、।۔،)]+"
_TINY_AYA = (
    _TEXT_AND_THOUSANDS,
    _gpt4o(_UP_TO_THREE, _ANY_CASE, _ANY_CASE, f"(?:{_CONTRACTION})?"),
)
_DEEPSEEK_3 = (_UP_TO_THREE, _KANA_AND_HAN, _DEEPSEEK_V3)
_NOT_HAN = r"[\p{Lu}\p{Ll}\p{Lt}\p{Lm}\p{Lo}]"
_BAILING = (
    rf"{_CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}|{_MARKS}|\s*[\r\n]|\s+(?!\S)|\s+"
)

# What is taken where the file does not say, or says what nobody knows.
DEFAULT = PreTokenizer((r"[\p{P}$+<=>^~|]+", _GPT2, r"\p{N}+", r"[0-9][0-9][0-9]"))
LINES = PreTokenizer(  # of Gemma 4
    (r"[^\n]+|\n+",), takes_newlines=True, by_characters=True, add_bos=True
)

_FAMILIES: dict[str, PreTokenizer] = {
    "default": DEFAULT,
    "gemma4 granite-embed-multi-311m": LINES,
    "sarvam-moe": PreTokenizer(LINES.patterns, by_characters=True),
    "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano": PreTokenizer(
        _LLAMA3, takes_whole_words=True, add_bos=True
    ),
    "dbrx smaug-bpe chatglm-bpe": PreTokenizer(_LLAMA3),
    "glm4": PreTokenizer(_LLAMA3, takes_whole_words=True),
    "minicpm5": PreTokenizer((_UP_TO_THREE, _llama3(r"\p{N}+")), takes_whole_words=True),
    "jais-2": PreTokenizer(
        (
            _LLAMA3[0].removesuffix(r"|\s+(?!\S)|\s+")
            + "".join(rf"|\s{{{2**power}}}(?!\S)" for power in range(9, 1, -1))
            + r"|\s{1,2}(?!\S)|\s",
        )
    ),
    "qwen2 deepseek-r1-qwen kormo f2llmv2 megrez stablelm2 hunyuan solar-open grok-2": PreTokenizer(
        _QWEN2
    ),
    "qwen35": PreTokenizer((_llama3(r"\p{N}", letter=_ANY_CASE),)),
    "ufakzeka": PreTokenizer((_llama3(r"\p{N}", contractions=False),)),
    "laguna": PreTokenizer((*LINES.patterns, *_QWEN2)),
    "seed-coder": PreTokenizer(
        (_QWEN2[0].replace(_MARKS, r" ?[^\s\p{L}\p{N}\r\n]+"),),
    ),
    "bailingmoe bailingmoe2 llada-moe": PreTokenizer((_BAILING,)),
    "exaone-moe": PreTokenizer(
        (
            rf"{_CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?(?:\p{{L}}\p{{M}}*(?: \p{{L}}\p{{M}}*)*)+"
            r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+",
        )
    ),
    "gpt-2 phi-2 jina-es jina-de gigachat jina-v2-es jina-v2-de a.x-4.0 mellum modern-bert "
    "jina-v1-en jina-v2-code roberta-bpe mpt olmo jais trillion granite-docling exaone4": (
        PreTokenizer((_GPT2,))
    ),
    "starcoder refact command-r smollm codeshell exaone minerva-7b mellum2": PreTokenizer(
        _SINGLE_DIGITS
    ),
    "gpt-4o llama4 kanana2 talkie minimax-m2": PreTokenizer(_GPT4O),
    "granite-embed-multi-97m": PreTokenizer(
        (_gpt4o(_UP_TO_THREE, _UPPER_MARKED, _LOWER_MARKED, f"(?:{_CONTRACTION})?"),),
        takes_whole_words=True,
    ),
    "tekken": PreTokenizer(
        (_gpt4o(r"\p{N}", _UPPER, _LOWER, ""),), takes_whole_words=True, add_bos=True
    ),
    "tiny_aya cohere2moe": PreTokenizer(_TINY_AYA),
    "youtu": PreTokenizer(
        (
            "[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥\u3040-\u309f\u30a0-\u30ff]+",
            _gpt4o(r"\p{N}", _ANY_CASE, _ANY_CASE, f"(?:{_CONTRACTION})?"),
        ),
        takes_whole_words=True,
    ),
    "kimi-k2": PreTokenizer(
        (
            rf"\p{{Han}}+|[^\r\n\p{{L}}\p{{N}}]?{_NOT_HAN}+(?:{_CONTRACTION})?|{_UP_TO_THREE}|{_MARKS}"
            rf"|{_SPACES}",
        )
    ),
    "deepseek-llm": PreTokenizer(
        (
            r"[\r\n]",
            rf"\s?[{_CASED}]+",
            r"\s?[!-/:-~！-／：-～‘-‟\u3000-。]+",
            r"(?<!\s)\s+\Z",
            _CJK,
            r"\p{N}+",
        )
    ),
    "deepseek-coder": PreTokenizer((r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", _CJK, r"\p{N}")),
    "deepseek-v3 hunyuan-dense joyai-llm hy_v4": PreTokenizer(_DEEPSEEK_3),
    "spark2_5": PreTokenizer(
        (
            *_DEEPSEEK_3[:2],
            rf"{_ASCII_MARK}[A-Za-z]+|{_LETTERS}| ?[\p{{P}}\p{{S}}]+|[\r\n]|\s+(?!\S)|\s+",
            r"\p{N}",
        )
    ),
    "afmoe": PreTokenizer(
        (
            _TEXT_AND_THOUSANDS,
            "[一-鿿㐀-䶿豈-\ufaff\u3040-\u309f\u30a0-\u30ff･-ﾟ⼀-\u2fdf\u0e40-\u0e7f\u0e80-\u0eff"
            "ក-\u17ffက-႟ꩠ-ꩿꧠ-\ua9ff가-\ud7afᄀ-ᇿ]+",
            _DEEPSEEK_V3,
        )
    ),
    "falcon": PreTokenizer((r"[\p{P}$+<=>^~|`]+", _GPT2, r"[0-9][0-9][0-9]")),
    "poro-chat bloom gpt3-finnish": PreTokenizer((_BLOOM,)),
    "viking": PreTokenizer((_BLOOM, r"\p{N}")),
    "superbpe": PreTokenizer((r"\p{N}+", _THOUSANDS.replace(r"\p{N}", r"\d"))),
    "chameleon": PreTokenizer(
        (
            r"<sentinel:[0-9]+>",
            r"(?:IMGIMG)[A-I]{1,4}Z",
            r"[\t\n]|    |  ",
            r"\p{N}",
            r"[\p{P}!-/:-@\[-`{-~]",
            _GPT2,
        ),
        add_bos=True,
    ),
}


def _by_name() -> Iterator[tuple[str, PreTokenizer]]:
    for names, pre_tokenizer in _FAMILIES.items():
        for name in names.split():
            yield name, pre_tokenizer


PRE_TOKENIZERS: dict[str, PreTokenizer] = dict(_by_name())
