"""The part of the LLM node that says what an answer is like: its length, its form, its draw."""

import json
from typing import Any

import godot
from godot import (
    MULTILINE_TEXT,
    PROPERTY_HINT_TYPE_STRING,
    RANGE,
    PackedStringArray,
    export,
)
from llm.errors import RequestError
from llm.generate.request import AdapterUse, SamplingParams
from llm.nodes.adapter import LLMAdapter
from llm.nodes.model_places import locate
from llm.nodes.sampling import LLMSampling
from llm.text.answer_format import GBNF, REGEX, AnswerFormat
from llm.text.json_values import held

OBJECT, RESOURCE = 24, 17  # TYPE_OBJECT, PROPERTY_HINT_RESOURCE_TYPE


class AnswerSettings:
    max_tokens = export(
        int,
        default=512,
        hint=RANGE,
        hint_string="0,8192,1,or_greater",
        doc="The most tokens of one answer; 0 is as many as the context holds.",
    )
    adapters = export(
        list[LLMAdapter],
        hint=PROPERTY_HINT_TYPE_STRING,
        hint_string=f"{OBJECT}/{RESOURCE}:LLMAdapter",
        doc="LoRA adapters of this node's answers, each an [LLMAdapter]; their changes add up. "
        "Nodes of one file share its model whatever adapters each has. Another array counts from "
        "the next request on; one that was read is a copy, so assign it after a change. With "
        "adapters a model is slower: it runs an operation at a time.",
    )
    sampling = export(
        LLMSampling,
        doc="How an answer is drawn, in all detail. Where it is set, this node's own values from "
        "[member temperature] to [member seed] count for nothing.",
    )
    temperature = export(
        float,
        default=0.8,
        hint=RANGE,
        hint_string="0,2,0.01,or_greater",
        doc="Higher is more surprising; 0 always takes the likeliest token.",
    )
    top_k = export(
        int,
        default=40,
        hint=RANGE,
        hint_string="0,256,1,or_greater",
        doc="Draw from the k likeliest tokens only; 0 is off.",
    )
    top_p = export(
        float,
        default=0.95,
        hint=RANGE,
        hint_string="0,1,0.01",
        doc="Draw from the fewest tokens that together have this probability; 1 is off.",
    )
    min_p = export(
        float,
        default=0.05,
        hint=RANGE,
        hint_string="0,1,0.01",
        doc="Draw from tokens at least this fraction as likely as the likeliest; 0 is off.",
    )
    repeat_penalty = export(
        float,
        default=1.0,
        hint=RANGE,
        hint_string="0.5,2,0.01,or_greater",
        doc="Above 1, tokens among the latest 64 become less likely; 1 is off.",
    )
    presence_penalty = export(
        float,
        default=0.0,
        hint=RANGE,
        hint_string="-2,2,0.01,or_less,or_greater",
        doc="Taken from the logit of each token that is among the latest 64; 0 is off.",
    )
    frequency_penalty = export(
        float,
        default=0.0,
        hint=RANGE,
        hint_string="-2,2,0.01,or_less,or_greater",
        doc="Taken from the logit of each token, once for each time it is among the latest 64; "
        "0 is off.",
    )
    seed = export(
        int,
        default=-1,
        doc="From 0 up, the same seed gives the same text to the same conversation, exactly so "
        "after [method reset_context]; -1 is a new one each time.",
    )
    stop_words = export(
        PackedStringArray,
        doc="Texts that end an answer where they come up. They are no part of it.",
    )
    json_schema = export(
        Any,
        doc="Every answer is JSON that keeps to this schema: a Dictionary, or JSON text; see "
        "[method parse_json]. Only one of [member json_schema], [member grammar], [member regex] "
        "and [member choices] may be set. Where a schema has what cannot be kept to, the request "
        "fails and says so.",
        group="Format",
    )
    grammar = export(
        str,
        default="",
        hint=MULTILINE_TEXT,
        doc="Every answer keeps to this grammar, in GBNF, as llama.cpp has it: "
        '[code]root ::= "yes" | "no"[/code].',
        group="Format",
    )
    regex = export(
        str,
        default="",
        doc="The whole of every answer matches this regular expression.",
        group="Format",
    )
    choices = export(
        PackedStringArray,
        doc="Every answer is one of these texts.",
        group="Format",
    )
    n_probs = export(
        int,
        default=0,
        hint=RANGE,
        hint_string="0,100,1",
        doc="How many of the likeliest tokens [method get_token_probabilities] tells of at each "
        "place. Above 0 tokens take longer.",
        group="Insight",
    )

    @staticmethod
    def parse_json(text: str) -> Any:
        """The value of a JSON text, such as an answer; null where it is none. Unlike
        [method JSON.parse_string] it leaves whole numbers ints."""
        try:
            return held(json.loads(text))
        except (ValueError, RecursionError) as problem:
            godot.log_error(f"LLM.parse_json: {problem}")
            return None

    def _adapter_uses(self) -> tuple[AdapterUse, ...]:
        """Places that are still empty in the inspector count for nothing. RequestError."""
        uses = []
        for place, adapter in enumerate(self.adapters):
            if adapter is None:
                continue
            if not isinstance(adapter, LLMAdapter):
                found = type(adapter).__name__
                raise RequestError(f"adapters[{place}] is a {found}; it must be an LLMAdapter")
            path = adapter.path and locate(adapter.path)
            uses.append(AdapterUse(path, adapter.weight))
        return tuple(uses)

    def _sampling_params(self) -> SamplingParams:
        if self.sampling is None:
            return SamplingParams(
                temperature=self.temperature,
                top_k=self.top_k,
                top_p=self.top_p,
                min_p=self.min_p,
                repeat_penalty=self.repeat_penalty,
                presence_penalty=self.presence_penalty,
                frequency_penalty=self.frequency_penalty,
                seed=self.seed,
            )
        values = self.sampling._values()
        values["dry_breakers"] = tuple(values["dry_breakers"])
        values["logit_bias"] = tuple(
            (key if isinstance(key, int) else str(key), float(bias))
            for key, bias in values["logit_bias"].items()
        )
        return SamplingParams(**values)

    def _format(self) -> AnswerFormat | None:
        """RequestError where more than one is set, or it is wrong."""
        texts = tuple(self.choices)
        given = {
            "json_schema": self.json_schema not in (None, "", {}),
            "grammar": bool(self.grammar),
            "regex": bool(self.regex),
            "choices": bool(texts),
        }
        names = [name for name, is_set in given.items() if is_set]
        if not names:
            return None
        if len(names) > 1:
            raise RequestError(f"{' and '.join(names)} are set; an answer can have one form only")
        if given["json_schema"]:
            return AnswerFormat.json_schema(self.json_schema)
        if given["choices"]:
            return AnswerFormat.choices(texts)
        return AnswerFormat(GBNF, self.grammar) if self.grammar else AnswerFormat(REGEX, self.regex)
