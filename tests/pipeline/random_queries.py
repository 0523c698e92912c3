"""Random queries over `messages` that name it up to four times, each time with a filter of its own.

A query is one text that Spark and DuckDB both understand.  It may have `views`, names of filtered tables, and
`frames`: the same query as a union or join of filtered frames.
"""

from typing import NamedTuple

from sandbox.kernel.chance import Chance

TOPICS = ("orders", "payments", "returns")
MOST_REFERENCES = 4
KEYS = ("topic", "queueId", "queueOffset")
AGGREGATES = "count(*) AS n, min(queueOffset) AS low, max(queueOffset) AS high, sum(queueId) AS total"


class Query(NamedTuple):
    """A query.  `text` names the views; `frames`: `union` or `join` and the filters of its tables, or None."""

    text: str
    views: dict[str, str]
    frames: tuple[str, list[str]] | None


def query_of(seed: int) -> Query:
    chance = Chance(f"query {seed}")
    shape = chance.choice((_union, _union, _join, _join, _scalars, _nested, _except))
    query = shape(chance, 2 + chance.below(MOST_REFERENCES - 1))
    return query if query.frames is not None or chance.below(2) else _with_views(chance, query)


def condition(chance: Chance, depth: int = 0) -> str:
    """Return a filter: of topics and queues mostly, because those narrow what the source reads."""
    kind = chance.below(9 if depth < 2 else 7)
    offset, queue_id = chance.below(60), chance.below(4)
    if kind < 3:
        chosen = sorted({chance.choice((*TOPICS, "nothing")) for _ in range(1 + chance.below(3))})
        return f"topic IN ({', '.join(map(repr, chosen))})" if kind else f"topic = '{chosen[0]}'"
    if kind < 5:
        return f"queueId = {queue_id}" if kind == 3 else f"queueId IN ({queue_id}, {chance.below(5)})"
    if kind == 5:
        return f"queueOffset {chance.choice(('<', '>=', '<>'))} {offset}"
    if kind == 6:
        return chance.choice(
            (f"topic <> '{chance.choice(TOPICS)}'", f"keys LIKE '%{chance.below(10)}'", "tags IS NULL")
        )
    joined = chance.choice((" AND ", " AND ", " OR ")).join(condition(chance, depth + 1) for _ in range(2))
    return f"NOT ({joined})" if chance.below(5) == 0 else f"({joined})"


def _filters(chance: Chance, count: int) -> list[str]:
    """Return filters, one of them sometimes without effect."""
    return ["queueId >= 0" if chance.below(6) == 0 else condition(chance) for _ in range(count)]


def _union(chance: Chance, count: int) -> Query:
    filters = _filters(chance, count)
    tables = " UNION ALL ".join(f"SELECT topic, queueId, queueOffset FROM messages WHERE {each}" for each in filters)
    return Query(f"SELECT topic, {AGGREGATES} FROM ({tables}) t GROUP BY topic", {}, ("union", filters))


def _join(chance: Chance, count: int) -> Query:
    filters = _filters(chance, count)
    tables = [f"(SELECT {', '.join(KEYS)} FROM messages WHERE {each}) t{no}" for no, each in enumerate(filters)]
    joins = " ".join(f"JOIN {table} USING ({', '.join(KEYS)})" for table in tables[1:])
    return Query(f"SELECT topic, {AGGREGATES} FROM {tables[0]} {joins} GROUP BY topic", {}, ("join", filters))


def _scalars(chance: Chance, count: int) -> Query:
    values = [
        f"(SELECT {chance.choice(('count(*)', 'max(queueOffset)', 'min(topic)'))} FROM messages WHERE {each}) AS c{no}"
        for no, each in enumerate(_filters(chance, count))
    ]
    return Query(f"SELECT {', '.join(values)}", {}, None)


def _nested(chance: Chance, count: int) -> Query:
    inner = "SELECT max(queueOffset) FROM messages"
    for each in _filters(chance, count - 2):
        inner = f"SELECT min(queueOffset) FROM messages WHERE {each} AND queueOffset <= ({inner})"
    outer, listed = _filters(chance, 2)
    column = chance.choice(("IN", "NOT IN"))
    return Query(
        f"SELECT topic, {AGGREGATES} FROM messages WHERE {outer} AND queueOffset {column} "
        f"(SELECT queueOffset FROM messages WHERE {listed} AND queueOffset >= ({inner})) GROUP BY topic",
        {},
        None,
    )


def _except(chance: Chance, count: int) -> Query:
    """Return a query of set operations, which in SQL are computed from the left."""
    text = ""
    for number, each in enumerate(_filters(chance, count)):
        table = f"SELECT topic, queueId, queueOffset FROM messages WHERE {each}"
        text = table if not number else f"SELECT * FROM ({text}) t {chance.choice(('EXCEPT', 'INTERSECT'))} {table}"
    return Query(f"SELECT topic, {AGGREGATES} FROM ({text}) u GROUP BY topic", {}, None)


def _with_views(chance: Chance, query: Query) -> Query:
    """Return the query with a view in the place of its first reference to the table."""
    return query._replace(text=query.text.replace("FROM messages", "FROM part", 1), views={"part": condition(chance)})


def by_duckdb(query: Query) -> str:
    """Return the text for DuckDB, where views are a WITH."""
    views = ", ".join(f"{name} AS (SELECT * FROM messages WHERE {each})" for name, each in query.views.items())
    return f"WITH {views} {query.text}" if views else query.text
