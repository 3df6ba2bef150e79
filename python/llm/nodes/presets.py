"""Ways to draw an answer, by name: how each differs from the defaults of `LLMSampling`."""

CUSTOM = "custom"  # what the values are called when they are nobody's

PRESETS: dict[str, dict[str, float]] = {
    "greedy": {"temperature": 0.0},
    "precise": {"temperature": 0.3, "top_p": 0.9, "min_p": 0.1},
    "balanced": {},
    "creative": {"temperature": 1.1, "top_k": 64, "top_p": 0.98, "min_p": 0.03},
    "wild": {
        "temperature": 1.5,
        "top_k": 64,
        "top_p": 1.0,
        "min_p": 0.02,
        "xtc_probability": 0.5,
    },
}
