"""How far our next-token distributions are from golden ones that keep only the likeliest tokens."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Divergence:
    mean: float  # KL(golden || ours), nats, mean over positions
    worst: float
    same_top: float  # share of positions whose likeliest token is the same


def divergence(golden_ids: np.ndarray, golden_log: np.ndarray, logits: np.ndarray) -> Divergence:
    """`golden_ids` and `golden_log` (positions, kept) against `logits` (positions, V).

    Tokens that golden does not keep count as one outcome, on both sides.
    """
    logits = logits.astype(np.float64)
    shifted = logits - logits.max(axis=1, keepdims=True)
    ours = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    ours_kept = np.take_along_axis(ours, golden_ids, axis=1)  # (positions, kept)
    golden_log = golden_log.astype(np.float64)
    if golden_log.shape[1] == logits.shape[1]:  # all: what they lack of 1 is rounding
        golden_log -= np.log(np.exp(golden_log).sum(axis=1, keepdims=True))
    golden = np.exp(golden_log)
    each = (golden * (golden_log - ours_kept)).sum(axis=1)  # (positions,)
    if golden_log.shape[1] < logits.shape[1]:
        golden_rest = np.clip(1.0 - golden.sum(axis=1), 1e-12, None)
        ours_rest = np.clip(1.0 - np.exp(ours_kept).sum(axis=1), 1e-12, None)
        each += golden_rest * np.log(golden_rest / ours_rest)
    same = logits.argmax(axis=1) == golden_ids[:, 0]
    return Divergence(float(each.mean()), float(each.max()), float(same.mean()))
