"""What operations on experts do: the formulas stand in llm/gpu/operations/experts.py."""

from collections.abc import Callable
from typing import Any

import numpy as np

from llm.gpu.operations import (
    Choice,
    ExpertMatMul,
    ExpertSum,
    GatedAdd,
    Operation,
    Route,
    Scoring,
)
from llm.gpu.program import Floats, Ids
from llm.gpu.reference.workspace import Workspace


def route(run: Workspace, op: Route) -> None:
    scores, ranked = rank(run, op)
    used = op.choice.used
    chosen = np.argsort(-ranked, axis=1, kind="stable")[:, :used]  # (T, U)
    shares = np.take_along_axis(scores, chosen, axis=1)  # (T, U)
    if op.normalised:
        shares /= shares.sum(axis=1, keepdims=True)
    if op.gains is not None:
        shares *= run.weights[op.gains.name][0][chosen]
    rows = run.view(op.choice.rows)
    rows[:, :used] = chosen
    rows[:, used:] = shares * np.float32(op.scale)


def rank(run: Workspace, op: Route) -> tuple[Floats, Floats]:
    """The scores of experts, and what they are chosen by, both (T, E)."""
    logits = run.view(op.logits)  # (T, E)
    if op.scoring is Scoring.SOFTMAX:
        scores = np.exp(logits - logits.max(axis=1, keepdims=True))
        scores /= scores.sum(axis=1, keepdims=True)
    else:
        scores = sigmoid(logits)
    return scores, scores if op.bias is None else scores + run.weights[op.bias.name]


def expert_matmul(run: Workspace, op: ExpertMatMul) -> None:
    experts = _chosen(run, op.choice).reshape(-1)  # (T*U,)
    x = run.view(op.x).reshape(-1, op.weight.columns)  # (T or T*U, K)
    y = run.view(op.y).reshape(-1, op.height)  # (T*U, M)
    weights = run.weights[op.weight.name].reshape(op.choice.experts, op.height, -1)  # (E, M, K)
    for expert in np.unique(experts):
        places = np.flatnonzero(experts == expert)
        rows = places // op.choice.used if op.inputs.rows == op.x.rows else places
        y[places] = x[rows] @ weights[expert].T
        if op.bias is not None:
            y[places] += run.weights[op.bias.name][expert]


def expert_sum(run: Workspace, op: ExpertSum) -> None:
    shares = run.view(op.choice.rows)[:, op.choice.used :]  # (T, U)
    x = run.view(op.x).reshape(len(shares), op.choice.used, -1)  # (T, U, C)
    total = np.einsum("tu,tuc->tc", shares, x)  # (T, C)
    run.view(op.y)[:] = total if op.residual is None else run.view(op.residual) + total


def gated_add(run: Workspace, op: GatedAdd) -> None:
    run.view(op.y)[:] = run.view(op.residual) + sigmoid(run.view(op.gate)) * run.view(op.x)


def sigmoid(x: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-x)), np.float32)


def _chosen(run: Workspace, choice: Choice) -> Ids:
    """The experts of each row, (T, U)."""
    return run.view(choice.rows)[:, : choice.used].astype(np.int64)


EXPERTS: dict[type[Operation], Callable[[Workspace, Any], None]] = {
    Route: route,
    ExpertMatMul: expert_matmul,
    ExpertSum: expert_sum,
    GatedAdd: gated_add,
}
