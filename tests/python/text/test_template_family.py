"""The stored templates of twenty families get the names that people know them by."""

from pathlib import Path

import pytest

from llm.text.template_family import template_family

TEMPLATES = Path(__file__).parents[2] / "golden" / "chat_templates"
NAMES = {
    "chatml": "ChatML",
    "command_r": "Command R",
    "deepseek_r1": "DeepSeek",
    "gemma_2": "Gemma",
    "gemma_3": "Gemma",
    "gemma_4": "Gemma 4",
    "gpt_oss": "gpt-oss (Harmony)",
    "granite_3_3": "Granite",
    "lfm_2": "ChatML",
    "llama_2": "Llama 2",
    "llama_3_1": "Llama 3",
    "mistral_tekken": "Mistral",
    "mistral_v3": "Mistral",
    "phi_3": "Phi",
    "phi_4": "Phi-4",
    "phi_4_mini": "Phi",
    "qwen_2_5": "ChatML",
    "qwen_3": "ChatML",
    "smollm_3": "ChatML",
    "zephyr": "Zephyr",
}


def test_every_stored_template_is_named() -> None:
    assert sorted(NAMES) == sorted(path.stem for path in TEMPLATES.glob("*.jinja"))


@pytest.mark.parametrize("name", NAMES)
def test_names(name: str) -> None:
    assert template_family((TEMPLATES / f"{name}.jinja").read_text("utf-8")) == NAMES[name]


def test_others() -> None:
    assert template_family("{{ messages }}") == "other"
    assert template_family(" \n") is None
