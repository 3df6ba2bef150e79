"""Which layers see only the last tokens, a sliding window, and how many those are."""

from dataclasses import dataclass

from llm.errors import ModelFileError
from llm.files.model_file import ModelFile


@dataclass(frozen=True, slots=True)
class Windows:
    """Of each layer the tokens that it sees; 0 where it sees everything."""

    sizes: tuple[int, ...]

    @classmethod
    def from_gguf(
        cls,
        file: ModelFile,
        architecture: str,
        n_layers: int,
        *,
        period: int,
        default: int | None = None,
    ) -> "Windows":
        """`period`: every so many layers one sees everything, where the file says nothing else.

        A file may give another period, or say of each layer whether it slides. `default`: the size
        where it gives none; without one it must. Raises ModelFileError.
        """
        meta = file.metadata
        key = f"{architecture}.attention.sliding_window"
        size = meta.int(key, minimum=1) if default is None else meta.int(key, default=default)
        key = f"{architecture}.attention.sliding_window_pattern"
        if isinstance(meta.get(key), int):
            period = meta.int(key, minimum=1)
        elif key in meta:
            slides = meta.numbers(key).tolist()
            if len(slides) != n_layers:
                raise ModelFileError(file.path, key, f"is of {len(slides)} layers, not {n_layers}")
            return cls(tuple(size if each else 0 for each in slides))
        return cls(tuple(0 if layer % period == period - 1 else size for layer in range(n_layers)))
