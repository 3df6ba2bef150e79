"""How an answer is drawn, as a resource that nodes share and scenes save."""

from typing import Any

import godot
from godot import ENUM, RANGE, PackedStringArray, Resource, export, exposed
from llm.nodes.presets import CUSTOM, PRESETS


@exposed(tool=True)  # so that a preset is applied in the inspector, too
class LLMSampling(Resource):
    """How an answer is drawn, token by token; put it into [member LLM.sampling].

    One resource may serve many nodes, and be saved as a file of its own. A change counts from the
    next request on.

    A model gives each token a logit. Penalties and [member logit_bias] change logits; then tokens
    that are too unlikely are left out; [member temperature] makes what is left more even, or less;
    and one is drawn. [method apply_preset] and [member preset] set the values to ones that go well
    together.
    """

    preset = export(
        str,
        default="balanced",
        hint=ENUM,
        hint_string=",".join((CUSTOM, *PRESETS)),
        doc="The preset whose values these are, or [code]custom[/code]. Setting it is "
        "[method apply_preset], or brings back the values that no preset had set. It is not saved: "
        "the values are.",
    )
    temperature = export(
        float,
        default=0.8,
        hint=RANGE,
        hint_string="0,2,0.01,or_greater",
        doc="Higher is more surprising; 0 always takes the likeliest token.",
    )
    seed = export(
        int,
        default=-1,
        doc="From 0 up, the same seed gives the same text to the same conversation, exactly so "
        "after [method LLM.reset_context]; -1 is a new one each time.",
    )
    logit_bias = export(
        dict[Any, float],
        doc="What is added to the logits of single tokens, by their text or id: "
        '[code]{"yes": 5.0, 106: -100.0}[/code]. With -100 a token never comes.',
    )
    top_k = export(
        int,
        default=40,
        hint=RANGE,
        hint_string="0,256,1,or_greater",
        doc="Draw from the k likeliest tokens only; 0 is off.",
        group="Cutoffs",
    )
    top_p = export(
        float,
        default=0.95,
        hint=RANGE,
        hint_string="0,1,0.01",
        doc="Draw from the fewest tokens that together have this probability; 1 is off.",
        group="Cutoffs",
    )
    min_p = export(
        float,
        default=0.05,
        hint=RANGE,
        hint_string="0,1,0.01",
        doc="Draw from tokens at least this fraction as likely as the likeliest; 0 is off.",
        group="Cutoffs",
    )
    typical_p = export(
        float,
        default=1.0,
        hint=RANGE,
        hint_string="0,1,0.01",
        doc="Draw from the tokens whose surprise is nearest to what is to be expected, the fewest "
        "that together have this probability; 1 is off.",
        group="Cutoffs",
    )
    top_n_sigma = export(
        float,
        default=0.0,
        hint=RANGE,
        hint_string="0,5,0.01,or_greater",
        doc="Draw from tokens whose logit is at most so many standard deviations below the "
        "greatest; 0 is off.",
        group="Cutoffs",
    )
    xtc_probability = export(
        float,
        default=0.0,
        hint=RANGE,
        hint_string="0,1,0.01",
        doc="How often the likeliest choices are left out, for a less obvious text: of all tokens "
        "at least as likely as [member xtc_threshold], only the least likely stays; 0 is off.",
        group="Exclude Top Choices",
    )
    xtc_threshold = export(
        float,
        default=0.1,
        hint=RANGE,
        hint_string="0,0.5,0.01",
        doc="From which probability on a token counts as a top choice; above 0.5 there are never "
        "two.",
        group="Exclude Top Choices",
    )
    dynamic_temperature_range = export(
        float,
        default=0.0,
        hint=RANGE,
        hint_string="0,2,0.01,or_greater",
        doc="How far the temperature goes below [member temperature] where the model is sure, and "
        "above it where it is not; 0 is off.",
        group="Dynamic Temperature",
    )
    dynamic_temperature_exponent = export(
        float,
        default=1.0,
        hint=RANGE,
        hint_string="0.1,4,0.01,or_greater",
        doc="Above 1, the temperature stays low until the model is quite unsure.",
        group="Dynamic Temperature",
    )
    mirostat = export(
        bool,
        doc="Whether the cutoff follows the text, so that tokens surprise by "
        "[member mirostat_tau] on average (mirostat 2). It takes the place of the other cutoffs.",
        group="Mirostat",
    )
    mirostat_tau = export(
        float,
        default=5.0,
        hint=RANGE,
        hint_string="0,10,0.01,or_greater",
        doc="The surprise of a token that is aimed at, in bits.",
        group="Mirostat",
    )
    mirostat_eta = export(
        float,
        default=0.1,
        hint=RANGE,
        hint_string="0,1,0.001",
        doc="How quickly the cutoff follows.",
        group="Mirostat",
    )
    repeat_penalty = export(
        float,
        default=1.0,
        hint=RANGE,
        hint_string="0.5,2,0.01,or_greater",
        doc="Above 1, tokens among the latest [member penalty_window] become less likely; 1 is "
        "off.",
        group="Penalties",
    )
    presence_penalty = export(
        float,
        default=0.0,
        hint=RANGE,
        hint_string="-2,2,0.01,or_less,or_greater",
        doc="Taken from the logit of each token that is among the latest "
        "[member penalty_window]; 0 is off.",
        group="Penalties",
    )
    frequency_penalty = export(
        float,
        default=0.0,
        hint=RANGE,
        hint_string="-2,2,0.01,or_less,or_greater",
        doc="Taken from the logit of each token, once for each time it is among the latest "
        "[member penalty_window]; 0 is off.",
        group="Penalties",
    )
    penalty_window = export(
        int,
        default=64,
        hint=RANGE,
        hint_string="0,512,1",
        doc="How many of the latest tokens the penalties look at.",
        group="Penalties",
    )
    dry_multiplier = export(
        float,
        default=0.0,
        hint=RANGE,
        hint_string="0,5,0.01,or_greater",
        doc='How strongly repetition is avoided (DRY, "don\'t repeat yourself"): where the latest '
        "tokens have stood in the text before, what followed them there has this much, times "
        "[member dry_base] to the power of how much longer than [member dry_allowed_length] the "
        "repetition is, taken from its logit; 0 is off.",
        group="DRY",
    )
    dry_base = export(
        float,
        default=1.75,
        hint=RANGE,
        hint_string="1,4,0.01,or_greater",
        doc="How quickly the penalty grows with the length of a repetition.",
        group="DRY",
    )
    dry_allowed_length = export(
        int,
        default=2,
        hint=RANGE,
        hint_string="1,20,1,or_greater",
        doc="Up to how many tokens may be repeated freely.",
        group="DRY",
    )
    dry_window = export(
        int,
        default=1024,
        hint=RANGE,
        hint_string="0,8192,1,or_greater",
        doc="How many of the latest tokens are searched for repetitions; 0 is all of the context.",
        group="DRY",
    )
    dry_breakers = export(
        PackedStringArray,
        default=PackedStringArray(["\n", ":", '"', "*"]),
        doc="Texts that no repetition goes across, such as what stands between speakers.",
        group="DRY",
    )

    def __init__(self) -> None:
        self._own: dict[str, Any] = {}  # what no preset had set, so that the editor can undo one

    def _find_preset(self) -> str:
        values = self._values()
        for name in PRESETS:
            if all(values[key] == value for key, value in preset_values(name).items()):
                return name
        return CUSTOM

    def _choose_preset(self, name: str) -> None:
        if name == CUSTOM:
            self._take(self._own)
        else:
            self.apply_preset(name)

    preset.getter(_find_preset)
    preset.setter(_choose_preset)

    def apply_preset(self, name: str) -> None:
        """Sets all values to those of a preset: [code]greedy[/code] always takes the likeliest
        token, [code]precise[/code] keeps to the point, [code]balanced[/code] is the default,
        [code]creative[/code] and [code]wild[/code] are more and more surprising. [member seed],
        [member logit_bias] and [member dry_breakers] stay as they are."""
        if name not in PRESETS:
            known = ", ".join(PRESETS)
            godot.log_error(f"LLMSampling: there is no preset '{name}'; there are {known}")
            return
        if self.preset == CUSTOM:
            self._own = self._values()
        self._take(preset_values(name))

    def _take(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            setattr(self, name, value)
        self.notify_property_list_changed()

    def _values(self) -> dict[str, Any]:
        """All but the preset, by the names that they have here."""
        return {name: getattr(self, name) for name in _SAVED}


_SAVED: dict[str, export] = {
    name: value
    for name, value in vars(LLMSampling).items()
    if isinstance(value, export) and value.is_saved
}
_LEFT_ALONE = ("seed", "logit_bias", "dry_breakers")


def preset_values(name: str) -> dict[str, Any]:
    """What a preset sets: all that it does not leave alone."""
    defaults = {name: value.default for name, value in _SAVED.items() if name not in _LEFT_ALONE}
    return {**defaults, **PRESETS[name]}
