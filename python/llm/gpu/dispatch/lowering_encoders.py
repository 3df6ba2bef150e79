"""The operations of encoders -> dispatches."""

from llm.gpu.device.placement import Layout
from llm.gpu.dispatch.dispatches import Dispatch
from llm.gpu.dispatch.launches import Groups, thread_groups
from llm.gpu.kernels.variants import pack_params
from llm.gpu.operations import Activate, AddPositions, EncoderOperation, LayerNorm


class EncoderLowering:
    """See Lowering."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def lower(self, op: EncoderOperation) -> Dispatch:
        if isinstance(op, LayerNorm):
            return self._layer_norm(op)
        if isinstance(op, AddPositions):
            return self._add_positions(op)
        return self._activate(op)

    def _layer_norm(self, op: LayerNorm) -> Dispatch:
        placement = self._layout.placements[op.weight.name]
        parameters = pack_params(
            "layer_norm",
            weight=placement.planes[0],
            width=op.x.width,
            x=op.x.offset,
            y=op.y.offset,
            eps=op.eps,
        )
        groups: Groups = (op.x.rows, 1, 1)
        return Dispatch("layer_norm", parameters, groups, placement.shard, op.reads, op.writes)

    def _add_positions(self, op: AddPositions) -> Dispatch:
        placement = self._layout.placements[op.weight.name]
        width = op.x.width
        parameters = pack_params(
            "add_positions", table=placement.planes[0], x=op.x.offset, width=width
        )
        groups = thread_groups("add_positions", width, op.x.rows)
        return Dispatch("add_positions", parameters, groups, placement.shard, op.reads, op.writes)

    def _activate(self, op: Activate) -> Dispatch:
        width = op.x.width
        parameters = pack_params(
            "activate", x=op.x.offset, width=width, activation=int(op.activation)
        )
        groups = thread_groups("activate", width, op.x.rows)
        return Dispatch("activate", parameters, groups, 0, op.reads, op.writes)
