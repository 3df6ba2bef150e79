"""What a kernel variant is: a file of shaders/, its defines, and the block of its parameters."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from llm.files.formats import FORMATS_BY_NAME
from llm.files.repack import PLANES

PUSH_CONSTANT_LIMIT = 128  # bytes, Godot's own cap
PUSH_CONSTANT_ALIGNMENT = 16  # bytes, what Godot rounds a block up to

FORMAT_IDS = {name: FORMATS_BY_NAME[name].id for name in PLANES}

Params = Mapping[str, str]  # name of a field -> its struct code: "4I", "I" or "f"


@dataclass(frozen=True, slots=True)
class Kernel:
    source: str  # file in shaders/
    group_size: int  # threads in a group
    params: Params  # in the order of the GLSL block
    defines: Mapping[str, int | str] = field(default_factory=dict)  # besides GROUP_SIZE

    @property
    def struct_format(self) -> str:
        """The Params block as a struct format, padded to whole 16 bytes."""
        fields = "<" + "".join(self.params.values())
        padding = -struct.calcsize(fields) % PUSH_CONSTANT_ALIGNMENT
        return f"{fields}{padding}x"
