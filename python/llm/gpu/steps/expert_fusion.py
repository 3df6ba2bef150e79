"""Turns the operations of a layer's experts into two steps, of which the first chooses them."""

from collections.abc import Sequence
from dataclasses import replace

from llm.gpu.operations import (
    ExpertMatMul,
    ExpertSum,
    GatedUnit,
    Operation,
    Route,
    Tensor,
)
from llm.gpu.steps.errors import NoStepError
from llm.gpu.steps.experts import Experts
from llm.gpu.steps.steps import Epilogue, Product, Prologue

OPERATIONS = [Route, ExpertMatMul, ExpertMatMul, GatedUnit, ExpertMatMul, ExpertSum]


def fuse_experts(
    router: Product, six: Sequence[Operation], *, normed: Tensor, home: Tensor, stream: Tensor
) -> tuple[Product, Product]:
    """`router` has made its logits of `normed`, the norm of the residual stream `home`, which now
    is at `stream`. Raises NoStepError where the six operations are not what follows there."""
    if [type(op) for op in six] != OPERATIONS:
        raise NoStepError("experts should be chosen, multiplied, gated and summed up")
    route, gates, ups, gated, downs, total = six
    assert isinstance(route, Route)
    assert isinstance(gates, ExpertMatMul)
    assert isinstance(ups, ExpertMatMul)
    assert isinstance(gated, GatedUnit)
    assert isinstance(downs, ExpertMatMul)
    assert isinstance(total, ExpertSum)
    if (router.outputs, normed) != ([route.logits], gates.x) or gates.x != ups.x:
        raise NoStepError("experts should read what their router reads")
    if route.bias is not None or route.gains is not None:
        raise NoStepError("a choice of experts by scores with a bias, or shares with gains")
    if gates.weight.format != ups.weight.format:
        raise NoStepError("experts whose gates are in a format of their own")
    chain = (gated.gate, gated.up, downs.x, total.x)
    if chain != (gates.y, ups.y, gated.y, downs.y) or not total.residual == total.y == home:
        raise NoStepError("experts should add to the residual stream")
    choice = route.choice.rows
    first = replace(
        router,
        weights=[gates.weight, ups.weight],
        outputs=[gated.y, ups.y],
        epilogue=Epilogue.GATED,
        activation=gated.activation,
        y=route.logits,
        x_out=choice,
        scale=route.scale,
        biases=[bias for bias in (gates.bias, ups.bias) if bias is not None],
        experts=Experts.of(gates, route),
    )
    second = Product(Prologue.PLAIN, downs.x.width, [downs.weight], [stream], x=gated.y)
    second.y, second.epilogue, second.experts = choice, Epilogue.ADD, Experts.of(downs)
    if first.biases:
        if len(first.biases) < 2:
            raise NoStepError("experts of which only gates or only inputs have a bias")
        first.epilogue = Epilogue.GATED_BIASED
    if downs.bias is not None:
        second.biases, second.epilogue = [downs.bias], Epilogue.ADD_SHARES
    return first, second
