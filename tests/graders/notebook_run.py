"""Execution of an example notebook by Jupyter, with the tests' Python and its packages as the kernel.

As a program, `python -m tests.graders.notebook_run docs/examples/flights.ipynb` executes the notebook, saves it with
its outputs, and saves its picture in docs/images.
"""

import base64
import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tests.graders.environment import HOME, make, run
from tests.server.server import ROOT

KERNEL = "queueviz-tests"


class Outputs(NamedTuple):
    """The outputs of a notebook's cells: printed texts by the cell's id, and all pictures."""

    texts: dict[str, str]
    pictures: list[bytes]


def executed(programs: Path, notebook: Path, directory: Path) -> Path:
    """Execute a notebook from top to bottom and return the copy with outputs, in `directory`.

    Its temporary files are in `directory` too.
    """
    kernels = directory / "jupyter" / "kernels" / KERNEL
    kernels.mkdir(parents=True)
    (kernels / "kernel.json").write_text(json.dumps(kernel(directory)))
    environment = {"JUPYTER_PATH": str(directory / "jupyter"), "IPYTHONDIR": str(directory / "ipython")}
    command = ("jupyter", "nbconvert", "--to", "notebook", "--execute", f"--ExecutePreprocessor.kernel_name={KERNEL}")
    run(programs, directory, *command, "--output-dir", str(directory), str(notebook), environment=environment)
    return directory / notebook.name


def kernel(directory: Path) -> dict[str, Any]:
    """Return the description of a kernel.

    Its packages are those of the tests; only those of Jupyter itself come from its environment, after them.
    """
    [packages] = (HOME / "lib").glob("python3*/site-packages")
    program = f"import sys; sys.path.append({str(packages)!r}); from ipykernel.kernelapp import launch_new_instance"
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        "argv": [sys.executable, "-c", f"{program}; launch_new_instance()", "-f", "{connection_file}"],
        "display_name": KERNEL,
        "language": "python",
        "env": {"PYTHONPATH": os.pathsep.join(paths), "TMPDIR": str(directory)},
    }


def outputs_of(notebook: Path) -> Outputs:
    texts: dict[str, str] = {}
    pictures: list[bytes] = []
    for cell in json.loads(notebook.read_text("utf-8"))["cells"]:
        for output in cell.get("outputs", ()):
            if output["output_type"] == "stream" and output["name"] == "stdout":
                texts[cell["id"]] = texts.get(cell["id"], "") + "".join(output["text"])
            if (picture := output.get("data", {}).get("image/png")) is not None:
                pictures.append(base64.b64decode("".join(picture)))
    return Outputs(texts, pictures)


def save(played: Path, notebook: Path) -> None:
    """Copy the outputs of an executed notebook into the original, without standard error and times."""
    original = json.loads(notebook.read_text("utf-8"))
    cells = {cell["id"]: cell for cell in json.loads(played.read_text("utf-8"))["cells"]}
    for cell in original["cells"]:
        if cell["cell_type"] == "code":
            outputs = cells[cell["id"]]["outputs"]
            cell["outputs"] = [output for output in outputs if output.get("name") != "stderr"]
            cell["execution_count"] = cells[cell["id"]]["execution_count"]
    notebook.write_text(json.dumps(original, indent=1, ensure_ascii=False) + "\n", "utf-8")


def main(notebook: Path) -> None:
    with TemporaryDirectory() as directory:
        save(executed(make(), notebook, Path(directory)), notebook)
    [picture] = outputs_of(notebook).pictures
    (ROOT / "docs" / "images" / f"{notebook.stem}.png").write_bytes(picture)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
