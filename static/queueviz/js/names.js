/* Queue keys and their short names: `topic/broker-a:3@member` → topic, broker, id, member; `a:3` or `q3` on screen. The
   topic stands there where it is not the page's. */

export function parts(key) {
  const at = key.indexOf("@"), head = at < 0 ? key : key.slice(0, at), slash = head.lastIndexOf("/"), colon = head.lastIndexOf(":");
  return { topic: head.slice(0, Math.max(0, slash)), broker: head.slice(slash + 1, colon), id: head.slice(colon + 1), member: at < 0 ? "" : key.slice(at + 1) };
}

/** Member by member where each reads for itself (broadcasting), then by topic, broker and id. */
export function inOrder(keys) {
  const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  return [...keys].sort((a, b) => {
    const p = parts(a), q = parts(b);
    return compare(p.member, q.member) || compare(p.topic, q.topic) || compare(p.broker, q.broker) || Number(p.id) - Number(q.id);
  });
}

/** The distinct part of the broker's name and the queue id; only the id if there is one broker. */
export function shortNames(keys) {
  const brokers = [...new Set([...keys].map((key) => parts(key).broker))].sort();
  let same = 0;
  if (brokers.length > 1) {
    const [first, last] = [brokers[0], brokers.at(-1)];
    while (same < first.length && first[same] === last[same]) same++;
  }
  const names = new Map();
  for (const key of keys) {
    const { topic, broker, id } = parts(key), name = brokers.length < 2 ? `q${id}` : `${broker.slice(same) || broker}:${id}`;
    names.set(key, topic ? `${topic} ${name}` : name);
  }
  return names;
}

export const shortId = (client_id) => client_id.split("#")[0];

/** Keys of the further members with this client id: `<client id> <label or address>`. */
export const sharers = (members, id) => Object.keys(members ?? {}).filter((key) => key.startsWith(`${id} `));

/** The letters of all members with this client id, `A/B`: events name a client id, not a process. */
export const lettersOf = (members, id) => [id, ...sharers(members, id)].map((key) => members?.[key]?.letter).filter(Boolean).join("/");

/** The class of a member's colour. */
export const colour = (member) => (member?.colour === null || member?.colour === undefined ? "me-none" : `me-${member.colour}`);
