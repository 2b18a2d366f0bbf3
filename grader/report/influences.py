"""Explain a map of influence: each of its cells, and the whole map in words."""

from grader.report.records import Influence

VERDICTS = {
    "leak": ": it must not",
    "may": ": it may",
    "missing": ": it should",
    "unknown": ": one of the two is not a number",
    "none": "",
}


def is_allowed(influence: Influence, output: int, source: int) -> bool:
    """Return whether this output may depend on that input."""
    if influence.allowed:
        return influence.allowed[output][source]
    past = len(influence.moved[output]) - len(influence.moved)
    return source <= output + past


def kind(influence: Influence, output: int, source: int) -> str:
    """Return the kind of a cell: `leak`, `may`, `missing`, `unknown` or `none`."""
    moved, may = influence.moved[output][source], is_allowed(influence, output, source)
    if moved is None:
        return "unknown"
    if moved:
        return "may" if may else "leak"
    return "missing" if may and influence.all_matter else "none"


def of_kind(influence: Influence, *kinds: str) -> list[tuple[int, int]]:
    """Return the cells of these kinds, row by row."""
    return [
        (i, j)
        for i, row in enumerate(influence.moved)
        for j in range(len(row))
        if kind(influence, i, j) in kinds
    ]


def worth_drawing(influence: Influence) -> bool:
    """Return whether the picture shows more than that values are wrong.

    Suppose that every output may depend on its own input alone. Then an output that does not move
    is just a wrong value, and only a leak is new.
    """
    size = len(influence.moved)
    alone = {len(row) for row in influence.moved} <= {size} and all(
        is_allowed(influence, i, j) == (i == j) for i in range(size) for j in range(size)
    )
    return bool(of_kind(influence, "leak") or (not alone and of_kind(influence, "missing")))


def movement(influence: Influence, output: int, source: int, *, amounts: bool = True) -> str:
    """Return the movement of one cell in words, as the beginning of a sentence."""
    moved = influence.moved[output][source]
    changed = f"when only {influence.input} {source} changed"
    if moved is None:
        return f"{influence.output} {output} cannot be compared {changed}"
    did = ("moved" + f" by {moved:.3g}" * amounts) if moved else "did not move"
    return f"{influence.output} {output} {did} {changed}"


def count_words(count: int, word: str) -> str:
    """Format a text such as `1 row`, `2 rows`."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def findings(influence: Influence, *, amounts: bool = True) -> list[str]:
    """Return the faults of the map in words: the first pair of each kind, and how many others.

    amounts: also say by how much. Without it, the words hold no number except positions.
    """
    if not any(map(any, influence.moved)) and of_kind(influence, "missing"):
        return [f"Nothing moved, whichever {influence.input} changed."]
    sentences = []
    for which in ("leak", "missing"):
        if pairs := of_kind(influence, which):
            first = movement(influence, *pairs[0], amounts=amounts) + VERDICTS[which]
            more = f" The same holds for {count_words(len(pairs) - 1, 'more pair')}."
            sentences.append(f"{first[:1].upper()}{first[1:]}.{more * (len(pairs) > 1)}")
    return sentences
