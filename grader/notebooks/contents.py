"""Serve notebooks to JupyterLab with the details of this Python, as `lab` starts it.

JupyterLab writes these details into each notebook that it opens, and then marks it as unsaved
although nobody has changed it. If they are there already, it does not.
"""

from typing import Any

from ipykernel.ipkernel import IPythonKernel
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager


class Contents(AsyncLargeFileManager):
    """The notebooks; on disk they stay as they are until they are saved."""

    async def get(self, path: str, content: bool = True, *how: Any, **more: Any) -> dict[str, Any]:
        """Return a file or a folder; with a notebook, the details that its kernel would add."""
        kept = super().get(path, content, *how, **more)  # type: ignore[no-untyped-call]
        model: dict[str, Any] = await kept
        if content and model["type"] == "notebook":
            model["content"]["metadata"]["language_info"] = IPythonKernel.language_info
        return model
