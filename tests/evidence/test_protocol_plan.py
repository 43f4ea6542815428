"""The fixed conditions of a task."""

from __future__ import annotations

import pytest

from pytest_episem.evidence.plan import count, fixed_conditions, mask_role


def test_the_order_of_a_task():
    names = [c.name for c in fixed_conditions("d/f/t", ["a"], ["x"])]
    assert names == [
        "unsafe-full", "safe-full",
        "unsafe-se[a]", "safe-se[a]", "unsafe-re[a]", "safe-re[a]",
        "unsafe-se[x]", "safe-se[x]", "unsafe-re[x]", "safe-re[x]",
    ]  # fmt: skip


def test_repeats_follow_whole_and_the_audit_control_comes_last():
    names = [c.name for c in fixed_conditions("d/f/t", ["a"], [], repeats=2, full_audit=True)]
    assert names[6:8] == ["unsafe-full_audit", "safe-full_audit"]
    assert names[8:] == [f"{name}/repeat-1" for name in names[:8]]


@pytest.mark.parametrize(
    ("critical", "irrelevant", "repeats", "audit"), [(2, 1, 1, False), (7, 3, 3, False), (3, 0, 2, True)]
)
def test_count_is_the_length_of_the_list(critical, irrelevant, repeats, audit):
    atoms = [f"a{i}" for i in range(critical)], [f"x{i}" for i in range(irrelevant)]
    listed = fixed_conditions("d/f/t", *atoms, repeats, audit)
    assert count(critical, irrelevant, repeats, audit) == len(listed) == len(set(listed))


def test_the_count_of_the_paper():
    # 300 tasks, 944 critical and 419 irrelevant atoms
    assert 299 * count(0, 0) + count(944, 419) == 6052


def test_the_role_of_a_mask():
    assert mask_role((), "ab") == "none"
    assert mask_role(("a", "b"), "ab") == "critical"
    assert mask_role(("x",), "ab") == "irrelevant"
