"""GGUF files in memory, so that a file can be written again with other tensors."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import GGUFReader, GGUFValueType, GGUFWriter

Tensors = Mapping[str, tuple[np.ndarray, Type]]  # by name; blocks as rows of bytes


@dataclass(frozen=True)
class Contents:
    """What a file of float32 holds."""

    architecture: str
    metadata: Mapping[str, tuple[Any, GGUFValueType]]
    tensors: Mapping[str, np.ndarray]

    @classmethod
    def of(cls, path: Path) -> "Contents":
        reader = GGUFReader(path)
        assert {tensor.tensor_type for tensor in reader.tensors} == {Type.F32}
        metadata = {
            key: (field.contents(), field.types[0])
            for key, field in reader.fields.items()
            if not key.startswith("GGUF.")
        }
        architecture, _ = metadata.pop("general.architecture")
        return cls(
            architecture, metadata, {tensor.name: tensor.data.copy() for tensor in reader.tensors}
        )

    def write(self, path: Path, tensors: Tensors) -> Path:
        """A file of the same metadata, and of these tensors."""
        writer = GGUFWriter(path, self.architecture)
        for key, (value, kind) in self.metadata.items():
            if kind is GGUFValueType.ARRAY:
                writer.add_array(key, value)
            else:
                writer.add_key_value(key, value, kind)
        for name, (data, stored) in tensors.items():
            writer.add_tensor(name, data, raw_dtype=stored)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path
