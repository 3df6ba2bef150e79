"""Frames bring time, steps spend it, and debts are paid."""

from llm.generate.frame_budget import MOST_DEBT, FrameBudget


def test_without_a_limit_nothing_is_spent() -> None:
    budget = FrameBudget()
    budget.spend(1e9)
    assert not budget.is_spent


def test_a_frame_brings_what_the_limit_says() -> None:
    budget = FrameBudget()
    budget.limit = 0.004
    budget.spend(0.003)
    assert not budget.is_spent
    budget.spend(0.002)
    assert budget.is_spent
    budget.begin_frame(1)
    assert not budget.is_spent
    budget.spend(0.0031)
    assert budget.is_spent


def test_what_is_left_is_not_saved() -> None:
    budget = FrameBudget()
    budget.limit = 0.004
    for frame in range(100):
        budget.begin_frame(frame)
    budget.spend(0.004)
    assert budget.is_spent


def test_several_nodes_bring_one_frame() -> None:
    budget = FrameBudget()
    budget.limit = 0.001
    budget.spend(0.003)
    for _ in range(5):
        budget.begin_frame(7)
    assert budget.is_spent
    budget.begin_frame(8)
    budget.begin_frame()
    assert not budget.is_spent


def test_a_long_step_is_paid_by_later_frames_but_not_for_ever() -> None:
    budget = FrameBudget()
    budget.limit = 0.002
    budget.spend(0.002 * 11.5)
    frames = 0
    while budget.is_spent:
        budget.begin_frame(frames)
        frames += 1
    assert frames == 11, "ten and a half frames of debt"
    budget.spend(1e6)
    frames = 0
    while budget.is_spent:
        budget.begin_frame()
        frames += 1
    assert MOST_DEBT <= frames <= MOST_DEBT + 1


def test_a_new_limit_counts_at_once() -> None:
    budget = FrameBudget()
    budget.limit = 0.001
    budget.spend(1.0)
    budget.limit = 0.002
    assert not budget.is_spent
    budget.spend(1.0)
    budget.limit = None
    assert not budget.is_spent
