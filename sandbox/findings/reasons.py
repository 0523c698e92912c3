"""Why no action of a page mends a finding."""

ATTACHED, OUTSIDE, THREADS = "attached", "outside", "threads"
ENDS, PROGRAM, DELETED, RESET, BELOW_LIMIT = "ends", "program", "deleted", "reset", "below_limit"
PRODUCER, COMMIT, MACHINE, FILES, MASTER = "producer", "commit", "machine", "files", "master"
STRATEGY, READER = "strategy", "reader"

REASONS = {
    ATTACHED: "QueueViz cannot do this on a real cluster.",
    OUTSIDE: "This process runs outside the sandbox.",
    THREADS: "A member's number of threads is set at its start.",
    ENDS: "It ends by itself.",
    PROGRAM: "The program of a client has to change.",
    DELETED: "Deleted messages cannot be read again.",
    RESET: "A reset moves the group to an offset that exists.",
    BELOW_LIMIT: "The member pulls again below the limit.",
    PRODUCER: "Only its producer ends a transaction.",
    COMMIT: "The first commit of a member stores an offset.",
    MACHINE: "A lower rate or a less busy machine helps.",
    FILES: "QueueViz does not write the files of brokers.",
    MASTER: "The master has to start again.",
    READER: "Its member has to read it, or to leave the group.",
    STRATEGY: "Another strategy assigns these queues.",
}
