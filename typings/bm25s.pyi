# What bm25s gives, as far as the bench uses it; the package has no types of its own.

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

class BM25:
    def __init__(self, *, k1: float, b: float) -> None: ...
    def index(self, corpus: Sequence[Sequence[str]], *, show_progress: bool) -> None: ...
    def retrieve(
        self, query_tokens: Sequence[Sequence[str]], *, k: int, show_progress: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]: ...
