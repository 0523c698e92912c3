/* The reset as a page of its own, for deep links; offline it goes to the Board after applying, where the pins travel. */
import { go } from "./address.js";
import { $ } from "./dom.js";
import { startReset } from "./reset.js";
import { show, startShell } from "./shell.js";

const page = startShell();
const { config, live, clock } = page;
let board = null;
if (config.channels.board) show(page, config.channels.board, (data) => (board = data));
startReset($(".resetpage"), {
  config,
  live,
  clock,
  board: () => board,
  done: () => {
    go(`${config.root}?${new URLSearchParams({ group: config.group ?? "", topic: config.topic ?? "" })}`);
  },
});
