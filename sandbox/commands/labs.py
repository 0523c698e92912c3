"""Actions on guided labs: start, answer, hint, start over."""

from sandbox import commands
from sandbox.cluster.cluster import Cluster
from sandbox.cluster.lab_progress import LabProgress
from sandbox.cluster.presets import preset_of
from sandbox.cluster.templates import template_of
from sandbox.commands.executors import executes
from sandbox.commands.outcome import CarryOut
from sandbox.control.actions import (
    Action,
    AnswerStep,
    BeginStepAgain,
    RestartLab,
    StartLab,
    TakeHint,
    fields_of,
    name_of,
)
from sandbox.journal.events import ActionTaken, HintTaken, LabStarted, PredictionGiven
from sandbox.kernel.errors import ActionRefused
from sandbox.labs.catalogue import LABS
from sandbox.labs.evidence import SETUP
from sandbox.labs.lab import Lab
from sandbox.queries.snapshot_cache import cache_of


@executes(StartLab)
def start_lab(cluster: Cluster, action: StartLab) -> CarryOut:
    lab = known_lab(action.lab)
    _check_time(cluster)
    if cluster.actors.by_label or cluster.record.lab:
        raise ActionRefused(
            409, "A lab must start in an empty sandbox.", "Start lab {lab} in a new sandbox.", lab=lab.number
        )
    if (cluster.record.template, cluster.record.preset) != (lab.template, lab.preset):
        raise ActionRefused(
            409,
            "Lab {lab} needs a sandbox of template {template} with preset {preset}.",
            "Start the lab in a new sandbox with these settings.",
            lab=lab.number,
            template=lab.template,
            preset=lab.preset,
        )
    return lambda seq, by: _begin(cluster, lab, exam=action.exam)


@executes(RestartLab)
def restart_lab(cluster: Cluster, action: RestartLab) -> CarryOut:
    """Kill and remove all actors and begin a new attempt, whose topics and groups have other names."""
    current = cluster.companion(LabProgress).current(action.lab)
    current.check_restart()
    lab = current.lab
    _check_time(cluster)

    def carry_out(seq: int, by: str) -> None:
        for label in sorted(cluster.actors.by_label):
            actor = cluster.actors.get(label)
            if actor.lives:
                cluster.actors.crash(actor)
            cluster.actors.remove(label)
        _mend(cluster, lab)
        _begin(cluster, lab, exam=False)

    return carry_out


@executes(AnswerStep)
def answer_step(cluster: Cluster, action: AnswerStep) -> CarryOut:
    current = cluster.companion(LabProgress).current(action.lab)
    if action.attempt not in (0, current.attempt):
        raise ActionRefused(
            409,
            "This answer is for attempt {attempt}, but attempt {now} is in progress.",
            "Answer again.",
            field="attempt",
            attempt=action.attempt,
            now=current.attempt,
        )
    current.check_answer(action.step, action.part, action.value)

    def carry_out(seq: int, by: str) -> None:
        if action.part == "predict":
            cluster.journal.write(PredictionGiven(action.lab, action.step, action.value))

    return carry_out


@executes(TakeHint)
def take_hint(cluster: Cluster, action: TakeHint) -> CarryOut:
    number = cluster.companion(LabProgress).current(action.lab).check_hint(action.step)

    def carry_out(seq: int, by: str) -> None:
        cluster.journal.write(HintTaken(action.lab, action.step, str(number)))

    return carry_out


@executes(BeginStepAgain)
def begin_step_again(cluster: Cluster, action: BeginStepAgain) -> CarryOut:
    """Check that the step has a sealed prediction; the attempt reads the action from the journal."""
    cluster.companion(LabProgress).current(action.lab).check_begin_again(action.step)
    return lambda seq, by: None


def known_lab(slug: str) -> Lab:
    """Return the lab with this slug.  Raises ActionRefused (404) if it does not exist."""
    lab = LABS.get(slug)
    if lab is None:
        raise ActionRefused(
            404, "Lab {lab} does not exist.", "Available labs: {known}.", field="lab", lab=slug, known=", ".join(LABS)
        )
    return lab


def _check_time(cluster: Cluster) -> None:
    """Raise ActionRefused (409) if an external client is connected or the ports are open.

    External clients cannot be replayed, and their clocks cannot be stopped for a question.
    """
    if cluster.wire_clients():
        raise ActionRefused(
            409,
            "An external client is connected, so a lab cannot be replayed here.",
            "Disconnect the client, or start the lab in a new sandbox.",
        )
    if cluster.listeners.is_open:  # one may come in mid-step
        raise ActionRefused(
            409,
            "The ports of this sandbox are open. With an external client, the lab could not be replayed here.",
            "Close the ports, or start the lab in a new sandbox.",
        )


def _mend(cluster: Cluster, lab: Lab) -> None:
    """Undo the faults and settings of the attempt: heal links, resume hung nodes, start stopped nodes."""
    for row in cluster.links.rows():
        cluster.links.heal(row["a"], row["b"])
    for name_server in cluster.nodes.name_servers:
        if name_server.name_server is None:
            name_server.start()
    changes = {**template_of(lab.template).changes, **lab.changes}
    changed = cluster.record.changes != changes
    cluster.record.changes = changes
    cluster.change_preset(preset_of(lab.preset, changes))
    for node in sorted(cluster.nodes.brokers, key=lambda node: not node.is_master):
        if node.state == "hung":
            node.running.resume()
        if node.broker is None:
            cache_of(cluster).forget_store(node.node)
            node.start()
    if changed:
        cluster.nodes.restart()


def _begin(cluster: Cluster, lab: Lab, *, exam: bool) -> None:
    """Start an attempt: write LabStarted and execute the setup's actions, which have this action as their cause."""
    progress, journal = cluster.companion(LabProgress), cluster.journal
    attempt = progress.attempts(lab.slug) + 1
    began = journal.write(LabStarted(lab.slug, attempt, cluster.record.seed, exam))
    progress.begin(lab.slug, attempt, began, exam=exam)
    for action in lab.setup(lab.numbers(cluster.record.seed, attempt)):
        _carry_out(cluster, action)


def _carry_out(cluster: Cluster, action: Action) -> None:
    carry_out = commands.prepare(cluster, action)
    seq = cluster.journal.write(ActionTaken(name_of(action), fields_of(action), SETUP))
    with cluster.journal.caused_by(seq):
        carry_out(seq, SETUP)
