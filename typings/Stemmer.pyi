# What PyStemmer gives, as far as it is used; the package has no types of its own.

class Stemmer:
    def __init__(self, algorithm: str, maxCacheSize: int = 10000) -> None: ...  # noqa: N803
    def stemWord(self, word: str) -> str: ...  # noqa: N802
    def stemWords(self, words: list[str]) -> list[str]: ...  # noqa: N802

def algorithms() -> list[str]: ...
