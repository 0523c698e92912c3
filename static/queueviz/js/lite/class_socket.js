/* The socket of a course's run to the server. It connects again after a cut; what has no receipt then is sent again
   (`sandbox.lite.class_run`). */
const PROTOCOL = "queueviz.lite.1";
const SOONEST_MS = 400, LATEST_MS = 4000, SILENT_MS = 15000, LOOK_MS = 2000;
const NOT_YOURS = 4403;

export class ClassSocket {
  #socket = /** @type {WebSocket | null} */ (null);
  #tries = 0;
  #heard_ms = 0;
  #ended = false;

  /**
   * @param {string} url
   * @param {{ connected: () => void, disconnected: () => void, hear: (text: string) => void, refused: () => void }} run
   */
  constructor(url, run) {
    this.url = url;
    this.run = run;
    this.#connect();
    setInterval(() => this.#look(), LOOK_MS);
    self.addEventListener("online", () => this.#socket ?? this.#connect());
  }

  /** @param {string} text */
  send(text) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(text);
  }

  end() {
    this.#ended = true;
    this.#socket?.close();
  }

  #connect() {
    if (this.#ended) return;
    const socket = (this.#socket = new WebSocket(this.url, PROTOCOL));
    this.#heard_ms = Date.now();
    socket.onopen = () => this.run.connected();
    socket.onmessage = ({ data }) => {
      this.#heard_ms = Date.now();
      this.#tries = 0;
      this.run.hear(data);
    };
    socket.onclose = ({ code }) => socket === this.#socket && this.#closed(code);
  }

  #closed(code) {
    this.#socket = null;
    this.run.disconnected();
    if (this.#ended) return;
    if (code === NOT_YOURS) {
      this.#ended = true;
      return this.run.refused();
    }
    const most_ms = Math.min(LATEST_MS, SOONEST_MS * 2 ** this.#tries++); // a class must not come back in one moment
    setTimeout(() => this.#socket ?? this.#connect(), most_ms * (0.5 + Math.random() / 2));
  }

  /** A computer that slept has a socket that says nothing any more, and does not end either. */
  #look() {
    const socket = this.#socket;
    if (!socket || Date.now() - this.#heard_ms < SILENT_MS) return;
    socket.onclose = null;
    socket.close();
    this.#closed(0);
  }
}
