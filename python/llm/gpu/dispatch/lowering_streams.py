"""Operations on streams -> dispatches, one each."""

from llm.gpu import state
from llm.gpu.device.placement import Layout
from llm.gpu.dispatch.dispatches import Dispatch
from llm.gpu.dispatch.launches import Groups, thread_groups
from llm.gpu.kernels.variants import pack_params
from llm.gpu.operations import Combine, MixStreams, Rescale, Sparsify

StreamOperation = Combine | Rescale | MixStreams | Sparsify


def lower_streams(op: StreamOperation, layout: Layout) -> Dispatch:
    if isinstance(op, Combine):
        return _combine(op, layout)
    if isinstance(op, MixStreams):
        return _mix(op, layout)
    rows: Groups = (op.x.rows, 1, 1)
    if isinstance(op, Sparsify):
        packed = pack_params("sparsify", x=op.x.offset, width=op.x.width, factor=op.factor)
        return Dispatch("sparsify", packed, rows, 0, op.reads, op.writes)
    packed = pack_params(
        "rescale",
        x=op.x.offset,
        like=op.like.offset,
        y=op.y.offset,
        x_stride=op.x.stride,
        like_stride=op.like.stride,
        y_stride=op.y.stride,
        width=op.x.width,
    )
    return Dispatch("rescale", packed, rows, 0, op.reads, op.writes)


def _combine(op: Combine, layout: Layout) -> Dispatch:
    placement = None if op.weight is None else layout.placements[op.weight.name]
    packed = pack_params(
        "combine",
        x=op.x.offset,
        other=state.NONE if op.other is None else op.other.offset,
        y=op.y.offset,
        x_stride=op.x.stride,
        other_stride=0 if op.other is None else op.other.stride,
        y_stride=op.y.stride,
        weight=state.NONE if placement is None else placement.planes[0],
        width=op.x.width,
        factor=op.factor,
        scale=op.scale,
        count_at=int(op.count),
    )
    shard = 0 if placement is None else placement.shard
    groups = thread_groups("combine", op.x.width, op.x.rows)
    return Dispatch("combine", packed, groups, shard, op.reads, op.writes)


def _mix(op: MixStreams, layout: Layout) -> Dispatch:
    placement, width = layout.placements[op.weight.name], op.x.width // op.streams
    packed = pack_params(
        "mix_streams",
        weight=placement.planes[0],
        router=op.router.offset,
        x=op.x.offset,
        z=op.z.offset,
        y=op.y.offset,
        streams=op.streams,
        mixed=op.mixed,
        width=width,
        bias=op.bias,
    )
    groups = thread_groups("mix_streams", width, op.x.rows)
    return Dispatch("mix_streams", packed, groups, placement.shard, op.reads, op.writes)
