"""What an executor on a device keeps of sequences: pages of cells, and slots of recurrent state."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from llm.gpu.device.paged_cache import PagedCache
from llm.gpu.device.rendering_device import RenderingDevice
from llm.gpu.device.state_slots import DeviceSlots
from llm.gpu.program import Program


class SequenceMemory(ABC):
    """See `Executor`."""

    slots: DeviceSlots | None

    def __init__(self, program: Program, device: RenderingDevice) -> None:
        self._paged = PagedCache(device, program.page_words, program.context)
        self.slots = None
        if program.state_words:
            self.slots = DeviceSlots(
                device, program.state_words, lambda: self._bind_again(has_slots=True)
            )

    @abstractmethod
    def _bind_again(self, *, has_slots: bool) -> None:
        """The buffer of the slots is another, or that of the pages."""

    def _allocate_memory(self) -> None:
        """DeviceMemoryError when refused."""
        for each in self._parts():
            each.allocate()

    def _clear_memory(self) -> None:
        for each in self._parts():
            each.clear()

    def _free_memory(self) -> None:
        for each in self._parts():
            each.free()

    def _parts(self) -> list[PagedCache | DeviceSlots]:
        return [self._paged] if self.slots is None else [self._paged, self.slots]

    @property
    def _memory_bytes(self) -> int:
        return sum(each.nbytes for each in self._parts())

    @property
    def pages(self) -> int:
        return self._paged.parts

    def grow(self, pages: int) -> None:
        self._paged.grow(pages)  # where that is refused, all stays as it was
        self._bind_again(has_slots=False)

    def copy_page(self, source: int, target: int) -> None:
        self._paged.copy(source, target)

    def read_page(self, page: int) -> bytes:
        return self._paged.read(page)

    def write_page(self, page: int, data: bytes) -> None:
        self._paged.write(page, data)

    def place(self, sequence: int, pages: Sequence[int], first: int = 0) -> None:
        self._paged.place(sequence, pages, first)
