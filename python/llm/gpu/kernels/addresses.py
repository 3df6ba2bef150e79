"""Device addresses as parameters of kernels: two words each, the lower first."""

from collections.abc import Sequence

from llm.gpu.kernels.kernel import Params

ADDRESSES: Params = {"plane_x": "2I", "plane_y": "2I", "plane_z": "2I", "plane_w": "2I"}


def plane_fields(addresses: Sequence[int]) -> dict[str, tuple[int, int]]:
    """The fields of ADDRESSES, of four addresses at most."""
    four = (*addresses, 0, 0, 0)[:4]
    return {name: words_of(address) for name, address in zip(ADDRESSES, four, strict=True)}


def words_of(address: int) -> tuple[int, int]:
    """A device address as a field of two words."""
    return address & 0xFFFFFFFF, address >> 32
