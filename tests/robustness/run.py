"""One run: measure the client alone, then beside attackers of each kind and of all, then look at what is left."""

import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from sandbox.transport.tcp_limits import HEADLESS
from tests.interop.servers import ROOT, log_records
from tests.robustness.attack import KINDS
from tests.robustness.processes import Broker, Prober, Usage, Watch, attack
from tests.robustness.report import AT_LAST, LINES_PER_S, MIB, Verdict, pairs, read_log, share_of
from tests.robustness.served import TOPIC

SHARE = 0.6  # of one processor, all attackers of a phase together
RATIO = 5.0
ALONE = 0.1  # of the time, at the beginning; half as much at the end
TOGETHER = 0.3
LEAST_ALONE_S = 8.0
FOUND = Path(__file__).parents[1] / "golden" / "nasty"
TABLES_BYTES = 192 * MIB  # what outsiders make a broker remember: topics, groups, offsets, routes, texts
BOUND_BYTES = HEADLESS.unfinished_bytes + HEADLESS.unread_total_bytes + TABLES_BYTES
SOCKETS_BYTES = 512 * MIB  # of the kernel's: 300 deaf connections with 2 × socket_bytes at our end, and the crowd
BOUND_IS = "start + unfinished_bytes + unread_total_bytes of TcpLimits + 192 for all tables"


def run(minutes: float, seed: int, root: Path) -> dict[str, Any]:
    """The report; its verdicts say whether all is well."""
    broker = Broker(root)
    acknowledged = root / "acknowledged"
    total_s = minutes * 60
    alone_s = max(LEAST_ALONE_S, min(60.0, total_s * ALONE))
    each_s = max(3.0, (total_s - 1.5 * alone_s - total_s * TOGETHER) / len(KINDS))
    plan = [
        ("alone", list[str](), alone_s),
        *((kind, [kind], each_s) for kind in KINDS),
        ("all together", list(KINDS), max(5.0, total_s * TOGETHER)),
        ("alone again", [], alone_s / 2),
    ]
    with broker.running() as started:
        client, machine, watch = _client(broker, 0, acknowledged), Prober("reference"), Watch(broker.pid)
        time.sleep(2)  # what is done once is done: the topic, the first files
        phases, attackers = [], []
        for n, (name, kinds, seconds) in enumerate(plan):
            begun: list[float] = []
            if kinds:
                said = attack(
                    kinds,
                    broker.address,
                    seed=seed + 100 * n,
                    seconds=seconds,
                    share=SHARE,
                    found=FOUND,
                    ready=lambda begun=begun: begun.append(time.monotonic()),
                )
                attackers += [{"phase": name, **row} for row in said]
            else:
                said = []
                begun.append(time.monotonic())
                time.sleep(seconds)
            phases.append(_phase(name, client, machine, watch, begun[0], said))
        said_last = client.stop()
        machine.stop()
        watch.stop()
        started.terminate()
        assert started.stdout is not None
        goodbye = started.stdout.read().decode()
        ended = started.wait(30)
    for row in phases:
        row["ratio"] = row["p99_ms"] / max(phases[0]["p99_ms"], 1e-9)
    log = read_log(broker.log)
    at_last = pairs(found[1]) if (found := AT_LAST.search(goodbye)) else Counter[str]()
    reasons = sorted({*at_last, *log.reported, *log.counted})
    store = _look_at_store(broker, acknowledged)
    memory = _memory(watch)
    worst = max(phases[1:-1], key=lambda row: float(row["ratio"]))
    verdicts = [
        Verdict("broken" not in said_last, f"the well-behaved client is served to the end: {said_last}"),
        Verdict(not said_last.get("refused_requests", 1), "none of its requests is refused"),
        Verdict(
            worst["ratio"] < RATIO,
            f"its p99 stays under {RATIO:g} × the undisturbed one: at most {worst['ratio']:.2f} × ({worst['phase']})",
        ),
        Verdict(
            memory["peak"]["own"] - memory["start"]["own"] <= BOUND_BYTES,
            f"memory grows by at most {BOUND_BYTES // MIB} MiB: by "
            f"{(memory['peak']['own'] - memory['start']['own']) // MIB}",
        ),
        Verdict(
            memory["peak"]["sockets"] <= SOCKETS_BYTES,
            f"the kernel keeps at most {SOCKETS_BYTES // MIB} MiB for connections: {memory['peak']['sockets'] // MIB}",
        ),
        Verdict(at_last == log.reported + log.counted, "every refusal has a line in the log, or is counted in one"),
        Verdict(not log.wrong, f"nothing else is in the log: {log.wrong[:5]}"),
        Verdict(
            log.most_lines_per_s <= LINES_PER_S,
            f"the log has at most {LINES_PER_S} lines a second: {log.most_lines_per_s}",
        ),
        Verdict(ended == 0, f"the broker ends cleanly: {ended}"),
        Verdict(
            not any(row["found"] for row in attackers),
            "no frame makes a handler fail: "
            f"{sorted(name for row in attackers for name in row['found'])[:5]} in {FOUND.relative_to(ROOT)}",
        ),
        *store,
    ]
    return {
        "seed": seed,
        "minutes": minutes,
        "share": SHARE,
        "phases": phases,
        "attackers": attackers,
        "memory": memory,
        "refused": {
            reason: {"total": at_last[reason], "told": log.reported[reason], "counted": log.counted[reason]}
            for reason in reasons
        },
        "log_lines": log.lines,
        "verdicts": [verdict._asdict() for verdict in verdicts],
    }


