'use strict';

// A peer: reads orders from standard input and prints facts, one JSON object a line (tests/interop/peer.py).

const readline = require('readline');
const { Order } = require('./order');
const { send } = require('./sending');
const { consume } = require('./consuming');

const verbs = { send, consume };
const running = new Map();

async function carryOut(order) {
  try {
    if (!verbs[order.verb]) throw new Error(`no verb ${order.verb}`);
    await verbs[order.verb](order);
    order.fact('done');
  } catch (why) {
    order.fact('failed', { why: String(why) });
  }
  running.delete(order.number);
}

const lines = readline.createInterface({ input: process.stdin });
lines.on('line', line => {
  const words = line.split('\t');
  if (words[1] === 'stop') {
    const asked = running.get(words[0]);
    if (asked) asked.stop();
    return;
  }
  const order = new Order(words);
  running.set(order.number, order);
  carryOut(order);
});
lines.on('close', () => process.exit(0)); // the tests are gone
