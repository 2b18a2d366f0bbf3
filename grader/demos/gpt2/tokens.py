"""Turn text into token ids and back; decoded text comes out as soon as it is complete."""

import itertools
from collections.abc import Callable
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from tokenizers.decoders import DecodeStream

from grader.demos.training.weights import TOKENIZER
from grader.report.problem import Problem

PROMPT = "A model that writes reads from left to right. At every place it asks"
END = "<|endoftext|>"
COMMON = "etaoinshrdlucmfw"  # letters
VOCABULARY = 512


def read_tokenizer(folder: Path, vocabulary: int) -> "Words":
    """Return the tokenizer in the folder of a model with so many embeddings."""
    file = folder / TOKENIZER
    if not file.is_file():
        raise Problem(f"there is no {file.name} in {file.parent}: get it, with the weights")
    try:
        return Words(Tokenizer.from_file(str(file)), vocabulary)
    except Exception as error:  # the library has no type of its own for it
        raise Problem(f"{file} is not a tokenizer: get it again") from error


def make_tokenizer() -> tuple[Tokenizer, int]:
    """Return a tokenizer of bytes and pairs of letters, and the id that ends a text."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    pairs = list(itertools.product(COMMON, COMMON))[: VOCABULARY - len(letters) - 1]
    tokens = [END, *letters, *map("".join, pairs)]
    numbers = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(numbers, pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([END])
    return tokenizer, numbers[END]


class Words:
    """A model's tokenizer."""

    def __init__(self, tokenizer: Tokenizer, vocabulary: int) -> None:
        self.tokenizer, self.vocabulary = tokenizer, vocabulary

    def begin(self) -> str:
        """Return a text to continue: a single token, if the model was taught no such words."""
        try:
            if self.blank is None and self.ids(PROMPT):
                return PROMPT
        except Problem:
            pass
        return next(filter(str.isalpha, self.all()), self.all()[0])

    def ids(self, text: str) -> list[int]:
        """Return the text's tokens. Raise Problem for a token without an embedding."""
        try:
            found: list[int] = self.tokenizer.encode(text).ids
        except Exception as error:  # the library has no type of its own for it
            raise Problem(
                "the prompt has a character that the model was never taught: leave it out"
            ) from error
        if any(number >= self.vocabulary for number in found):
            raise Problem(
                f"the tokenizer makes ids that the model's {self.vocabulary:,} embeddings have not:"
                " tokenizer and weights must belong together"
            )
        return found

    @property
    def blank(self) -> str | None:
        """Return the token that stands for a word that the model does not know, if there is one."""
        token = getattr(self.tokenizer.model, "unk_token", None)
        return token if token and self.tokenizer.token_to_id(token) is not None else None

    def unknown(self, text: str) -> list[str]:
        """Return the words of the text that the model does not know, each once."""
        if self.blank is None:
            return []
        read = self.tokenizer.encode(text)
        found = [text[slice(*place)] for place in read.offsets]
        pairs = zip(found, read.tokens, strict=True)
        return list(dict.fromkeys(w for w, token in pairs if token == self.blank != w))

    def all(self) -> list[str]:
        """Return every token of the vocabulary, in order."""
        return sorted(self.tokenizer.get_vocab())

    def streaming(self) -> Callable[[int], str]:
        """Return a function that turns the ids of one sequence into text, one by one.

        A character can be spread over several tokens: then it comes with the last of them.
        """
        stream = DecodeStream(skip_special_tokens=True)

        def add(token: int) -> str:
            if self.tokenizer.id_to_token(token) is None:
                return f"<{token}>"  # an embedding that the tokenizer has no word for
            return stream.step(self.tokenizer, token) or ""

        return add
