"""The files of a folder that concern its tokenizer, as the metadata of a GGUF file."""

import os
from collections.abc import Iterable, Mapping
from typing import Any, Final

from llm.errors import ModelFileError
from llm.files.folder import tokenizer_json, tokenizer_model
from llm.files.folder.config import Config
from llm.files.folder.json_file import MAX_JSON_BYTES, read_json
from llm.files.folder.splitting import splitting_name
from llm.files.folder.vocabulary import MAX_TOKENS, Vocabulary

JSON, MODEL, SETTINGS = "tokenizer.json", "tokenizer.model", "tokenizer_config.json"
GENERATION = "generation_config.json"
_TEMPLATE, _OLDER_TEMPLATE = "chat_template.jinja", "chat_template.json"

# Settings that name a token -> the key that has its id.
_ROLES: Final = {
    "cls_token": "bos",
    "bos_token": "bos",
    "eos_token": "eos",
    "unk_token": "unknown",
    "pad_token": "padding",
    "sep_token": "seperator",  # as GGUF spells it
    "mask_token": "mask",
}
_OF_CONFIG: Final = {"bos": "bos", "eos": "eos", "pad": "padding"}


def tokenizer_metadata(folder: str, config: Config) -> dict[str, Any]:
    """Raises ModelFileError where neither tokenizer.json nor tokenizer.model is there and sound."""
    settings_path = os.path.join(folder, SETTINGS)
    settings = read_json(settings_path, optional=True)
    by_characters = config.family.architecture == "gemma4"
    vocabulary, found = _vocabulary(folder, settings, by_characters=by_characters)
    rows = config.metadata.get(f"{config.metadata['general.architecture']}.vocab_size", 0)
    added, source = found.get("added_tokens"), os.path.join(folder, JSON)
    if not added:
        added, source = _added(settings), settings_path
    vocabulary.add(source, _objects(added), min(rows, MAX_TOKENS))
    metadata = vocabulary.metadata()
    metadata |= _ends(settings, found, vocabulary.model)
    metadata |= _ids(settings, config, vocabulary)
    metadata |= _further_ends(folder, metadata)
    return metadata | _templates(folder, settings)


def _vocabulary(
    folder: str, settings: Mapping[str, Any], *, by_characters: bool
) -> tuple[Vocabulary, Mapping[str, Any]]:
    """The vocabulary, and what tokenizer.json holds where it was needed."""
    json_path, model_path = os.path.join(folder, JSON), os.path.join(folder, MODEL)
    if not by_characters and tokenizer_model.is_sentencepiece(model_path):
        needs_json = not _added(settings)
        found = read_json(json_path, optional=True) if needs_json else {}
        return tokenizer_model.read_vocabulary(model_path), found
    found = read_json(json_path)
    vocabulary = tokenizer_json.read_vocabulary(json_path, found, by_characters=by_characters)
    if vocabulary.model == "gpt2":
        ignores_merges = found["model"].get("ignore_merges") is True
        vocabulary.further["pre"] = splitting_name(found, ignores_merges=ignores_merges)
    elif vocabulary.model != "gemma4":
        vocabulary.further["add_space_prefix"] = _adds_space(found)
    return vocabulary, found


def _added(settings: Mapping[str, Any]) -> list[Any]:
    """Added tokens as tokenizer_config.json has them, in the shape of tokenizer.json's."""
    decoder = settings.get("added_tokens_decoder")
    if not isinstance(decoder, dict):
        return []
    return [
        {**entry, "id": int(id) if id.isdecimal() and len(id) < 10 else None}
        for id, entry in decoder.items()
        if isinstance(entry, dict)
    ]


def _adds_space(found: Mapping[str, Any]) -> bool:
    """Whether a text gets a leading space: by its normaliser, or before it is split."""
    parts = tokenizer_json.parts_of(found.get("normalizer"))
    if any(part.get("type") == "Prepend" for part in parts):
        return True
    return any(
        part.get("type") == "Metaspace"
        and part.get("prepend_scheme", "always") != "never"
        and part.get("add_prefix_space", True) is not False
        for part in tokenizer_json.parts_of(found.get("pre_tokenizer"))
    )


def _ends(settings: Mapping[str, Any], found: Mapping[str, Any], model: str) -> dict[str, bool]:
    """Whether texts begin and end with tokens of their own: said outright, or by a template."""
    adds = {"bos": model in ("bert", "llama"), "eos": model in ("bert", "t5")}
    for part in tokenizer_json.parts_of(found.get("post_processor")):
        single = part.get("single")
        if part.get("type") == "TemplateProcessing" and isinstance(single, list) and single:
            places = {"bos": single[0], "eos": single[-1]}
            adds = {role: "SpecialToken" in _object(item) for role, item in places.items()}
    for role in adds:
        if isinstance(said := settings.get(f"add_{role}_token"), bool):
            adds[role] = said
    return {f"tokenizer.ggml.add_{role}_token": value for role, value in adds.items()}


def _ids(settings: Mapping[str, Any], config: Config, vocabulary: Vocabulary) -> dict[str, int]:
    """Ids of the tokens of a role: by their texts, or else as config.json numbers them."""
    ids = {_OF_CONFIG[role]: id for role, id in config.token_ids.items()}
    for setting, role in _ROLES.items():
        value = settings.get(setting)
        text = _object(value).get("content") if isinstance(value, dict) else value
        if isinstance(text, str):
            token = text.encode("utf-8", "replace")
            if token in vocabulary.tokens:
                ids[role] = vocabulary.tokens.index(token)
    size = len(vocabulary.tokens)
    return {f"tokenizer.ggml.{role}_token_id": id for role, id in ids.items() if id < size}


def _further_ends(folder: str, metadata: Mapping[str, Any]) -> dict[str, int]:
    """generation_config.json may name several ends of an answer; GGUF has a key for three."""
    ends = read_json(os.path.join(folder, GENERATION), optional=True).get("eos_token_id")
    known = metadata.get("tokenizer.ggml.eos_token_id")
    size = len(metadata["tokenizer.ggml.tokens"])
    others = [
        id
        for id in (ends if isinstance(ends, list) else [ends])
        if type(id) is int and 0 <= id < size and id != known
    ]
    roles = ("eot", "eom") if known is not None else ("eos", "eot", "eom")
    return {f"tokenizer.ggml.{role}_token_id": id for role, id in zip(roles, others, strict=False)}


def _templates(folder: str, settings: Mapping[str, Any]) -> dict[str, str]:
    """A file of its own goes before what the settings hold, which may be several by name."""
    path = os.path.join(folder, _TEMPLATE)
    if os.path.isfile(path):
        try:
            with open(path, encoding="utf-8") as file:
                return {"tokenizer.chat_template": file.read(MAX_JSON_BYTES)}
        except (OSError, UnicodeDecodeError) as error:
            raise ModelFileError(path, "file", f"cannot be read: {error}") from None
    older = read_json(os.path.join(folder, _OLDER_TEMPLATE), optional=True)
    template = settings.get("chat_template", older.get("chat_template"))
    if isinstance(template, str):
        return {"tokenizer.chat_template": template}
    for entry in _objects(template):
        if entry.get("name") == "default" and isinstance(entry.get("template"), str):
            return {"tokenizer.chat_template": entry["template"]}
    return {}


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(values: Any) -> Iterable[dict[str, Any]]:
    values = values if isinstance(values, list) else []
    return [value for value in values if isinstance(value, dict)]
