'use strict';

const { Message, Producer } = require('ali-ons');

// The order's message number i: keys "{key}{i}", tags in turn.
function message(order, i) {
  const tags = order.get('tags', '').split(',');
  const tag = tags[i % tags.length];
  const made = new Message(order.get('topic'), tag, order.body(i));
  if (!tag) delete made.properties.TAGS;
  made.keys = [ order.get('key', 'k') + i ];
  if (order.has('level')) made.delayTimeLevel = order.int('level');
  if (order.has('property')) made.properties.note = order.get('property');
  made.properties.number = String(i);
  return made;
}

// how: sync (each is awaited), async (none is until the end), selector (queue by the hash of a key).
async function send(order) {
  const producer = new Producer({ ...order.options('sender'), producerGroup: order.get('group', 'senders'),
    sendMsgTimeout: order.int('timeout_ms', 10000), compressMsgBodyOverHowmuch: order.int('compress_over', 4096) });
  producer.on('error', why => console.error(why));
  await producer.ready();
  const how = order.get('how', 'sync');
  const under = [];
  try {
    for (let i = 0; i < order.int('count', 1); i++) {
      const made = message(order, i);
      if (how === 'selector') {
        const key = order.get('key', 'k') + i % order.int('keys', 3);
        made.keys = [ key ];
        made.shardingKey = key; // ali-ons keeps no key at queue 0: none of k0, k1, k2 goes there
      }
      const sending = producer.send(made).then(result => sent(order, i, result));
      if (how === 'async') under.push(sending);
      else await sending;
      if (order.has('every_ms') && await order.isStoppedWithin(order.int('every_ms'))) return;
    }
    await Promise.all(under);
  } finally {
    await producer.close();
  }
}

// ali-ons tells the broker's id of a message alone.
function sent(order, i, result) {
  order.fact('sent', { number: i, status: result.sendStatus, msg_id: result.msgId, offset_msg_id: result.msgId,
    queue: Number(result.messageQueue.queueId), offset: result.queueOffset, broker: result.messageQueue.brokerName,
    at_ms: Date.now() });
}

module.exports = { send };
