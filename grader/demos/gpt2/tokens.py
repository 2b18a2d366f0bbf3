"""Turn text into token ids and back; decoded text comes out as soon as it is complete."""

from __future__ import annotations

from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from tokenizers.decoders import DecodeStream

from grader.demos.gpt2.problems import Gpt2Error
from grader.demos.training.weights import TOKENIZER

PROMPT = "A model that writes reads from left to right. At every place it asks"
COMPARED = 32  # tokens of the sequence for comparisons
END = "<|endoftext|>"
TEXT = """\
A model that writes reads from left to right. At every place it asks what has come before, and
never what comes after. The words that came before have keys; the word that asks has a query; what
is carried over are the values. A query that fits a key well gets more of its value.
The mask hides the future. Without the mask the model would look at the answer, and learn nothing.
With the mask every place is an exercise of its own, and one pass over a text is as many exercises
as the text has words. That is why training is fast, and why writing is slow: one word at a time.
The cache keeps what was worked out before. Keys and values of old words do not change when a new
word comes, because no old word may look at a new one. So a new word costs one query, and not all
of the text again.
Several heads ask several questions. Several layers ask about what the layers below have found.
Between the layers every place is worked on by itself. At the end the word is compared with all
words there are, and the best ones are likely to come next. Then it is written down, and read.
"""
VOCABULARY = 512


def read_tokenizer(folder: Path, vocabulary: int) -> Words:
    """Return the tokenizer in the folder of a model with so many embeddings."""
    file = folder / TOKENIZER
    if not file.is_file():
        raise Gpt2Error(f"there is no {file.name} in {file.parent}: get it, with the weights")
    try:
        return Words(Tokenizer.from_file(str(file)), vocabulary)
    except Exception as error:  # the library has no type of its own for it
        raise Gpt2Error(f"{file} is not a tokenizer: get it again") from error


def make_tokenizer() -> tuple[Tokenizer, int]:
    """Train a small byte-level BPE like GPT-2's, and return it with the id that ends a text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([TEXT], trainer)
    return tokenizer, tokenizer.token_to_id(END) or 0


class Words:
    """A model's tokenizer."""

    def __init__(self, tokenizer: Tokenizer, vocabulary: int) -> None:
        self.tokenizer, self.vocabulary = tokenizer, vocabulary

    def begin(self) -> str:
        """Return a text to continue: a single token, if the model was taught no such words."""
        try:
            if self.blank is None and self.ids(PROMPT):
                return PROMPT
        except Gpt2Error:
            pass
        return next(filter(str.isalpha, self.all()), self.all()[0])

    def ids(self, text: str) -> list[int]:
        """Return the text's tokens. Raise Gpt2Error for a token without an embedding."""
        try:
            found: list[int] = self.tokenizer.encode(text).ids
        except Exception as error:  # the library has no type of its own for it
            raise Gpt2Error(
                "the prompt has a character that the model was never taught: leave it out"
            ) from error
        if any(number >= self.vocabulary for number in found):
            raise Gpt2Error(
                f"the tokenizer makes ids that the model's {self.vocabulary:,} embeddings have not:"
                " tokenizer and weights must belong together"
            )
        return found

    def sample(self) -> list[int]:
        """Return a sequence for comparisons."""
        return [7 * position % self.vocabulary for position in range(COMPARED)]

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
