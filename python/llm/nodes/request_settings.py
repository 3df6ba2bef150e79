"""The part of the LLM node that says how it treats requests: what comes before them, and when."""

from godot import ENUM, MULTILINE_TEXT, RANGE, export


class RequestSettings:
    system_prompt = export(
        str,
        default="",
        hint=MULTILINE_TEXT,
        doc="Tells the model who it is, ahead of every conversation. It is no part of the history; "
        "a history that begins with a message of role system replaces it.",
    )
    context_policy = export(
        str,
        default="truncate",
        hint=ENUM,
        hint_string="truncate,error,stop",
        doc="What happens where a conversation no longer fits [member context_length]: its oldest "
        "turns are left out, the system prompt stays (truncate, see [signal history_truncated]); "
        "the request ends with reason error, or with reason length (stop). A raw prompt that does "
        "not fit is an error, or stops.",
    )
    busy_policy = export(
        str,
        default="reject",
        hint=ENUM,
        hint_string="reject,queue,replace",
        doc="What happens to a request that comes while another runs: it ends at once with reason "
        "error (reject), waits until that one has ended (queue), or stops that one (replace).",
    )
    allow_thinking = export(
        bool,
        default=True,
        doc="Whether a model that reasons does so before it answers, see "
        "[signal reasoning_updated]. Without it, it answers at once.",
    )
    priority = export(
        int,
        default=0,
        hint=RANGE,
        hint_string="-10,10,1,or_less,or_greater",
        doc="Where several nodes wait for their prompts to be read, the one with the highest "
        "priority comes first; who waits for long comes all the same. Once they answer, they do so "
        "side by side.",
    )
    gpu_ms_per_frame = export(
        float,
        default=0.0,
        hint=RANGE,
        hint_string="0,16,0.1,or_greater",
        doc="How many milliseconds of the GPU's time answers may take in each frame, so that the "
        "game keeps its frame rate; 0 is no limit. Where several nodes answer, the lowest that is "
        "set counts for all. A token that takes longer than that is paid by the frames after it.",
    )
