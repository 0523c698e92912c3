'use strict';

const { Consumer } = require('ali-ons');
const { told } = require('./order');

// A push consumer until it is told to stop.  fail: first (each message fails once), always.
async function consume(order) {
  const options = { ...order.options(order.get('name', 'consumer')), consumerGroup: order.get('group'),
    consumeFromWhere: 'CONSUME_FROM_FIRST_OFFSET', isBroadcast: order.get('model') === 'broadcasting' };
  if (order.has('max_reconsume')) options.maxReconsumeTimes = order.int('max_reconsume');
  const consumer = new Consumer(options);
  consumer.on('error', why => console.error(why));
  const expression = order.has('sql') ? { expressionType: 'SQL92', subString: order.get('sql') } : order.get('expression', '*');
  const fails = order.get('fail', 'never');
  consumer.subscribe(order.get('topic'), expression, async message => {
    order.fact('received', told(message, message.queueId));
    if (fails === 'always' || fails === 'first' && message.reconsumeTimes === 0) throw new Error('as ordered');
  });
  await consumer.ready();
  order.fact('started', { client_id: consumer.clientId, at_ms: Date.now() });
  await order.stopped;
  await consumer.close();
}

module.exports = { consume };
