"""Products of the experts that a token uses: two steps, of which the first chooses them."""

from dataclasses import dataclass

from llm.gpu.operations import Choice, ExpertMatMul, Route, Scoring


@dataclass(frozen=True, slots=True)
class Experts:
    """Whose matrices a product has; see step_experts.glslh."""

    choice: Choice
    rows: int  # of the matrix of one expert
    width: int  # of the input that is its own; 0 where all have the same
    route: Route | None = None  # how they are chosen; None: by the step before

    @classmethod
    def of(cls, op: ExpertMatMul, route: Route | None = None) -> "Experts":
        width = 0 if op.inputs.rows == op.x.rows else op.weight.columns
        return cls(op.choice, op.height, width, route)

    @property
    def height(self) -> int:
        """Rows of a step: of all used experts, or, where inputs are their own, of their sum."""
        return self.rows if self.width else self.choice.used * self.rows

    def matrices(self, format: str) -> str:
        """What the kernel has to know of them, see step_expert_rows.glslh."""
        return f"{format}:{self.width}:{self.rows}"

    @property
    def call(self) -> str:
        """GLSL by which a group knows the experts."""
        if self.route is None:
            return "take_experts();"
        flags = (self.route.scoring is Scoring.SIGMOID, self.route.normalised)
        is_sigmoid, is_normalised = (str(flag).lower() for flag in flags)
        return f"choose_experts({is_sigmoid}, {is_normalised});"
