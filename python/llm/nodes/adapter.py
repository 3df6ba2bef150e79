"""A LoRA adapter of a model, as a resource that nodes share and scenes save."""

from godot import FILE, RANGE, Resource, export, exposed


@exposed
class LLMAdapter(Resource):
    """A LoRA adapter: a small file that changes how a model speaks. See [member LLM.adapters].

    One resource may serve many nodes. A change counts from the next request on.
    """

    path = export(
        str,
        default="",
        hint=FILE,
        hint_string="*.gguf",
        doc="A GGUF file, made for the model that [member LLM.model_path] names; a res://, user:// "
        "or absolute path.",
    )
    weight = export(
        float,
        default=1.0,
        hint=RANGE,
        hint_string="-2,2,0.01,or_less,or_greater",
        doc="How much it counts: 1 as it was trained, 0 not at all. It need not be loaded again "
        "for another one, but what was computed of the conversation is computed anew.",
    )
