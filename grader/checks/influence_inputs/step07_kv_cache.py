"""The cache: a token sees all tokens before it, in any division into chunks."""

from grader.checks.influence_inputs.step05_output import OFFERS, change_tokens
from grader.checks.laws.chunks import InChunks
from grader.checks.laws.influence import Moves, past
from grader.checks.student import Student
from grader.steps.inputs import Draw

CHUNKS = (2, 1, 2)
T = sum(CHUNKS)
_TOKENS, _OFFERED = change_tokens(Draw("maps", "cache", decimals=2), T)

MAPS = {
    "attend_with_cache": [
        Moves(
            _TOKENS,
            past(T),
            offers=_OFFERED,
            how=f"The text came in chunks of {', '.join(map(str, CHUNKS))} tokens. {OFFERS}",
        )
    ],
}


def _in_chunks(student: Student) -> InChunks:
    return InChunks(student.attend_with_cache, student.new_cache, CHUNKS, "masked_self_attention")


CALLS = {"attend_with_cache": _in_chunks}
