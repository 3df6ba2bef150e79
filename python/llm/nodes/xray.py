"""The part of the LLM node that shows how the model works while it runs."""

from dataclasses import asdict
from typing import Any

from godot import (
    PackedByteArray,
    PackedFloat32Array,
    PackedInt32Array,
    PackedStringArray,
    export,
    signal,
)
from llm.generate.xray import (
    AttentionXray,
    Choice,
    LayersXray,
    PageMap,
    PromptXray,
    TokenXray,
    Xray,
)
from llm.nodes.conversing import Conversing


class XRay(Conversing):
    xray = export(
        bool,
        default=False,
        doc="Whether [signal xrayed] tells how each token comes about. It counts from the next "
        "request on. While it is off nothing of it is computed; while it is on, tokens are made "
        "one at a time and all of the vocabulary's logits are read, which takes longer. A seed "
        "gives the same text, unless the answer has a form to keep to.",
        group="Insight",
    )

    xrayed = signal(
        kind=str,
        xray=dict,
        doc="A look inside, where [member xray] is on, or one was asked for.\n"
        "[code]prompt[/code]: what the model reads, with id (of the request), tokens (a "
        "PackedInt32Array) and texts.\n"
        "[code]token[/code]: the next token was chosen, perhaps one that ends the answer. With id, "
        "token, text and position (its number in prompt and answer together, from 0); stages, a "
        "Dictionary with name, left and entropy for each sampler that is on, in their order, after "
        "one named model: how many tokens may still come, and how open the choice is, in bits; "
        "candidates, the token and then the likeliest others, each with token, text and "
        "probabilities, one for each stage; and pages: cells (tokens in the key/value cache), "
        "page_cells (tokens of a page), own (the numbers of this conversation's pages) and users "
        "(of each page of the model, how many conversations have it).\n"
        "[code]attention[/code]: see [method xray_attention]. With position, layer, and heads, a "
        "PackedFloat32Array for each: how much it looked at each token up to that position.\n"
        "[code]layers[/code]: see [method xray_layers]. With position, and parts: the embedding, "
        "each layer, and the head. Each with name, layer (-1 where it is none), seconds (for a "
        "token), weight_bytes, cell_bytes (of the key/value cache, a token), state_bytes (of "
        "recurrent state, a conversation), heads (0 where there is no attention) and window (how "
        "many tokens these see; 0: all).\n"
        "The last two have error, too: empty, or why there is nothing else.",
    )

    def xray_attention(self, position: int, layer: int) -> None:
        """Asks what the heads of a layer looked at when the token at [param position] had been
        read, and the next one was to be chosen. [signal xrayed] tells, also while an answer is
        being made. It is computed anew, up to that layer. An error where that token is not in the
        key/value cache: the latest one comes there only when it is read, to choose the next."""
        self._conversing().tell_attention(position, layer)

    def xray_layers(self) -> None:
        """Asks how long each layer takes for a token, and how much memory. [signal xrayed] tells.
        Each is repeated for some time to be measured, and answers wait meanwhile."""
        self._conversing().tell_layers()

    def _tell_xray(self, event: Xray) -> None:
        match event:
            case PromptXray(id, tokens, texts):
                told = {"tokens": PackedInt32Array(tokens), "texts": PackedStringArray(texts)}
                self.xrayed.emit("prompt", {"id": id, **told})
            case TokenXray(id, position, choice, pages):
                where = {"id": id, "position": position, "pages": _pages(pages)}
                self.xrayed.emit("token", {**where, **_choice(choice)})
            case AttentionXray(position, layer, shares, error):
                heads = [] if shares is None else [PackedFloat32Array(head) for head in shares]
                place = {"position": position, "layer": layer}
                self._tell_look("attention", {**place, "heads": heads, "error": error})
            case LayersXray(position, parts, error):
                costs = [{**asdict(part), "layer": _number(part.layer)} for part in parts]
                self._tell_look("layers", {"position": position, "parts": costs, "error": error})

    def _tell_look(self, kind: str, xray: dict[str, Any]) -> None:
        if xray["error"]:
            self._note_error(xray["error"])
        self.xrayed.emit(kind, xray)


def _number(layer: int | None) -> int:
    return -1 if layer is None else layer


def _choice(choice: Choice) -> dict[str, Any]:
    candidates = [
        {
            "token": each.token,
            "text": each.text,
            "probabilities": PackedFloat32Array(each.probabilities),
        }
        for each in choice.candidates
    ]
    stages = [asdict(stage) for stage in choice.stages]
    text = choice.candidates[0].text
    return {"token": choice.token, "text": text, "stages": stages, "candidates": candidates}


def _pages(pages: PageMap) -> dict[str, Any]:
    return {
        "cells": pages.cells,
        "page_cells": pages.page_cells,
        "own": PackedInt32Array(pages.own),
        "users": PackedByteArray(pages.users),
    }
