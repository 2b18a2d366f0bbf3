"""Group the differences between two records of the same programs."""

from collections import defaultdict

KINDS = ("verdicts", "points", "causes", "sentences")
NONE = (None, 0.0, "", "", "", "")  # the record of a check that was not run


class Differences:
    """The differences, by kind, place, and what was before and is after."""

    def __init__(self):
        self.groups = defaultdict(list)

    def compare(self, program, suite, before, after):
        """Note how two records of a program differ; a record may be None."""
        who = f"{program.corpus} {program.name}"
        before, after = (one or {"points": None, "steps": {}} for one in (before, after))
        self._note("points", suite, "", before["points"], after["points"], who)
        for step in {**before["steps"], **after["steps"]}:
            old, new = (record["steps"].get(step, {}) for record in (before, after))
            self._compare_step(suite, step, old, new, who)

    def _compare_step(self, suite, step, before, after, who):
        for name, kind in (("status", "verdicts"), ("own", "verdicts"), ("message", "sentences")):
            self._note(kind, suite, f"{step} {name}", before.get(name), after.get(name), who)
        old, new = before.get("checks", {}), after.get("checks", {})
        for check in {**old, **new}:
            one, two = (checks.get(check, NONE) for checks in (old, new))
            self._note("verdicts", suite, check, one[0], two[0], who)
            self._note("causes", suite, check, one[2], two[2], who)
            self._note("sentences", suite, check, _lines(one[3:]), _lines(two[3:]), who)

    def _note(self, kind, suite, place, before, after, who):
        """Note a difference: sentences with their place, all else with what it was and is."""
        if before != after:
            change = ("", "") if kind == "sentences" else (str(before), str(after))
            self.groups[(kind, suite, place, *change)].append((who, before, after))

    def lines(self, most):
        """Return a count of each kind, and its largest groups with one example each."""
        for kind in KINDS:
            groups = self._groups(kind)
            programs = {who for found, _ in groups for who, *_ in found}
            yield f"\n{kind}: {len(programs)} programs differ, in {len(groups)} groups"
            for found, ((_, suite, place, before, after), *others) in groups[:most]:
                who, old, new = found[0]
                change = f": {before or '-'} => {after or '-'}" if kind != "sentences" else ""
                alike = f" (and {len(others)} places more)" if others else ""
                yield f"  {len(found):4}  {suite} {place}{change}{alike}   e.g. {who}"
                if kind == "sentences":
                    yield from (f"        - {line}" for line in (old or "").splitlines()[:6])
                    yield from (f"        + {line}" for line in (new or "").splitlines()[:6])
            if len(groups) > most:
                yield f"  and {len(groups) - most} groups more; MOST={len(groups)} lists them"

    def _groups(self, kind):
        """Return the differences of a kind, each with the places where the same programs differ."""
        alike = defaultdict(list)
        for key, found in self.groups.items():
            if key[0] == kind:
                change = () if kind == "sentences" else key[3:]
                alike[(frozenset(who for who, *_ in found), *change)].append(key)
        groups = [(self.groups[min(keys)], sorted(keys)) for keys in alike.values()]
        return sorted(groups, key=lambda group: (-len(group[0]), group[1]))


def _lines(texts):
    return "\n".join(text for text in texts if text)
