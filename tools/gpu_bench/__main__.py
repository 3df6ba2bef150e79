"""`python3 tools/gpu_bench`, from any folder."""

import sys
from pathlib import Path

_tools = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_tools), str(_tools.parent / "python")]

from gpu_bench.main import main  # noqa: E402

sys.exit(main(sys.argv[1:]))
