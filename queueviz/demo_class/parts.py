"""Behaviours of simulated students: one is stuck, asks, is idle, is done, is cut off; the others work."""

import itertools
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from queueviz.demo_class.page_hands import Pace, PageHands
from queueviz.demo_class.page_socket import PageSocket
from queueviz.operations.remote_pages import RemotePages
from queueviz.operations.remote_sandbox import RemoteRefused
from sandbox.kernel.chance import Chance
from sandbox.labs.lab import Lab

COMES_EVERY_S = 1.0  # one student after the other
AFTER_TROUBLE_S = (4.0, 8.0)
ASKS_AGAIN_S = 120.0
CUT_AFTER_S = 10.0
SAYS_AGAIN_S = (25.0, 45.0)  # interval of the stuck student's repeated answers
MISTAKES_AT_ONCE = 3
ERRS = 0.35  # the share of labs that are begun with a usual mistake
IN_ORDER = ("works", "is stuck", "asks", "is idle", "is done", "is cut off")
"""The first students; all others work."""

QUESTIONS = (
    "Why does this member get no queue?",
    "Is it a mistake that the lag grows?",
    "What is the difference between committed and done?",
    "Do I have to wait here?",
)


class Over(Exception):
    """The exception that ends a student's thread once the class is over."""


class Place(NamedTuple):
    """A simulated student.

    `part`: its behaviour, of `IN_ORDER` or `works`; `chance`: random numbers for pace and choices.
    """

    name: str
    part: str
    chance: Chance


def cast(names: list[str], seed: str) -> list[Place]:
    """Return the students with their behaviours.

    The same seed gives the same behaviours, paces and mistakes; the server draws the labs' numbers.
    """
    chance = Chance(seed)
    order = list(names)
    chance.shuffle(order)
    return [
        Place(name, IN_ORDER[number] if number < len(IN_ORDER) else "works", chance.fork(name))
        for number, name in enumerate(order)
    ]


