"""What a Godot scene sees. Imported at engine start, so nothing heavy is imported from here."""

from llm.nodes.llm import LLM

__all__ = ["LLM"]
