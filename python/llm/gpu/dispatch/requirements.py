"""What kernels ask of a model's weights."""

from llm.errors import UnsupportedModelError
from llm.files.model_file import ModelFile
from llm.files.repack import check_packable
from llm.gpu.dispatch.launches import PART_WEIGHTS
from llm.gpu.operations import Embed, ExpertMatMul, MatMul
from llm.gpu.program import Program


def check_weights(program: Program, file: ModelFile) -> None:
    """UnsupportedModelError where kernels cannot read a weight."""
    for weight in program.weights:
        check_packable(file.path, weight.name, weight.format)
    for op in program.record(1, 1).operations:
        if isinstance(op, MatMul | ExpertMatMul | Embed) and op.weight.columns % PART_WEIGHTS:
            field = f"length of the rows of tensor {op.weight.name}"
            supported = [f"multiples of {PART_WEIGHTS} on a GPU", "any on executor 'reference'"]
            raise UnsupportedModelError(file.path, field, op.weight.columns, supported)
