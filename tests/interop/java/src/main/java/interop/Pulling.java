package interop;

import java.util.TreeSet;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.common.message.MessageQueue;

/** The pull consumer whose offsets the application keeps. */
final class Pulling {
    private Pulling() {
    }

    static DefaultMQPullConsumer consumer(Order order) throws Exception {
        var consumer = new DefaultMQPullConsumer(order.get("group"));
        consumer.setNamesrvAddr(order.get("namesrv"));
        consumer.setInstanceName(order.get("name", "puller-" + ProcessHandle.current().pid() + "-" + order.number));
        if (order.has("name")) {
            consumer.setEnableStreamRequestType(false); // its client id is that of every other one of this name
        }
        consumer.start();
        return consumer;
    }

    /**
     * Every queue of the topic from the committed offset to its end, two at a time; commits where it stopped.  With `at`
     * the one message there, in `queue` of `broker`.
     */
    static void pull(Order order) throws Exception {
        var consumer = consumer(order);
        try {
            if (order.has("at")) {
                var queue = new MessageQueue(order.get("topic"), order.get("broker"), order.number("queue", 0));
                var found = consumer.pull(queue, "*", order.number("at", 0), 1);
                found.getMsgFoundList().forEach(message -> Consuming.received(order, message));
                return;
            }
            for (var queue : new TreeSet<>(consumer.fetchSubscribeMessageQueues(order.get("topic")))) {
                long at = Math.max(0, consumer.fetchConsumeOffset(queue, true));
                long from = at;
                while (true) {
                    var found = consumer.pull(queue, order.get("expression", "*"), at, 2);
                    at = found.getNextBeginOffset();
                    if (found.getPullStatus() == PullStatus.FOUND) {
                        found.getMsgFoundList().forEach(message -> Consuming.received(order, message));
                    } else if (found.getPullStatus() != PullStatus.NO_MATCHED_MSG) {
                        order.fact("end", "queue", queue.getQueueId(), "status", found.getPullStatus(), "from", from, "at", at,
                            "min", found.getMinOffset(), "max", found.getMaxOffset());
                        break;
                    }
                }
                consumer.updateConsumeOffset(queue, at);
                consumer.getOffsetStore().persist(queue);
            }
            if (order.has("wait")) { // for a message that comes while the pull is held
                var queue = new TreeSet<>(consumer.fetchSubscribeMessageQueues(order.get("topic"))).first();
                order.fact("waiting", "queue", queue.getQueueId());
                var found = consumer.pullBlockIfNotFound(queue, "*", consumer.maxOffset(queue), 1);
                order.fact("woken", "status", found.getPullStatus(), "at_ms", System.currentTimeMillis());
                found.getMsgFoundList().forEach(message -> Consuming.received(order, message));
            }
        } finally {
            consumer.shutdown();
        }
    }
}
