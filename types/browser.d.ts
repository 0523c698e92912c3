// What pages load beside our modules, and what modules hang on nodes that are drawn again and again.
import type Htmx from "htmx.org";
import type UPlot from "uplot";

declare global {
  const htmx: Omit<typeof Htmx, "ajax"> & { ajax(verb: string, path: string, context: object): Promise<void> };
  const uPlot: typeof UPlot;
  var Idiomorph: { defaults: { callbacks: { beforeNodeMorphed(old: Node, fresh: Node): boolean; beforeAttributeUpdated(name: string, node: Element): boolean } } };
  var queuevizLite: any; // the page around a tab of Lite (page_lite.js); in a tab, what address.js asks (lite/bridge.js)
  var queueviz: object; // a page's parts, for the console

  interface Event {
    readonly detail: any; // htmx's events and our own have one
  }
}
