"""Errors of failed runs as sentences for users."""

import errno
import re
from pathlib import Path
from urllib.parse import unquote

from sandbox.kernel.errors import SandboxError
from sandbox.pipeline.jobs.job import WrongOption
from sandbox.pipeline.spark.error_text import LONGEST, of_spark

LAST_WORDS_BYTES = 16_384
SPARK_GONE = "Spark's Java process ended during the run, most often because the machine had no free memory."
WORKER_GONE = (
    "A Python worker of Spark was killed during the run, most often because the machine had no free memory. "
    "Run the job again."
)
NO_ROOM = "The disk is full. Free some space and run the job again."

_OF_SOURCES = re.compile(r"\[ROCKETMQ_[A-Z_]+\]:? (.+)")  # the first line of their errors (`sources.error_reports`)
_OURS = re.compile(r"^\s*(?:sandbox\.[\w.]+|ValueError): (.+)$", re.MULTILINE)  # of functions in Spark's workers
_SEALED = re.compile(
    r"FAILED_READ_FILE.*? reading file (?:file:(?://)?)?"
    r"(/.*?/\d{20}-[0-9a-f]{16}-[0-9a-f]{8}\.parquet)"
)
_PYTHONS = re.compile(r"^\s*(?:\w+\.)*\w*(?:Error|Exception|Warning): (.+)$", re.MULTILINE)
_KNOWN = (
    (re.compile("No space left on device|Disk quota exceeded"), NO_ROOM),
    (re.compile("File too large"), "A file of the result exceeds the size limit of this process (ulimit -f)."),
    (
        re.compile("Could not parse Master URL"),
        "The master is not an address of a Spark cluster. Write it as spark://host:7077, local[4] or yarn.",
    ),
    (
        re.compile(
            "All masters are unresponsive|Cannot call methods on a stopped SparkContext"
            "|Application has been killed|SparkContext was shut down|cancelled because SparkContext"
        ),
        "The Spark cluster ended or refused the application. Check the address of the master, "
        "its version and its free resources.",
    ),
    (
        re.compile("INVALID_CONNECT_URL"),
        "The address of the Spark Connect server is not valid. Write it as sc://host:15002.",
    ),
    (re.compile("Python worker exited unexpectedly"), WORKER_GONE),
    (
        re.compile("Java heap space|OutOfMemoryError|GC overhead limit"),
        "Spark ran out of memory. Read less at once, or increase spark.driver.memory.",
    ),
    (
        re.compile(
            "Answer from Java side is empty|Error while (?:sending or )?receiving|Py4JNetworkError"
            r"|Connection (?:refused|reset by peer)|\AAn error occurred while calling \S+\s*\Z"
        ),
        SPARK_GONE,
    ),
)
_JAVA_SAYS = (re.compile(r'Exception in thread "main" [\w.$]+: (.+)'), re.compile(r"^Error: (.+)", re.MULTILINE))


def sentence_of(error: BaseException, *, log: str = "") -> str:
    """Return the error of a failed run as one sentence: the engine's own unchanged, Spark's shortened to one line.

    `log`: the end of the process's standard error.
    """
    if isinstance(error, SandboxError | WrongOption):
        return str(error)
    if isinstance(error, OSError) and error.strerror and not isinstance(error, ConnectionError):
        return NO_ROOM if error.errno in (errno.ENOSPC, errno.EDQUOT) else _about_file(error)
    text = str(error)
    if sentences := _OF_SOURCES.findall(text) or _OURS.findall(text):
        return str(sentences[-1])
    if sentences := _SEALED.findall(text):
        return (
            f"The sealed log file {unquote(sentences[-1])} is damaged or was deleted during the run. Delete "
            "it if it exists and run the job again, which then reads the commit log."
        )
    if "JAVA_GATEWAY_EXITED" in text:
        return _not_begun(log)
    for known, sentence in _KNOWN:
        if known.search(text) or known.search(type(error).__name__):
            return sentence
    if sparks := of_spark(text):
        return sparks
    if sentences := _PYTHONS.findall(text):
        return str(sentences[-1])[:LONGEST]
    first = next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
    return first[:LONGEST]


def last_words(descriptor: int) -> str:
    """Return the end of the file behind this descriptor; empty if the descriptor is no file."""
    path = Path(f"/proc/self/fd/{descriptor}")
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - LAST_WORDS_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def _about_file(error: OSError) -> str:
    reason = (error.strerror or "").lower()
    return f"{error.filename} cannot be used: {reason}." if error.filename else f"System error: {reason}."


def _not_begun(log: str) -> str:
    """Return the sentence for a Java process that ended before a session existed; its standard error has the reason."""
    for pattern in _JAVA_SAYS:
        if sentences := pattern.findall(log):
            return f"Spark did not start: {str(sentences[-1]).strip().rstrip('.')[:LONGEST]}."
    return "Spark did not start: Java ended at once. Check that it is Java 17 or newer and that memory is free."
