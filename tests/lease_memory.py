"""A table of leases in memory, by a clock that is given: for simulations, and to compare the database's with."""

import threading
from collections import Counter
from collections.abc import Callable
from itertools import count

from sandbox.hosting.lease import LEASE_S, Figures, Held, HeldElsewhere, LeaseLost, Listed


class Engine:
    def __init__(self, name: str, host: str) -> None:
        self.name = name
        self.host = host
        self.is_draining = False
        self.expires_s = 0.0
        self.figures = Figures()


class Place:
    def __init__(self, fence: int, engine: str, *, is_clean: bool) -> None:
        self.fence = fence
        self.engine = engine  # empty: it was given back
        self.is_clean = is_clean


class LeasesInMemory:
    def __init__(self, now_s: Callable[[], float], *, lease_s: float = LEASE_S) -> None:
        self._now_s = now_s
        self._lease_s = lease_s
        self._engines: dict[str, Engine] = {}
        self._places: dict[str, Place] = {}
        self._fences = count(1)
        self._lock = threading.Lock()

    def enlist(self, engine: str, name: str, host: str) -> None:
        with self._lock:
            if engine in self._engines:
                raise LeaseLost(f"there was an engine {engine} before")
            for other in [key for key, one in self._engines.items() if one.name == name and not self._is_good(key)]:
                del self._engines[other]
            self._engines[engine] = made = Engine(name, host)
            made.expires_s = self._now_s() + self._lease_s

    def renew(self, engine: str, figures: Figures) -> bool:
        with self._lock:
            self._see(engine)
            mine = self._engines[engine]
            mine.expires_s, mine.figures = self._now_s() + self._lease_s, figures
            return mine.is_draining

    def retire(self, engine: str) -> None:
        with self._lock:
            if self._is_good(engine):
                for place in self._places.values():
                    if place.engine == engine:
                        place.engine = ""
            self._engines.pop(engine, None)

    def claim(self, slug: str, engine: str) -> Held:
        with self._lock:
            self._see(engine)
            place = self._places.get(slug)
            if place is None or place.engine != engine:
                if place is not None and place.engine:
                    if self._is_good(place.engine):
                        raise HeldElsewhere(slug, place.engine)
                    self._take_from(place.engine)
                is_clean = place is None or (not place.engine and place.is_clean)
                place = self._places[slug] = Place(next(self._fences), engine, is_clean=is_clean)
            return Held(slug, place.fence, place.is_clean)

    def give_back(self, slug: str, engine: str, *, is_clean: bool = True) -> None:
        with self._lock:
            place = self._places.get(slug)
            if place is not None and place.engine == engine:
                place.engine, place.is_clean = "", is_clean

    def forget(self, slug: str, engine: str) -> None:
        with self._lock:
            place = self._places.get(slug)
            if place is not None and place.engine == engine:
                del self._places[slug]

    def drain(self, name: str) -> None:
        with self._lock:
            for engine in self._engines.values():
                engine.is_draining |= engine.name == name

    def engines(self) -> list[Listed]:
        with self._lock:
            counts = Counter(place.engine for place in self._places.values())
            listed = [
                Listed(
                    key, one.name, one.host, one.is_draining, one.expires_s - self._now_s(), counts[key], one.figures
                )
                for key, one in self._engines.items()
            ]
            return sorted(listed, key=lambda one: (one.name, one.engine))

    def places(self) -> dict[str, str]:
        with self._lock:
            return {slug: place.engine for slug, place in self._places.items() if self._is_good(place.engine)}

    def _take_from(self, engine: str) -> None:
        """A clock that is set back does not make its lease good again."""
        self._engines.pop(engine, None)

    def _see(self, engine: str) -> None:
        if not self._is_good(engine):
            raise LeaseLost(f"the lease of the engine {engine} has run out")

    def _is_good(self, engine: str) -> bool:
        return engine in self._engines and self._engines[engine].expires_s > self._now_s()
