"""A package index on this machine that knows wheels by their metadata alone: torch's own index, a flat listing, and a release page.

    /whl/LABEL/PACKAGE/      torch's index for a CUDA label, with the libraries torch asks for
    /backend/LABEL/PACKAGE/  the same as far as an installer told of a torch backend takes packages from there
    /flat/LABEL/             all wheels of a label on one page
    /github/…/vllm-….whl     the project's release page

Which builds of torch and of vLLM exist is taken from `raw_facts.json`, not from the facts that plans are made of: what a plan asks for
and nobody published is not found here either.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import threading
import zipfile
from collections.abc import Iterator
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from packaging.version import Version

from envcheck.matrix.load import Matrix

RAW: dict[str, Any] = json.loads((Path(__file__).parents[2] / "truth" / "raw_facts.json").read_text(encoding="utf-8"))
BY_VERSION = {release["version"]: release for release in RAW["releases"]}
PYTHONS = ("38", "39", "310", "311", "312", "313", "314")
OF_TORCH = ("torch", "torchvision", "torchaudio")
# What torch asks for besides CUDA's libraries; the index has them too.
BESIDE = ("filelock", "fsspec", "jinja2", "markupsafe", "mpmath", "networkx", "numpy", "pillow", "setuptools", "sympy", "triton")
TYPING = "typing-extensions"
NEWER_TAG = {"x86_64": "2.7", "aarch64": "2.6"}  # the first torch that asks for glibc 2.28
# Built by the pipeline and never put on the release page (vllm-project/vllm #9021, #10319, #37847).
NOT_PUBLISHED = {("0.6.2", "cu118"), ("0.6.3", "cu118"), ("0.6.3.post1", "cu118")} | {
    (version, "cu126") for version in ("0.10.1", "0.10.1.1", "0.10.2", "0.11.0")
}


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def cuda_libraries(label: str) -> dict[str, str]:
    """The runtime at the label's own release and libraries with versions of their own; before CUDA 13 the major is in every name."""
    major, minor = label[2:-1], label[-1]
    runtime = "nvidia-cuda-runtime" if int(major) >= 13 else f"nvidia-cuda-runtime-cu{major}"
    return {runtime: f"=={major}.{minor}.*", f"nvidia-nccl-cu{major}": "", f"nvidia-cudnn-cu{major}": ""}


def wheel(name: str, version: str, requires: list[str]) -> bytes:
    """A wheel with nothing in it but its metadata."""
    folder = f"{name.replace('-', '_')}-{version}.dist-info"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {line}" for line in requires)]
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr(f"{folder}/METADATA", "\n".join(lines) + "\n")
        archive.writestr(f"{folder}/WHEEL", "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: false\nTag: py3-none-any\n")
        archive.writestr(f"{folder}/RECORD", "")
    return held.getvalue()


