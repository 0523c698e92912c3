package interop;

import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.common.message.Message;

/** A producer and a pull consumer with one connection between them, whose headers are long now and then. */
final class LongHeaders {
    private LongHeaders() {
    }

    /**
     * `count` messages, and with each `every`th of them: one with a property of `escaped` control characters, which are
     * six letters each in JSON; one with a property of `too_long` characters; a pull with `expression` of the first queue.
     */
    static void beside(Order order) throws Exception {
        var producer = Sending.producer(order);
        var consumer = Pulling.consumer(order);
        try {
            var queue = new TreeSet<>(consumer.fetchSubscribeMessageQueues(order.get("topic"))).first();
            int count = order.number("count", 1000);
            int every = order.number("every", 100);
            var left = new CountDownLatch(count + 2 * (count / every));
            for (int i = 0; i < count; i++) {
                producer.send(Bodies.message(order, i), Sending.telling(order, i, left));
                if (i % every == 0) {
                    producer.send(noted(order, i, "x" + "\u0003".repeat(order.number("escaped", 1))), Sending.telling(order, i, left));
                    producer.send(noted(order, i, "x".repeat(order.number("too_long", 1))), Sending.telling(order, i, left));
                    var found = consumer.pull(queue, order.get("expression"), 0, 32);
                    order.fact("pulled", "status", found.getPullStatus());
                    if (found.getPullStatus() == PullStatus.FOUND) {
                        found.getMsgFoundList().forEach(message -> Consuming.received(order, message));
                    }
                }
            }
            if (!left.await(30, TimeUnit.SECONDS)) {
                throw new IllegalStateException(left.getCount() + " callbacks never came");
            }
        } finally {
            consumer.shutdown();
            producer.shutdown();
        }
    }

    private static Message noted(Order order, int i, String note) {
        var message = Bodies.message(order, i);
        message.putUserProperty("note", note);
        return message;
    }
}
