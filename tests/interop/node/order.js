'use strict';

const crypto = require('crypto');
const zlib = require('zlib');

const LONG_BYTES = 1000; // bodies beyond are told by their size and CRC alone

// Names the client needs to be given: its own logger writes all it does to standard output.
const QUIET = { info() {}, debug() {}, warn: console.error, error: console.error };

class Order {
  constructor(words) {
    [ this.number, this.verb ] = words;
    this.arguments = new Map(words.slice(2).map(word => {
      const cut = word.indexOf('=');
      return [ word.slice(0, cut), word.slice(cut + 1) ];
    }));
    this.stopped = new Promise(resolve => { this.stop = resolve; });
  }

  has(key) {
    return this.arguments.has(key);
  }

  get(key, otherwise) {
    return this.arguments.has(key) ? this.arguments.get(key) : otherwise;
  }

  int(key, otherwise) {
    return Number(this.get(key, otherwise));
  }

  // What every client is given; one of its own for each order.
  options(kind) {
    const keys = this.has('access_key') ? { accessKey: this.get('access_key'), secretKey: this.get('secret_key') } : {};
    return { nameSrv: [ this.get('namesrv') ], httpclient: {}, logger: QUIET,
      instanceName: `${kind}-${process.pid}-${this.number}`, ...keys };
  }

  isStoppedWithin(ms) {
    let timer;
    const passed = new Promise(resolve => { timer = setTimeout(resolve, ms, false); });
    return Promise.race([ this.stopped.then(() => true), passed ]).finally(() => clearTimeout(timer));
  }

  fact(kind, told = {}) {
    process.stdout.write(JSON.stringify({ order: this.number, fact: kind, ...told }) + '\n');
  }

  // The order's body number i: "{body}{i}"; or `size` bytes that are all the same or drawn by lot.
  body(i) {
    if (!this.has('size')) return Buffer.from(this.get('body', 'body ') + i);
    const size = this.int('size');
    return this.get('fill', 'same') === 'random' ? crypto.randomBytes(size) : Buffer.alloc(size, 'x');
  }
}

function told(message, queueId) {
  const body = message.body || Buffer.alloc(0);
  const property = name => (message.properties[name] === undefined ? null : message.properties[name]);
  return { topic: message.topic, queue: queueId, offset: message.queueOffset, msg_id: message.msgId,
    tag: property('TAGS'), keys: property('KEYS'), number: property('number'), note: property('note'),
    reconsume: message.reconsumeTimes, body: body.length > LONG_BYTES ? '' : body.toString(), size: body.length,
    crc: zlib.crc32 ? zlib.crc32(body) : null, sys_flag: message.sysFlag, born_ms: message.bornTimestamp,
    stored_ms: message.storeTimestamp, at_ms: Date.now() };
}

module.exports = { Order, told };
