/* The reset as a page of its own, for deep links; after applying it goes to the Board, where the pins travel. */
import { $ } from "./dom.js";
import { startReset } from "./reset.js";
import { show, startShell } from "./shell.js";

const page = startShell();
const { config, live } = page;
if (config.channels.board) show(page, config.channels.board, () => {});
startReset($(".resetpage"), {
  live,
  done: () => {
    location.href = `/s/${config.slug}/?${new URLSearchParams({ group: config.group ?? "", topic: config.topic ?? "" })}`;
  },
});
