"""Turn text into token ids and back; decoded text comes out as soon as it is complete."""

from __future__ import annotations

from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream

from grader.demos.gpt2.problems import Gpt2Error


class Words:
    """A GPT-2's tokenizer."""

    def __init__(self, file: Path, vocabulary: int) -> None:
        if not file.is_file():
            raise Gpt2Error(f"there is no {file.name} in {file.parent}: get it, with the weights")
        try:
            self.tokenizer = Tokenizer.from_file(str(file))
        except Exception as error:  # the library has no type of its own for it
            raise Gpt2Error(f"{file} is not a tokenizer: get it again") from error
        self.vocabulary = vocabulary

    def ids(self, text: str) -> list[int]:
        """Return the text's tokens. Raise Gpt2Error for a token without an embedding."""
        found: list[int] = self.tokenizer.encode(text).ids
        if any(number >= self.vocabulary for number in found):
            raise Gpt2Error(
                f"the tokenizer makes ids that the model's {self.vocabulary:,} embeddings have not:"
                " tokenizer and weights must belong together"
            )
        return found

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
