"""What a Godot scene sees. Imported at engine start, so nothing heavy is imported from here."""

from llm.nodes.llm import LLM
from llm.nodes.sampling import LLMSampling

__all__ = ["LLM", "LLMSampling"]
