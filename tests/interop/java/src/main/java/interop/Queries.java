package interop;

import java.util.TreeSet;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** What one may ask a broker for. */
final class Queries {
    private Queries() {
    }

    /** by: key, unique, id, offset, time, ends. */
    static void query(Order order) throws Exception {
        var consumer = Pulling.consumer(order);
        try {
            var topic = order.get("topic");
            switch (order.get("by")) {
                case "key":
                    var found = consumer.queryMessage(topic, order.get("text"), 32, 0, Long.MAX_VALUE);
                    for (MessageExt message : found.getMessageList()) {
                        Consuming.received(order, message);
                    }
                    break;
                case "id": // an offset id is read at its broker; any other is looked for in the index
                case "unique":
                    Consuming.received(order, consumer.viewMessage(topic, order.get("text")));
                    break;
                case "time":
                    var at = new MessageQueue(topic, order.get("broker"), order.number("queue", 0));
                    order.fact("offset", "offset", consumer.searchOffset(at, Long.parseLong(order.get("text"))));
                    break;
                case "ends":
                    for (var queue : new TreeSet<>(consumer.fetchSubscribeMessageQueues(topic))) {
                        order.fact("ends", "queue", queue.getQueueId(), "min", consumer.minOffset(queue), "max",
                            consumer.maxOffset(queue), "earliest_ms", consumer.earliestMsgStoreTime(queue));
                    }
                    break;
                default:
                    throw new IllegalArgumentException(order.get("by"));
            }
        } finally {
            consumer.shutdown();
        }
    }
}
