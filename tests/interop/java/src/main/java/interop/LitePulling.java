package interop;

import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;

/** The lite pull consumer, by hand or in a group. */
final class LitePulling {
    private LitePulling() {
    }

    /** mode: subscribe, assign; seek: "begin", "end" or an offset for every queue, once the first messages came. */
    static void lite(Order order) throws Exception {
        var consumer = new DefaultLitePullConsumer(order.get("group"));
        consumer.setNamesrvAddr(order.get("namesrv"));
        consumer.setInstanceName("lite-" + ProcessHandle.current().pid() + "-" + order.number);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setAutoCommit(false);
        consumer.setPullThreadNums(2);
        boolean assigns = order.get("mode").equals("assign");
        if (!assigns) {
            consumer.subscribe(order.get("topic"), order.get("expression", "*"));
        }
        consumer.start();
        order.fact("started");
        try {
            var topic = order.get("topic");
            if (assigns) {
                consumer.assign(consumer.fetchMessageQueues(topic));
            }
            poll(order, consumer, order.number("count", 1));
            if (order.has("seek")) {
                order.fact("sought");
                for (var queue : consumer.fetchMessageQueues(topic)) {
                    switch (order.get("seek")) {
                        case "begin":
                            consumer.seekToBegin(queue);
                            break;
                        case "end":
                            consumer.seekToEnd(queue);
                            break;
                        default:
                            consumer.seek(queue, order.number("seek", 0));
                    }
                }
                poll(order, consumer, order.number("again", 0));
            }
            consumer.commitSync();
            for (var queue : consumer.fetchMessageQueues(topic)) {
                order.fact("committed", "queue", queue.getQueueId(), "offset", consumer.committed(queue));
            }
        } finally {
            consumer.shutdown();
        }
    }

    /** Until so many came, or nothing came for long; then once more, for one too many. */
    private static void poll(Order order, DefaultLitePullConsumer consumer, int count) {
        int came = 0;
        long until = System.currentTimeMillis() + 30_000;
        while (came < count && System.currentTimeMillis() < until) {
            for (var message : consumer.poll(500)) {
                Consuming.received(order, message);
                came++;
            }
        }
        for (var message : consumer.poll(500)) {
            Consuming.received(order, message);
        }
    }
}
