/* Channels that a page draws, and the facts after which it fetches what is wrong again. */

const FINDINGS = new Set(["FindingOpened", "FindingClosed", "SandboxWoken", "ClockChanged", "MemberStateChanged"]);

/** True if a fact may have opened or closed a finding, or changed what is said where none is open. */
export const touchFindings = (rows) => rows.some(({ type }) => FINDINGS.has(type));

/** Follow a channel and paint it with the next frame; frozen pages acknowledge without painting. */
export function show({ live, painter, config }, name, paint, { element = null } = {}) {
  const handlers = {
    changed(channel, jump) {
      if (painter.frozen) live.painted(channel);
      painter.mark(channel, (it, jumps) => {
        paint(it.data, jumps || live.quiet_ms > 2000);
        live.painted(it);
      }, jump);
    },
  };
  const options = { first: config.first[name] ?? null };
  const channel = element ? live.followVisible(element, name, handlers, options) : live.follow(name, handlers, options);
  if (channel.data) painter.mark(channel, (it) => paint(it.data, true), true);
  return channel;
}
