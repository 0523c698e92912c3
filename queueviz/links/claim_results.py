"""Types of the result of a claim's test, as `simulation.try_claim` prints it."""

from typing import TypedDict


class DoneAct(TypedDict):
    """One action of a run."""

    at_ms: int
    action: str
    fields: dict[str, object]


class Counterexample(TypedDict):
    """The shortest run that contradicts the claim, so far.

    `drawn`: its number of actions before they were removed.  `recipe`: text of its reproducible link, if it has one.
    """

    seed: str
    until_ms: int
    acts: list[DoneAct]
    cases: int
    sentence: str | None
    values: dict[str, str]
    drawn: int
    recipe: str | None


class ClaimResult(TypedDict):
    """The result of a test, as `simulation.try_claim` prints it: at its end, and after each run.

    `tried`: seed and number of cases of the runs so far.
    """

    claim: str
    seeds: int
    tried: list[tuple[int, int]]
    held: int
    broken: int
    looked_at: int
    counterexample: Counterexample | None
    distribution: dict[str, float]
    took_s: float
    workers: int
    virtual_s: int