def _client(broker: Broker, first: int, acknowledged: Path) -> Prober:
    return Prober("served", "--address", broker.address, "--first", str(first), "--out", acknowledged)


def _phase(
    name: str, client: Prober, machine: Prober, watch: Watch, begin_s: float, said: list[dict[str, Any]]
) -> dict[str, Any]:
    end_s = time.monotonic()
    rows = client.between(begin_s, end_s)
    used = [row for row in watch.rows if begin_s <= row.at_s <= end_s]
    cpu = (used[-1].cpu_s - used[0].cpu_s) / max(used[-1].at_s - used[0].at_s, 1e-9) if len(used) > 1 else 0.0
    return {
        "phase": name,
        "seconds": end_s - begin_s,
        "requests": len(rows),
        "p50_ms": share_of(rows, 50),
        "p99_ms": share_of(rows, 99) if rows else float("inf"),
        "max_ms": rows[-1] if rows else 0.0,
        "machine_p99_ms": share_of(machine.between(begin_s, end_s), 99),
        "broker_cpu": cpu,
        "attackers_cpu": sum(row["cpu_s"] for row in said) / (end_s - begin_s),
    }


def _memory(watch: Watch) -> dict[str, Any]:
    def row(*used: Usage) -> dict[str, int]:
        return {
            "own": max(each.own_bytes for each in used),
            "resident": max(each.resident_bytes for each in used),
            "sockets": max(each.sockets_bytes for each in used),
        }

    first, last = watch.rows[0], watch.rows[-1]
    return {
        "start": row(first),
        "end": row(last),
        "peak": row(*watch.rows),
        "bound": first.own_bytes + BOUND_BYTES,
        "bound_is": BOUND_IS,
    }


def _look_at_store(broker: Broker, acknowledged: Path) -> list[Verdict]:
    """Let the broker start again, be killed in traffic, and recover; then count what was acknowledged in both lives."""
    first = 1 + max((int(line.split()[0]) for line in acknowledged.read_text().splitlines()), default=0) + 1_000_000
    with broker.running() as started:
        client = _client(broker, first, acknowledged)
        deadline_s = time.monotonic() + 20
        while not client.seconds and time.monotonic() < deadline_s:
            time.sleep(0.1)
        started.kill()
        started.wait()
        client.stop()
    with broker.running():
        pass
    wanted = {tuple(line.split()) for line in acknowledged.read_text().splitlines() if len(line.split()) == 4}
    there = Counter(
        (record.properties["KEYS"][1:], str(record.queue_id), str(record.queue_offset))
        for record in log_records(broker.store / "commitlog")
        if record.topic == TOPIC
    )
    missing = [row for row in wanted if there[row[:3]] != 1]
    verify = subprocess.run(
        [sys.executable, "manage.py", "mqstore", "verify", str(broker.store)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return [
        Verdict(
            bool(wanted) and not missing,
            f"each of {len(wanted)} acknowledged messages is in the log once, at its "
            f"place, after a kill and a recovery: {missing[:5]}",
        ),
        Verdict(verify.returncode == 0, f"the store is whole: {(verify.stdout + verify.stderr)[-300:].strip()}"),
    ]
