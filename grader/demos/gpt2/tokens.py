"""Turn text into token ids and back; decoded text comes out as soon as it is complete."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream

from grader.demos.gpt2.problems import Gpt2Error
from grader.demos.gpt2.tiny import TEXT

PROMPT = "A model that writes reads from left to right. At every place it asks"
BEGINS = "the "
COMPARED = 32  # symbols of a text for comparisons


class Stream(Protocol):
    """Turns ids into text one by one."""

    def text(self, token: int, /) -> str:
        """Return the text that this token completes."""


class TokenReader(Protocol):
    """Turns a text into ids, and ids into text."""

    def begin(self) -> str:
        """Return a text to continue."""

    def ids(self, text: str, /) -> list[int]:
        """Return the tokens of a text."""

    def sample(self) -> Sequence[int]:
        """Return a text for comparisons."""

    def streaming(self) -> Stream:
        """Return a stream that turns one sequence's ids into words."""


class Words:
    """A model's tokenizer."""

    def __init__(self, file: Path, vocabulary: int) -> None:
        if not file.is_file():
            raise Gpt2Error(f"there is no {file.name} in {file.parent}: get it, with the weights")
        try:
            self.tokenizer = Tokenizer.from_file(str(file))
        except Exception as error:  # the library has no type of its own for it
            raise Gpt2Error(f"{file} is not a tokenizer: get it again") from error
        self.vocabulary = vocabulary

    def begin(self) -> str:
        """Return a text to continue."""
        return PROMPT

    def ids(self, text: str) -> list[int]:
        """Return the text's tokens. Raise Gpt2Error for a token without an embedding."""
        found: list[int] = self.tokenizer.encode(text).ids
        if any(number >= self.vocabulary for number in found):
            raise Gpt2Error(
                f"the tokenizer makes ids that the model's {self.vocabulary:,} embeddings have not:"
                " tokenizer and weights must belong together"
            )
        return found

    def sample(self) -> list[int]:
        """Return a text for comparisons."""
        return self.ids(TEXT)

    @property
    def blank(self) -> str | None:
        """Return the token that stands for a word that the model does not know, if there is one."""
        return getattr(self.tokenizer.model, "unk_token", None)

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

    def streaming(self) -> Streaming:
        """Return a stream that turns one sequence's ids into text."""
        return Streaming(self.tokenizer)


class Streaming:
    """Turns ids into text one by one; a character can be spread over several tokens."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.stream = DecodeStream(skip_special_tokens=True)

    def text(self, token: int) -> str:
        """Return the text that this token completes, or "" if it completes none."""
        if self.tokenizer.id_to_token(token) is None:
            return f"<{token}>"  # an embedding that the tokenizer has no word for
        piece: str | None = self.stream.step(self.tokenizer, token)
        return piece or ""


class Symbols:
    """Tokens that need no tokenizer, and no state between them: each has a text of its own."""

    def __init__(self, vocabulary: int) -> None:
        self.vocabulary = vocabulary

    def sample(self) -> list[int]:
        """Return a text for comparisons."""
        return [7 * position % self.vocabulary for position in range(COMPARED)]


class Characters(Symbols):
    """Tokens that are the characters of the training text."""

    def __init__(self, characters: str) -> None:
        super().__init__(len(characters))
        self.characters = characters

    def begin(self) -> str:
        """Return a text to continue."""
        return BEGINS if set(BEGINS) <= set(self.characters) else self.characters[0]

    def ids(self, text: str) -> list[int]:
        """Return the ids of the characters. Raise Gpt2Error for a character that was not learnt."""
        for character in text:
            if character not in self.characters:
                raise Gpt2Error(
                    f"the text that was learnt has no {character!r}: leave it out of the prompt"
                )
        return [self.characters.index(character) for character in text]

    def streaming(self) -> Characters:
        """Return itself."""
        return self

    def text(self, token: int) -> str:
        """Return the character."""
        return self.characters[token]


class Ids(Symbols):
    """Tokens of a model without a tokenizer: a text is its ids, separated by spaces."""

    def begin(self) -> str:
        """Return a text to continue."""
        return "1 2 3 4 5 6 7 8"

    def ids(self, text: str) -> list[int]:
        """Return the ids that the text lists. Raise Gpt2Error for anything else."""
        words = text.split()
        if not all(word.isdecimal() and word.isascii() and len(word) < 10 for word in words):
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
        """Return itself."""
        return self

    def text(self, token: int) -> str:
        """Return the id, after a space."""
        return f" {token}"
