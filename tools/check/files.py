"""The project's files: what git tracks, or would."""

import subprocess

from setup.paths import ROOT
from setup.report import SetupError


def tracked(*suffixes: str) -> list[str]:
    """Paths relative to the project, of any suffix where none is named; ignored files are not."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others"]
    try:
        listed = subprocess.run(
            [*command, "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise SetupError(f"git does not list the project's files: {error}") from None
    names = sorted(set(filter(None, listed.split("\0"))))
    wanted = [name for name in names if not suffixes or name.endswith(suffixes)]
    return [name for name in wanted if (ROOT / name).is_file()]
