/* One socket per tab. Channels are read-only views of the engine: a snapshot, then deltas counted by `n`. A frame out
   of sequence or of another epoch is discarded and the channel requested again. */
import { socketUrl } from "./address.js";
import { merge } from "./merge.js";

const PROTOCOL = "queueviz.live.1";
const ACK_MS = 250, STALE_MS = 2000, OFFLINE_MS = 12000, PING_MS = 5000, LEAVE_MS = 5000;
const RETRY_MS = [500, 30000];

export class Live extends EventTarget {
  channels = new Map();
  status = "connecting"; // connecting, connected, catching, stale, offline
  fps = 0;
  /** @type {number | null} */
  latency_ms = null;
  /** @type {number | null} */
  watchers = null;
  /** @type {number | null} */
  retry_at = null;
  seq = "0";
  heard = performance.now();
  /** @type {WebSocket | null} */
  #socket = null;
  #tries = 0;
  #retry = 0;
  #frames = 0;
  #pinged = 0;
  /** @type {number | null} */
  #lost = null;
  #wall = Date.now() - performance.now();
  #asleep = false; // the page was drawn of a sandbox that sleeps
  #isOld = false; // no picture has come since the connection was lost, or since the page was drawn of a sandbox that did not run

  /**
   * @param {import("./clock.js").SandboxClock} clock
   * @param {{ url?: string, open?: (at: string) => WebSocket }} [options]
   */
  constructor(clock, { url = socketUrl(), open = (at) => new WebSocket(at, PROTOCOL) } = {}) {
    super();
    this.clock = clock;
    this.url = url;
    this.open = open;
    setInterval(() => this.#acknowledge(), ACK_MS);
    setInterval(() => this.#watch(), 500);
    setInterval(() => this.#ping(), PING_MS);
    document.addEventListener("visibilitychange", () => this.#send({ k: "vis", hidden: document.hidden }));
  }

  connect() {
    clearTimeout(this.#retry);
    this.retry_at = null;
    const socket = (this.#socket = this.open(this.url));
    socket.onopen = () => {
      if (this.#lost !== null) this.#become("catching"), this.dispatchEvent(new Event("reopened"));
      this.#tries = 0;
      this.heard = performance.now();
      this.#send({ k: "hello", tab: crypto.randomUUID?.() ?? String(Math.random()) });
      if (document.hidden) this.#send({ k: "vis", hidden: true });
      for (const channel of this.channels.values()) (channel.ended = null), this.#ask(channel); // whatever had ended may be there again
      this.#ping();
    };
    socket.onmessage = ({ data }) => socket === this.#socket && this.#take(JSON.parse(data));
    socket.onclose = ({ code }) => socket === this.#socket && this.#closed(code);
  }

  /**
   * Follow a channel. `first` is what the page was painted with.
   * @param {string} name
   * @param {{ changed?: (channel: any, jump: boolean) => void, rows?: (rows: any[], first: string | null) => void }} handlers
   * `beside`: it is none of the page's sandbox, and says nothing of its clock, its events, and whether it is awake.
   * @param {{ first?: any, after?: string | null, beside?: boolean }} [options]
   */
  follow(name, handlers, { first = null, after = null, beside = false } = {}) {
    const channel = { name, handlers, beside, n: null, ep: first?.ep ?? null, seq: first?.seq ?? null, data: first?.data ?? null, after, asking: false, painted: null, acked: null, wanted: true, ended: null };
    this.channels.set(name, channel);
    if (this.#socket?.readyState === 1) this.#ask(channel);
    return channel;
  }

  /** Follow only while the element is visible; unfollow after 5 s, so that scrolling past costs nothing. */
  followVisible(element, name, handlers, options) {
    const channel = this.follow(name, handlers, options);
    let leaving = null;
    new IntersectionObserver(([{ isIntersecting }]) => {
      clearTimeout(leaving);
      if (isIntersecting && !channel.wanted) {
        channel.wanted = true;
        if (!channel.ended) this.#ask(channel);
      } else if (!isIntersecting && channel.wanted)
        leaving = setTimeout(() => {
          channel.wanted = false;
          this.#send({ k: "unsub", ch: name });
        }, LEAVE_MS);
    }).observe(element);
    return channel;
  }

  /** Acknowledge only painted frames: this is the back-pressure. */
  painted(channel) {
    channel.painted = channel.n;
    this.#frames++;
  }

  /** The page shows the last state of a stopped sandbox. */
  shownOld(state) {
    this.#isOld = true;
    this.#asleep = state === "asleep";
  }

  tryNow() {
    this.#tries = 0;
    this.connect();
  }

  /** Unfollow everything; `connect` starts again. */
  close() {
    clearTimeout(this.#retry);
    this.channels.clear();
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }

  /** Ended channels may exist again: the sandbox has been opened. */
  again() {
    this.#asleep = false;
    for (const channel of this.channels.values()) if (channel.ended) this.#ask(channel);
    this.dispatchEvent(new Event("woken"));
  }

  #ask(channel) {
    if (!channel.wanted) return;
    channel.asking = true;
    channel.ended = null;
    channel.n = null;
    this.#send(channel.after === null ? { k: "sub", ch: channel.name } : { k: "sub", ch: channel.name, after: channel.after });
  }

  #take(frame) {
    this.heard = performance.now();
    if (this.status !== "connected") this.#become("connected");
    if (frame.seq && !this.channels.get(frame.ch)?.beside && BigInt(frame.seq) > BigInt(this.seq)) this.seq = frame.seq;
    if (frame.k === "beat") this.#beat(frame);
    else if (frame.k === "pong") this.latency_ms = Math.round(performance.now() - this.#pinged);
    else if (this.channels.has(frame.ch)) this.#frame(this.channels.get(frame.ch), frame);
  }

  #frame(channel, frame) {
    if (frame.k === "facts") {
      const rows = frame.rows ?? [];
      if (rows.length) channel.after = rows.at(-1).seq;
      channel.handlers.rows?.(rows, frame.first ?? null);
    } else if (frame.k === "snap") {
      if (!channel.beside) this.clock.hear(frame.at_ms, frame.rate, frame.seq, frame.reached_rate);
      Object.assign(channel, { n: frame.n, ep: frame.ep, seq: frame.seq, data: frame.data, asking: false });
      channel.handlers.changed?.(channel, true); // a snapshot is painted at once, never animated
      this.#lost = null;
      if (!channel.beside) this.#isOld = false;
      this.dispatchEvent(new Event("status")); // what had ended may move again
    } else if (frame.k === "delta") {
      if (channel.asking) return;
      if (channel.n === null || frame.n !== channel.n + 1 || (frame.ep !== undefined && frame.ep !== channel.ep)) {
        this.#become("catching");
        return this.#ask(channel);
      }
      if (!channel.beside) this.clock.hear(frame.at_ms, frame.rate, frame.seq, frame.reached_rate);
      merge(channel.data, frame);
      Object.assign(channel, { n: frame.n, seq: frame.seq });
      channel.handlers.changed?.(channel, false);
    } else if (frame.k === "end") {
      channel.ended = frame.reason;
      if (this.ended) this.clock.hold();
      if (!channel.beside) this.dispatchEvent(new CustomEvent("ended", { detail: frame.reason }));
      this.dispatchEvent(new Event("status"));
    }
  }

  #beat(frame) {
    this.hearWall(frame.server_ms);
    if (frame.watchers !== undefined) this.watchers = frame.watchers;
    [this.fps, this.#frames] = [this.#frames, 0];
    this.dispatchEvent(new Event("beat"));
  }

  #acknowledge() {
    const n = {};
    for (const channel of this.channels.values())
      if (channel.painted !== null && channel.painted !== channel.acked) n[channel.name] = channel.acked = channel.painted;
    if (Object.keys(n).length) this.#send({ k: "ack", n });
  }

  #ping() {
    if (document.hidden) return;
    this.#pinged = performance.now();
    this.#send({ k: "ping" });
  }

  #watch() {
    const quiet = performance.now() - this.heard;
    if (this.#socket?.readyState === 1 && quiet > OFFLINE_MS) this.#socket.close();
    else if (this.status === "connected" && quiet > STALE_MS) this.#become("stale");
    if (this.status !== "connected") this.dispatchEvent(new Event("status"));
  }

  #closed(code) {
    this.#lost ??= performance.now();
    this.#isOld = true;
    for (const channel of this.channels.values()) [channel.acked, channel.painted, channel.n] = [null, null, null];
    const most = Math.min(RETRY_MS[1], RETRY_MS[0] * 2 ** this.#tries++), wait = Math.random() * most;
    this.code = code;
    this.retry_at = performance.now() + wait;
    this.#become("offline");
    this.#retry = setTimeout(() => this.connect(), wait);
  }

  #become(status) {
    if (status === this.status) return;
    this.status = status;
    if (status === "stale" || status === "offline") this.clock.hold();
    this.dispatchEvent(new Event("status"));
  }

  get #pictures() {
    return [...this.channels.values()].filter((channel) => channel.wanted && !channel.beside && !channel.handlers.rows);
  }

  get moves() {
    return this.status === "connected" && this.#pictures.some((channel) => channel.n !== null && !channel.ended);
  }

  /** The reason if every channel of the page has ended. */
  get ended() {
    const pictures = this.#pictures;
    return pictures.length && pictures.every((channel) => channel.ended) ? pictures[0].ended : null;
  }

  /** True on a page of a sleeping sandbox: it shows the last state, and nothing can be asked. */
  get sleeps() {
    return this.#asleep || this.ended === "asleep";
  }

  /** The status to display: the socket's status, `opening` (the page shows old data), `asleep` or `ended`. */
  get state() {
    if (this.status !== "connected") return this.status;
    if (this.ended) return this.ended === "asleep" ? "asleep" : "ended";
    if (!this.#pictures.length) return this.#asleep ? "asleep" : "connected";
    return this.#isOld ? "opening" : "connected";
  }

  /** The server's clock, which the sandbox's need not follow. */
  hearWall(server_ms) {
    this.#wall = server_ms - performance.now();
  }

  get wall_ms() {
    return this.#wall + performance.now();
  }

  get quiet_ms() {
    return performance.now() - this.heard;
  }

  get lost_ms() {
    return this.#lost === null ? 0 : performance.now() - this.#lost;
  }

  #send(message) {
    if (this.#socket?.readyState === 1) this.#socket.send(JSON.stringify(message));
  }
}
