"""Weights lie in their buffers one after the other, aligned, and never across two."""

from llm.files.formats import FORMATS
from llm.gpu.device.placement import place
from llm.gpu.operations import Weight

F32, Q8_0 = FORMATS[0], FORMATS[8]


def test_planes_are_aligned_and_apart() -> None:
    odd = Weight("odd", Q8_0, 3, 32)  # 24 words of int8, 3 halves of scales
    layout = place([odd, Weight("next", F32, 1, 5)])
    assert layout.placements["odd"].planes == (0, 24)
    assert layout.placements["next"].planes == (28,)
    assert layout.shard_words == (36,)


def test_a_weight_that_does_not_fit_opens_a_shard() -> None:
    weights = [Weight(str(number), F32, 1, 40) for number in range(5)]
    layout = place(weights, limit=100)
    assert [layout.placements[w.name].shard for w in weights] == [0, 0, 1, 1, 2]
    assert layout.shard_words == (80, 80, 40)


def test_a_weight_above_the_limit_stands_alone() -> None:
    layout = place([Weight("a", F32, 1, 4), Weight("b", F32, 1, 400)], limit=100)
    assert layout.placements["b"].shard == 1
    assert layout.shard_words == (4, 400)


def test_far_weights_have_shards_of_their_own() -> None:
    """After the others', whatever their sizes."""
    far = [Weight("far", Q8_0, 3, 32), Weight("farther", F32, 1, 5)]
    layout = place([Weight("near", F32, 1, 400)], far=far)
    assert layout.n_bound == 1
    assert [layout.placements[name].shard for name in ("near", "far", "farther")] == [0, 1, 2]
    assert layout.placements["far"].planes == (0, 24)
    assert layout.shard_words == (400, 28, 8)
