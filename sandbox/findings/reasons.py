"""Why no action of a page mends a finding."""

ATTACHED, OUTSIDE, THREADS = "attached", "outside", "threads"

REASONS = {
    ATTACHED: "QueueViz cannot do this on a real cluster.",
    OUTSIDE: "This process runs outside the sandbox.",
    THREADS: "A member's number of threads is set at its start.",
}
