"""What a Godot scene sees. Imported at engine start, so nothing heavy is imported from here."""

from llm.nodes.adapter import LLMAdapter
from llm.nodes.embedding import LLMEmbedding
from llm.nodes.llm import LLM
from llm.nodes.memory import LLMMemory
from llm.nodes.model_files import LLMModelFiles
from llm.nodes.sampling import LLMSampling

__all__ = ["LLM", "LLMAdapter", "LLMEmbedding", "LLMMemory", "LLMModelFiles", "LLMSampling"]
