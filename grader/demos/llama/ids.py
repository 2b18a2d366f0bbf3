"""Use token ids as words, for a model without a tokenizer."""

from __future__ import annotations

from grader.demos.gpt2.problems import Gpt2Error

SOME = tuple(range(1, 9))


class Ids:
    """A tokenizer's substitute: a text is its ids, separated by spaces."""

    def __init__(self, vocabulary: int) -> None:
        self.vocabulary = vocabulary

    def ids(self, text: str) -> list[int]:
        """Return the ids that the text lists. Raise Gpt2Error for anything else."""
        words = text.split()
        if not all(word.isdecimal() and word.isascii() for word in words):
            raise Gpt2Error(
                "these weights come without a tokenizer.json: list token ids in --prompt, "
                "as in --prompt '1 2 3'"
            )
        found = [int(word) for word in words]
        if any(number >= self.vocabulary for number in found):
            raise Gpt2Error(
                f"the prompt has the id {max(found)}, but the model has {self.vocabulary:,} "
                f"embeddings: ids go up to {self.vocabulary - 1}"
            )
        return found

    def streaming(self) -> Ids:
        """Return a stream that turns one sequence's ids into words; it needs no state."""
        return self

    def text(self, token: int) -> str:
        """Return the id, after a space."""
        return f" {token}"

    def sample(self) -> list[int]:
        """Return a text for comparisons."""
        return [7 * position % self.vocabulary for position in range(32)]
