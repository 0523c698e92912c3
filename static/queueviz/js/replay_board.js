/* The state at an event in the shape of the board channel (sandbox/queries/rows/board.py). Values without an event are the
   keyframe's; a value in neither is null and is drawn as unknown. */
import { lagOf, offset } from "./offsets.js";

const COLOURS = 6;
const PER_QUEUE = { cells: null, cells_from: null, held_until_ms: null, oldest_stored_ms: null, rate_per_s: null, assigned: null };
const PER_GROUP = ["committed", "owner", "flow_control", "cause"];

/** @param {any} answer of `GET …/state?at=N` @param {{ group: string | null, topic: string | null, names: Record<string, string> }} shown */
export function boardOf({ snapshot, exact }, { group, topic, names }) {
  const of = (snapshot.groups ?? []).find((one) => one.group === group);
  const ends = new Map((snapshot.topics ?? []).find((one) => one.topic === topic)?.queues.map((row) => [`${row.broker}:${row.queue_id}`, row]) ?? []);
  const queues = {}, members = membersOf(of?.members ?? []), mine = (of?.queues ?? []).filter((one) => one.topic === topic);
  const reads = of?.model !== "BROADCASTING" && (mine.some((row) => row.committed !== null) || (of?.subscription ?? []).some((one) => one.topic === topic));
  for (const row of mine) {
    const place = `${row.broker}:${row.queue_id}`, key = of.model === "BROADCASTING" && row.owner ? `${place}@${row.owner}` : place;
    queues[key] = { ...PER_QUEUE, ...endsOf(ends.get(place)), ...positions(row, exact, row.from_zero ?? reads) };
    if (row.owner && !members[row.owner]) members[row.owner] = unknown(names[row.owner], Object.keys(members).length);
  }
  if (!of?.queues.length) for (const [place, row] of ends) queues[place] = { ...PER_QUEUE, ...endsOf(row), ...positions({}, exact, false) };
  return { header: headerOf(of, topic, queues, snapshot), queues, members };
}

/** Names of the board's values that are as old as the keyframe; all members are. */
export function greyOf({ carried, exact }, group) {
  if (exact) return [];
  const holds = new Set([...(carried.topics ?? []), ...(carried[`groups/${group}`] ?? [])]);
  return ["min", "max", ...PER_GROUP].filter((name) => !holds.has(name)).concat("members");
}

const endsOf = (row) => ({ min: row?.min ?? null, max: row?.max ?? null });

/** What the owner held at the keyframe says nothing any more once more than that is committed. `reads`: without an offset
    the lag counts from 0 (sandbox/queries/rows/lag.py), in recordings made before November 2026, too. */
function positions(row, exact, reads) {
  const committed = offset(row.committed);
  const still = (at) => (at && committed !== null && BigInt(at) < committed ? null : (at ?? null));
  const next_pull = still(row.next_pull);
  return {
    committed: row.committed ?? null, from_zero: reads && committed === null, in_memory: still(row.in_memory), next_pull, owner: row.owner ?? null,
    oldest: (exact && row.oldest) || null, lock: row.lock ?? null, flow_control: row.flow_control ?? null, down: row.down ?? null,
    cause: row.cause ?? null, ...(next_pull === null ? { cached: null } : {}),
  };
}

/** Letters and colours as members get them: by their labels. */
function membersOf(rows) {
  return Object.fromEntries(rows.map((row, place) => [row.client_id, {
    ...row, letter: row.actor ? row.actor[0].toUpperCase() : String(place + 1), colour: place % COLOURS, limits: null,
    fullest_bytes: null, state_since_ms: null, work_ms: null, slow: null, reason: null,
  }]));
}

/** It came after the keyframe: only its name is known. */
const unknown = (label, place) => ({ actor: label ?? null, letter: label?.[0].toUpperCase() ?? "?", colour: place % COLOURS, state: "unknown", transport: "loopback", timers: {}, limits: null });

function headerOf(of, topic, queues, snapshot) {
  const rows = Object.values(queues), down = rows.filter((row) => row.down);
  const lags = rows.map(lagOf).filter((lag) => lag !== null), untold = lags.length ? rows.filter((row) => !row.down && lagOf(row) === null).length : 0;
  const retrying = Number(of?.counts.retrying ?? 0);
  return {
    group: of?.group ?? null, topic, model: of?.model ?? null, listener: of?.listener ?? null, strategy: of?.strategy ?? null,
    lag: lags.length || retrying ? String(lags.reduce((sum, lag) => sum + lag, retrying)) : null, retrying: String(retrying),
    queues_known: rows.length - down.length - untold, queues_all: rows.length, lag_last_known: String(down.reduce((sum, row) => sum + Number(row.down.lag ?? 0), 0)),
    oldest_since_ms: null, redelivered_on_crash: null, redelivered_notes: [], in_per_s: null, out_per_s: null, delivered_per_s: null, differs: false,
    e2e_p50_ms: null, e2e_p99_ms: null, delivered_again: of?.counts.delivered_again ?? null, rate: snapshot.rate, next_actor: null, like: null, members_differ: of?.members_differ ?? [], shared_ids: of?.shared_ids ?? [],
  };
}
