"""In which format a model file of some quantisation holds each tensor, as llama.cpp makes them."""

from collections.abc import Collection

from gguf import GGMLQuantizationType as Type

from llm.files.repack import PLANES

FLOATS = (Type.F32, Type.F16, Type.BF16)
# What converters leave in float32, and what is left in floats when a file is quantised.
ALWAYS_F32 = (
    *("ffn_gate_inp", "position_embd", "token_types", "ssm_conv1d", "shortconv.conv"),
    *("altup_correct_coef", "altup_predict_coef"),
)
ALWAYS_FLOATS = ("altup", "laurel", "per_layer_model_proj")

FORMATS = tuple(PLANES)
MIXES = ("Q4_K_M", "MXFP4_MOE")  # names of llama.cpp's quantisations


def stored_as(column: str, name: str, tensors: Collection[str]) -> Type | None:
    """Of a matrix, in a file of a format or of a mix; None where it stays as it is, in float32."""
    if not name.endswith(".weight") or any(part in name for part in ALWAYS_F32):
        return None
    if column == "Q4_K_M":
        kind = _q4_k_m(name, tensors)
    elif column == "MXFP4_MOE":
        kind = Type.MXFP4 if "_exps." in name else Type.Q8_0
    else:
        kind = Type[column.upper()]
    if kind not in FLOATS and any(part in name for part in ALWAYS_FLOATS):
        return Type.F16
    return kind


def _q4_k_m(name: str, tensors: Collection[str]) -> Type:
    """More bits for what counts most: the head, and of some layers two matrices."""
    if name == ("output.weight" if "output.weight" in tensors else "token_embd.weight"):
        return Type.Q6_K
    if "attn_qkv" in name:
        return Type.Q5_K
    if "attn_v" in name or "ffn_down" in name:
        layers = 1 + max(int(other.split(".")[1]) for other in tensors if other.startswith("blk."))
        layer, eighth = int(name.split(".")[1]), layers // 8
        has_more = layer < eighth or layer >= 7 * layers // 8 or (layer - eighth) % 3 == 2
        return Type.Q6_K if has_more else Type.Q4_K
    return Type.Q4_K