class PlayedStudent:
    """A simulated student with a browser session of its own, from joining to the end of the class.

    It runs in a thread.
    """

    def __init__(
        self, url: str, code: str, labs: list[Lab], place: Place, over: threading.Event, say: Callable[[str], None]
    ) -> None:
        self.place = place
        self._pages = RemotePages(url)
        self._socket = PageSocket(self._pages.url, lambda: self._pages.cookies)
        self._code, self._labs, self._over, self._say = code, labs, over, say
        self._course = ""
        self._asks_s: float | None = None  # time of the next question; None: asks none
        self._questions = itertools.cycle(QUESTIONS)
        self.hands: PageHands | None = None

    def run(self) -> None:
        """Act out the behaviour until the class is over.

        After a refusal of the server, which may be busy or starting, the behaviour begins again.  So it does if the
        script meets another state of the lab than its own, as after a teacher took over.
        """
        play = {
            "is stuck": self._stuck,
            "asks": self._asking,
            "is idle": self._idle,
            "is done": self._done,
            "is cut off": self._cut_off,
        }.get(self.place.part, self._working)
        try:
            while True:
                try:
                    play()
                except Over:
                    raise
                except Exception as error:
                    reason = str(error) if isinstance(error, RemoteRefused) else f"{type(error).__name__}: {error}"
                    self._say(f"{self.place.name} begins again: {reason}")
                    self.rest(self.place.chance.between(*AFTER_TROUBLE_S))
        except Over:
            pass
        finally:
            self._socket.close()
            self._pages.close()

    def rest(self, seconds: float) -> None:
        """Wait for `seconds`, and raise Over as soon as the class is over.

        Before that, raise the hand if a question is due.
        """
        self._ask()
        if self._over.wait(seconds):
            raise Over

    def _join(self) -> None:
        if not self._course:
            joined = self._pages.post("/join/", {"code": self._code, "pseudonym": self.place.name})
            self._course = joined.headers["Location"].rstrip("/").rpartition("/")[2]

    def _begin(self, lab: Lab, pace: Pace) -> PageHands:
        """Open the lab's page and return its actions.  A lab begun before is continued."""
        self._join()
        address = self._pages.post(f"/c/{self._course}/labs/{lab.slug}/").headers["Location"]
        slug = address.split("/")[2]
        self._pages.get(address)  # wakes it
        self._socket.open(f"lab/{slug}")
        self.hands = PageHands(self._pages, slug, lab, pace, self.rest)
        return self.hands

    def _pace(self, least_s: float, most_s: float, rate: float = 1.0) -> Pace:
        return Pace(self.place.chance, least_s, most_s, rate)

    def _solve(self, lab: Lab, pace: Pace, *, errs: bool = False) -> None:
        """Solve the lab, from the start if it is begun.  A finished lab is not done twice.

        `errs`: play one of the lab's usual mistakes first.
        """
        hands = self._begin(lab, pace)
        if hands.state["finished"]:
            return
        if _is_begun(hands):
            hands.start_over()
        if errs:
            self.place.chance.choice(lab.wrong).play(hands)
            hands.start_over()
        lab.solve(hands)

    def _stay(self) -> None:
        """Keep the page open, without actions, until the class is over."""
        while True:
            self.rest(ASKS_AGAIN_S)

    def _working(self) -> None:
        """Work through all labs, at a pace and in an order that differ between students."""
        chance = self.place.chance
        slow_s = chance.between(6, 16)
        turned = chance.below(len(self._labs))
        for lab in (*self._labs[turned:], *self._labs[:turned]):
            self._solve(lab, self._pace(slow_s, 2.5 * slow_s), errs=chance.random() < ERRS)
        self._stay()

    def _stuck(self) -> None:
        """Give the same wrong answer several times at once, then again in intervals."""
        lab = self._labs[-1]
        hands = self._begin(lab, self._pace(2, 4, rate=10))
        if _is_begun(hands):
            hands.start_over()
        _mistaken(lab, hands)
        for _ in range(MISTAKES_AT_ONCE - 1):
            hands.say_again()
        while True:
            self.rest(self.place.chance.between(*SAYS_AGAIN_S))
            hands.say_again()

    def _asking(self) -> None:
        """Work slowly with a raised hand, and ask another question some time after the hand was lowered."""
        self._join()
        self._asks_s = self._asks_s or time.monotonic()
        for lab in self._labs:
            self._solve(lab, self._pace(20, 45))
        self._stay()

    def _ask(self) -> None:
        """Raise the hand with a question, if one is due and no hand is raised."""
        if self._asks_s is None or time.monotonic() < self._asks_s:
            return
        self._asks_s = time.monotonic() + ASKS_AGAIN_S
        if self.hands is None or not self.hands.hand_is_up:
            self._pages.post(f"/c/{self._course}/hand/", {"do": "up", "question": next(self._questions)})

    def _idle(self) -> None:
        """Answer the first prediction, then do nothing more; the page stays open."""
        hands = self._begin(self._labs[0], self._pace(1, 3))
        if not _is_begun(hands):
            _predict(hands)
        self._stay()

    def _done(self) -> None:
        """Solve one lab faster than all other students."""
        self._solve(self._labs[-1], self._pace(1, 2, rate=20))
        self._stay()

    def _cut_off(self) -> None:
        """Begin a lab, then close the page's socket."""
        hands = self._begin(self._labs[0], self._pace(1, 3))
        if not _is_begun(hands):
            _predict(hands)
        self.rest(CUT_AFTER_S)
        self._socket.close()
        self._stay()


def _is_begun(hands: PageHands) -> bool:
    """Return True if an answer was given in the lab."""
    return bool(hands.state["receipts"])


def _predict(hands: PageHands) -> None:
    asked = hands.state["open"]
    if asked is not None and asked["predict"] is not None:
        options = asked["predict"]["options"]
        hands.predict(options[0][0] if options else 3)


def _mistaken(lab: Lab, hands: PageHands) -> None:
    """Play the lab's first usual mistake that ends in an answer, so that the answer can be repeated."""
    for wrong in lab.wrong:
        wrong.play(hands)
        step = hands.state["open"]
        if hands.said is not None and step is not None and step["phase"] == hands.said[0]:
            return
        hands.start_over()
