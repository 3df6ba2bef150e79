"""Kernels whose groups stay resident and run a list of steps. Their sizes are a model's."""

from collections.abc import Collection, Iterable, Sequence

from llm.gpu.kernels.kernel import FORMAT_IDS, Kernel, Params

RESIDENT_SUBGROUPS = 16  # of a group
MATRIX_LANES = 32  # of a subgroup that multiplies matrices

STEPS: Params = {
    "n_steps": "I",
    "first": "I",
    "n_tokens": "I",
    "spins": "I",
    "best": "I",
    "logits": "I",
    "vocabulary": "I",
    "maxima": "I",
    "list": "I",
    "places": "I",
    "n_places": "I",
    "part_places": "I",
    "n_part_places": "I",
}


def steps_kernel(
    *,
    subgroup_size: int,
    head_sizes: Collection[int],
    together: int,
    lane_cells: int,
    pages: int,
    input_size: int,
    model_width: int,
    formats: Iterable[str],
    experts: tuple[int, int] | None = None,
    expert_rows: Iterable[str] = (),
    slices: Collection[str] = (),
    has_integer_dot: bool,
    cases: Sequence[str],
) -> Kernel:
    """The kernel that decodes with a model of these sizes, on a device with these subgroups.

    `experts`: of a layer, and those that a token uses; `expert_rows`: of their matrices, each
    "format:width:rows", see step_some_rows.glslh. `slices`: of matrices of which steps multiply
    some columns, each "format:columns:first", see step_some_rows.glslh.
    """
    defines: dict[str, int | str] = {
        "SUBGROUP_SIZE": subgroup_size,
        "HEADS": " ".join(map(str, sorted(head_sizes))),
        "LARGEST_HEAD": max(head_sizes),
        "TOGETHER": together,
        "LANE_CELLS": lane_cells,
        "PAGES": pages,
        "INPUT_SIZE": input_size,
        "MODEL_WIDTH": model_width,
        "FORMATS": " ".join(sorted(formats)),
        **({"HAS_INTEGER_DOT": 1} if has_integer_dot else {}),
        "STEP_CASES": " ".join(
            f"case {number}u: {{ {case} }} break;" for number, case in enumerate(cases, 1)
        ),
    }
    if experts is not None:
        defines |= {"EXPERTS": experts[0], "USED_EXPERTS": experts[1]}
        defines["EXPERT_ROWS"] = " ".join(sorted(expert_rows))
    if slices:
        defines["SLICES"] = " ".join(sorted(slices))
    return Kernel("steps.comp", RESIDENT_SUBGROUPS * subgroup_size, STEPS, defines)


COLUMNS: Params = {"first": "I", "end": "I", "spins": "I"}


def columns_kernel(
    *,
    columns: int,
    slice_steps: int,
    subgroup_size: int,
    head_size: int,
    group_heads: int,
    together: int,
    lane_cells: int,
    formats: Iterable[str],
) -> Kernel:
    """The kernel that runs a model's layers for a pass of up to `columns` tokens."""
    names = sorted(formats)
    defines: dict[str, int | str] = {
        "SUBGROUP_SIZE": subgroup_size,
        "COLUMNS": columns,
        "SLICE_STEPS": slice_steps,
        "HEAD_SIZE": head_size,
        "LARGEST_HEAD": head_size,
        "GROUP_HEADS": group_heads,
        "TOGETHER": together,
        "LANE_CELLS": lane_cells,
        "FORMATS": " ".join(names),
        "PRODUCT_CASES": " ".join(
            f"case KIND_PRODUCT + {FORMAT_IDS[name]}u: tiles_{name}(); break;" for name in names
        ),
    }
    return Kernel("columns.comp", RESIDENT_SUBGROUPS * subgroup_size, COLUMNS, defines)


