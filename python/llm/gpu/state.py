"""Words of the small state buffer that tells kernels what this run is: shaders/include/state.glslh.

The host writes it before a run, with NON_FINITE cleared, and tokens to adjust where there are some;
kernels write NON_FINITE and the picks.
"""

MAX_ROWS = 512  # tokens of a run, and outputs of a run
MAX_ADJUSTED = 1024  # tokens with a penalty or a bias
MAX_PICKS = 256  # of a row
ALL_PICKS = 2048  # of all rows, one after the other
MAX_STOPS = 64
MAX_DRAW_ROWS = 32  # of a run, for which tokens are drawn
MAX_DRAW_RUNS = 8  # that follow each other without the host
MAX_DRAW_WORDS = 8  # of a row

ROWS = 0  # tokens of this run
OUTPUTS = 1  # rows whose logits are wanted
NON_FINITE = 2  # set to 1 where a logit is NaN or infinite
LOADED = 3  # nobody reads it: see step_ahead.glslh
ARRIVALS = 4  # of groups at a grid barrier
GAVE_UP = 5  # set to 1 where a group did not come
SAMPLE_COUNT = 6  # logits listed to draw from, since the run began
N_STOPS = 7  # tokens that end the run
SHARPNESS = 8  # log2(e) / temperature; this and the next up to SEED are Sampler.words()
TOP_K = 9
TOP_P = 10
MIN_P = 11
SEED = 12  # two words, the lower first
DECODED = 14  # tokens picked in this dispatch
TOKENS = 16  # token id of each row
POSITIONS = TOKENS + MAX_ROWS  # position of each row
OUTPUT_ROWS = POSITIONS + MAX_ROWS  # row of each output
TABLES = OUTPUT_ROWS + MAX_ROWS  # of each row's sequence: a quad of the cache
STOP_IDS = TABLES + MAX_ROWS
DRAWN = STOP_IDS + MAX_STOPS  # tokens that were drawn for rows, run by run
DRAWS = (
    DRAWN + MAX_DRAW_ROWS * MAX_DRAW_RUNS
)  # how each row draws: MAX_DRAW_WORDS of it, as Draw.words()
ADJUSTED = DRAWS + MAX_DRAW_ROWS * MAX_DRAW_WORDS  # tokens to adjust
ADJUSTED_IDS = ADJUSTED + 1  # each at most once
REPEATS = ADJUSTED_IDS + MAX_ADJUSTED  # what divides the logit of each
LOSSES = REPEATS + MAX_ADJUSTED  # what it then loses
PICK_IDS = LOSSES + MAX_ADJUSTED  # best first
PICK_VALUES = PICK_IDS + ALL_PICKS  # the bits of their logits
STATE_WORDS = PICK_VALUES + ALL_PICKS

NONE = 0xFFFFFFFF  # in place of an offset: there is no such operand