class Shelf:
    """The wheels: what each is called, and what it asks for."""

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = matrix
        self.companions = self._companions()

    def _companions(self) -> dict[str, dict[str, str]]:
        """Of each torch the torchvision and torchaudio that vLLM's releases name beside it."""
        found: dict[str, dict[str, str]] = {}
        for release in self.matrix.releases:
            pins = {name: text[2:] for name, text in release.record.requires.items() if name in OF_TORCH and text.startswith("==")}
            if "torch" in pins:
                found.setdefault(pins["torch"], {}).update(pins)
        return found

    @cache  # noqa: B019 (one shelf a run)
    def wheels(self, label: str, package: str) -> dict[str, tuple[str, str, tuple[str, ...]]]:
        """File name → name, version and requirements of the wheels of a package."""
        found = {}
        for torch in RAW["torch"]:
            for arch in ("x86_64", "aarch64"):
                if label not in {word.split()[0] for word in torch["offered"][arch]}:
                    continue
                version, requires = self._of_torch(package, torch["version"], label)
                for python in PYTHONS if version else ():
                    newer = Version(torch["version"]) >= Version(NEWER_TAG[arch])
                    tag = "manylinux_2_28" if newer else "manylinux_2_17"
                    name = f"{package}-{version}+{label}-cp{python}-cp{python}-{tag}_{arch}.whl"
                    found[name] = (package, f"{version}+{label}", tuple(requires))
        if package in self._others(label):
            version = self._others(label)[package]
            found[f"{package.replace('-', '_')}-{version}-py3-none-any.whl"] = (package, version, ())
        return found

    def _of_torch(self, package: str, torch: str, label: str) -> tuple[str, list[str]]:
        if package == "torch":
            return torch, [*(f"{name}{bound}" for name, bound in cuda_libraries(label).items()), "triton", TYPING, "sympy", "jinja2"]
        if package == "torchaudio" and torch in self.companions:
            # An audio package is built with the torch of its own number, and names none.
            return (torch, []) if Version(torch) <= Version("2.11") else ("", [])
        version = self.companions.get(torch, {}).get(package, "") if package in OF_TORCH else ""
        return version, [f"torch=={torch}", "numpy", "pillow"]

    def _others(self, label: str) -> dict[str, str]:
        major, minor = label[2:-1], label[-1]
        runtime = dict.fromkeys(cuda_libraries(label), f"{major}.{minor}.9")
        return {**dict.fromkeys(BESIDE, "9.0"), TYPING: "4.15.0", **runtime}

    def released(self, file: str) -> tuple[str, str, tuple[str, ...]] | None:
        """The wheel of a file name on the release page; None where nobody published one."""
        match = re.fullmatch(r"vllm-([\d.]+(?:post\d+)?)\+(cu\d+)-\w+-\w+-manylinux\w*?_(x86_64|aarch64)\.whl", file)
        release = BY_VERSION.get(match[1]) if match else None
        record = self.matrix.release(match[1]) if match else None
        if match is None or release is None or record is None or (match[1], match[2]) in NOT_PUBLISHED:
            return None
        built = release.get("pipeline", {}).get(match[3])
        if built is not None and f"+{match[2]}" not in {one["wheel_suffix"] for one in built}:
            return None
        return "vllm", f"{match[1]}+{match[2]}", tuple(f"{name}{bound}" for name, bound in record.record.requires.items())


class Loopback:
    """The index while it serves: `url` is its root, `missed` what was asked for and is not there."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.missed: list[str] = []
        self.url = ""

    def body(self, path: str) -> tuple[str, bytes] | None:
        """Content type and bytes of a path."""
        parts = unquote(path).strip("/").split("/")
        if parts[0] == "github":
            held = self.shelf.released(parts[-1])
            return ("application/octet-stream", wheel(*held[:2], list(held[2]))) if held else None
        if parts[0] == "files" and len(parts) == 4:
            return self._file(*parts[1:])
        if len(parts) == 3 and (parts[0] == "whl" or (parts[0] == "backend" and parts[2] in OF_TORCH)):
            return self._page(parts[1], (normalized(parts[2]),))
        return self._page(parts[1], OF_TORCH) if parts[0] == "flat" and len(parts) == 2 else None

    def _file(self, label: str, package: str, file: str) -> tuple[str, bytes] | None:
        held = self.shelf.wheels(label, package).get(file.removesuffix(".metadata"))
        if held is None:
            return None
        content = wheel(held[0], held[1], list(held[2]))
        if not file.endswith(".metadata"):
            return "application/octet-stream", content
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return "text/plain", archive.read(archive.namelist()[0])

    def _page(self, label: str, packages: tuple[str, ...]) -> tuple[str, bytes] | None:
        links = []
        for package in packages:
            for file in self.shelf.wheels(label, package):
                place = f"/files/{label}/{package}/{file}"
                digest = hashlib.sha256((self._file(label, package, f"{file}.metadata") or ("", b""))[1]).hexdigest()
                links.append(f'<a href="{place.replace("+", "%2B")}" data-core-metadata="sha256={digest}">{file}</a>')
        return ("text/html", ("<!DOCTYPE html><html><body>" + "\n".join(links) + "</body></html>").encode()) if links else None


@pytest.fixture(scope="session")
def loopback(matrix: Matrix) -> Iterator[Loopback]:
    """The index, served on the loopback interface."""
    index = Loopback(Shelf(matrix))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            found = index.body(self.path)
            if found is None:
                index.missed.append(unquote(self.path))
            kind, content = found or ("text/plain", b"not here")
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        do_HEAD = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    index.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield index
    server.shutdown()
    thread.join()
    server.server_close()
