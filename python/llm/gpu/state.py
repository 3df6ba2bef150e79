"""Words of the small state buffer that tells kernels what this run is: shaders/include/state.glslh.

The host writes it before a run, with NON_FINITE cleared; kernels write NON_FINITE and the picks.
"""

MAX_ROWS = 256  # tokens of a run, and outputs of a run
MAX_PENALTIES = 1024
MAX_PICKS = 256

ROWS = 0  # tokens of this run
OUTPUTS = 1  # rows whose logits are wanted
NON_FINITE = 2  # set to 1 where a logit is NaN or infinite
PENALTIES = 3  # tokens to penalize
ARRIVALS = 4  # of groups at a grid barrier
GAVE_UP = 5  # set to 1 where a group did not come
TOKENS = 16  # token id of each row
POSITIONS = TOKENS + MAX_ROWS  # position of each row
OUTPUT_ROWS = POSITIONS + MAX_ROWS  # row of each output
PENALTY_IDS = OUTPUT_ROWS + MAX_ROWS  # each at most once
PENALTY_COUNTS = PENALTY_IDS + MAX_PENALTIES  # how often each was seen
PICK_IDS = PENALTY_COUNTS + MAX_PENALTIES  # best first
PICK_VALUES = PICK_IDS + MAX_PICKS  # the bits of their logits
STATE_WORDS = PICK_VALUES + MAX_PICKS

NONE = 0xFFFFFFFF  # in place of an offset: there is no such operand