def columns_shared_bytes(*, columns: int, subgroup_size: int, head_size: int, together: int) -> int:
    """Shared memory of that kernel."""
    teams = RESIDENT_SUBGROUPS * subgroup_size // MATRIX_LANES
    sums = 4 * 32 * teams * 20  # of 32 columns of tiles, see column_product.glslh
    pool = max(sums, 4 * RESIDENT_SUBGROUPS * head_size)
    scales = 4 * (2 * teams + 1) * columns
    heads = together * (4 * head_size + 8 * RESIDENT_SUBGROUPS)
    group_sums, step_words, gave_up = 16 * RESIDENT_SUBGROUPS, 3 * 4 * 64, 4
    return pool + scales + heads + group_sums + step_words + gave_up


# Its sizes and cases are a model's; these stand for all in tests.
STEP_CASES = (
    "attend_apart_256(position, 1u, 4u, false, true, false, 128u, true, true, "
    "true, 1.0, 0.0, 0.0, 1u);",
    "attend_together_128(position, 8u, 2u, true, false, true, 64u, false, false, false, "
    "1.5, 50.0, 0.25, 8192u);",
    "join_parts_256(4u, true);",
    *(
        f"embed_row_{name}(token, 640u); const Share share_0 = next_share(0u, 1u, true); "
        "normed_input(640u, INPUT_EMBED, false, false); Best best = NO_BEST; "
        f"multiply_{name}(share_0, 1u, 0.5, 640u, 2u, 2u, OUTPUT_GATED, 1u, true, best); "
        f"embed_row_{name}(token, 2048u, 8u); "
        "plain_input(2048u, 0u); gated_input(2048u, 0u); "
        "const float scale = normed_input(640u, INPUT_ADD, true, true); "
        "const Share share_1 = next_share(1u, 3u, false); "
        f"multiply_{name}(share_1, 3u, scale, 2048u, 5u, 1u, OUTPUT_BIASED, 0u, false, best); "
        f"multiply_{name}(share_1, 2u, scale, 256u, 2u, 1u, OUTPUT_GATED_WITH, 0u, false, best); "
        f"multiply_{name}(share_1, 3u, scale, 2048u, 5u, 1u, OUTPUT_CAPPED, 0u, false, best); "
        "leave_best(best);"
        for name in FORMAT_IDS
    ),
    *(
        "choose_experts(false, true); const Share share_0 = next_share(0u, 1u, true); "
        "const float scale = normed_input(640u, INPUT_NORM, true, false); Best best = NO_BEST; "
        f"multiply_{name}_0_96(share_0, 1u, scale, 640u, 2u, 2u, OUTPUT_GATED_BIASED, 3u, false, "
        "best); "
        "take_experts(); "
        "const Share share_1 = next_share(0u, 1u, false); plain_input(768u, 256u); "
        f"multiply_{name}_256_640(share_1, 1u, 1.0, 768u, 2u, 1u, OUTPUT_ADD_SHARES, 0u, true, "
        f"best); multiply_{name}_8960_1280(share_1, 1u, 1.0, 768u, 2u, 1u, OUTPUT_ADD_BIASED, 0u, "
        "true, best);"
        for name in FORMAT_IDS
    ),
    "take_best();",
    "list_samples();",
    "draw_sample();",
)
SAMPLE_RESIDENT = {}
for _name, _dot in (("steps", True), ("steps_plain", False)):
    SAMPLE_RESIDENT[_name] = steps_kernel(
        subgroup_size=32,
        head_sizes=(128, 256),
        together=2,
        lane_cells=2,
        pages=64,
        input_size=2048,
        model_width=640,
        formats=FORMAT_IDS,
        experts=(128, 3),
        expert_rows=[f"{name}:{sizes}" for name in FORMAT_IDS for sizes in ("0:96", "256:640")],
        slices=[f"{name}:8960:1280" for name in FORMAT_IDS],
        has_integer_dot=_dot,
        cases=STEP_CASES,
    )
for _columns in (8, 16):
    SAMPLE_RESIDENT[f"columns_{_columns}"] = columns_kernel(
        columns=_columns,
        slice_steps=2,
        subgroup_size=MATRIX_LANES,
        head_size=256,
        group_heads=4,
        together=2,
        lane_cells=2,
        formats=FORMAT_IDS,
    )
