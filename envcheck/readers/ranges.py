"""The headers of weight files on a hub, by requests for their first bytes; the tensors stay where they are."""

from __future__ import annotations

from collections.abc import Sequence

from envcheck.errors import EnvcheckError
from envcheck.model.modelspec import StoredWeights
from envcheck.readers.remote_file import Repository
from envcheck.readers.safetensors import LENGTH_BYTES, file_tensors, header_length
from envcheck.readers.tensors import Tensor, stored_weights

MOST_FILES = 64  # more files than this are not worth the requests: the index tells their sum
_FIRST = 128 << 10  # bytes; holds most files' whole header
_AT_ONCE = 8
_KEPT_S = 30 * 86_400  # a copy of a header is asked for anew after this long


def remote_weights(repository: Repository, files: Sequence[str], state: str) -> StoredWeights | None:
    """What the headers of all files say; None where there are too many, or one could not be had, for a part is no size.

    `state` = a digest of the index and the configuration: a header kept from earlier holds only while they are the same.
    """
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - only for models on a hub

    if not 0 < len(files) <= MOST_FILES:
        return None
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = list(pool.map(lambda file: remote_header(repository, file, state), files))
    known = [tensors for tensors in found if tensors is not None]
    return stored_weights(known) if len(known) == len(found) else None


def remote_header(repository: Repository, file: str, state: str) -> list[Tensor] | None:
    """The tensors of one file: its copy kept from earlier, else one request, or two where the header is long."""
    key = repository.key(file, state)
    kept = repository.store.get(key)
    tensors = file_tensors(kept.body) if kept and kept.age_s < _KEPT_S else None
    if tensors is not None:
        return tensors
    try:
        first = repository.fetch(file, _FIRST, _FIRST).body
        length = header_length(first)
        if length is None:
            return None
        whole = length + LENGTH_BYTES
        body = first if whole <= len(first) else repository.fetch(file, whole, whole).body
    except EnvcheckError:
        return None
    tensors = file_tensors(body)
    if tensors is not None:
        repository.store.put(key, body[:whole])
    return tensors
