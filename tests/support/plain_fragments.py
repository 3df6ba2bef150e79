"""Kernels whose lanes put the elements of matrices in place, in plain GLSL.

Lanes of software drivers have other elements. Here 32 threads stand for a subgroup, and what the
driver would multiply goes through shared memory, by the places that matrix_fragments.glslh names.
So all else of such a kernel runs everywhere.
"""

import re
from collections.abc import Iterable

PLAIN = """#define LEFT float16_t[8]
#define RIGHT float16_t[4]
#define SUM float[4]
shared float left_elements[GROUP_SIZE / 32][16][16];
shared float right_elements[GROUP_SIZE / 32][16][8];

float[4] coopMatMulAdd(const float16_t left[8], const float16_t right[4], const float start[4]) {
	const uint team = gl_LocalInvocationID.x / 32u;
	const uint upper = LANE / 4u;
	const uint pair = LANE % 4u * 2u;
	for (uint i = 0u; i < 8u; i++) {
		left_elements[team][upper + i / 4u * 8u][pair + i % 2u + i / 2u % 2u * 8u] = float(left[i]);
	}
	for (uint i = 0u; i < 4u; i++) {
		right_elements[team][pair + i % 2u + i / 2u * 8u][upper] = float(right[i]);
	}
	barrier();
	float sum[4] = start;
	for (uint i = 0u; i < 4u; i++) {
		for (uint k = 0u; k < 16u; k++) {
			const float right = right_elements[team][k][pair + i % 2u];
			sum[i] += left_elements[team][upper + i / 2u * 8u][k] * right;
		}
	}
	barrier();
	return sum;
}
"""
MATRICES = (
    (r"#extension GL_KHR_cooperative_matrix : require\n", ""),
    (r"(#define \w+ coopmat<.*>\n){3}", PLAIN),
    (r"SUM\(0\.0\)", "SUM(0.0, 0.0, 0.0, 0.0)"),
)
ONE_SUBGROUP = (
    (r"#define GROUP_SIZE \d+\n", "#define GROUP_SIZE 32\n#define LANE gl_LocalInvocationID.x\n"),
    (r"gl_SubgroupInvocationID", "LANE"),
    (r"gl_SubgroupID", "0u"),
)
TEAMS = (
    (r"#define LANE .*\n", "#define LANE (gl_LocalInvocationID.x % 32u)\n"),
    (r"#define TEAM .*\n", "#define TEAM (gl_LocalInvocationID.x / 32u)\n"),
)


def plain_fragments(glsl: str) -> str:
    """A kernel whose group is then one subgroup."""
    return _replace(glsl, ONE_SUBGROUP + MATRICES)


def plain_teams(glsl: str) -> str:
    """A kernel with subgroups of the driver's own for all else: its teams are 32 threads."""
    return _replace(glsl, TEAMS + MATRICES)


def _replace(glsl: str, replaced: Iterable[tuple[str, str]]) -> str:
    for pattern, instead in replaced:
        glsl, count = re.subn(pattern, instead, glsl)
        assert count > 0, pattern
    return glsl
