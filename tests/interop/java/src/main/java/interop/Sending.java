package interop;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;

/** Sends of all kinds. */
final class Sending {
    private Sending() {
    }

    static DefaultMQProducer producer(Order order) throws Exception {
        var producer = new DefaultMQProducer(order.get("group", "senders"), Keys.of(order));
        producer.setNamesrvAddr(order.get("namesrv"));
        if (order.has("name")) {
            producer.setInstanceName(order.get("name"));
        }
        producer.setSendMsgTimeout(order.number("timeout_ms", 10_000));
        producer.setCompressMsgBodyOverHowmuch(order.number("compress_over", producer.getCompressMsgBodyOverHowmuch()));
        producer.start();
        return producer;
    }

    /** how: sync, async, each (async, queue = number of the message), oneway, selector (queue = number of the key). */
    static void send(Order order) throws Exception {
        var producer = producer(order);
        try {
            int count = order.number("count", 1);
            var left = new CountDownLatch(count);
            for (int i = 0; i < count; i++) {
                one(order, producer, i, left);
                if (order.has("every_ms") && order.isStoppedWithin(order.number("every_ms", 0))) {
                    return;
                }
            }
            if (!left.await(30, TimeUnit.SECONDS)) {
                throw new IllegalStateException(left.getCount() + " callbacks never came");
            }
            if (order.has("queues")) {
                order.fact("queues", "count", producer.fetchPublishMessageQueues(order.get("topic")).size());
            }
        } finally {
            producer.shutdown();
        }
    }

    private static void one(Order order, DefaultMQProducer producer, int i, CountDownLatch left) throws Exception {
        var message = Bodies.message(order, i);
        switch (order.get("how", "sync")) {
            case "async":
                producer.send(message, telling(order, i, left));
                return;
            case "each":
                producer.send(message, (queues, m, arg) -> queues.get((Integer) arg % queues.size()), i, telling(order, i, left));
                return;
            case "oneway":
                producer.sendOneway(message);
                break;
            case "selector":
                int key = i % order.number("keys", 3);
                message.setKeys(order.get("key", "k") + key);
                sent(order, i, producer.send(message, (queues, m, arg) -> queues.get((Integer) arg % queues.size()), key));
                break;
            default:
                sent(order, i, producer.send(message));
        }
        left.countDown();
    }

    static SendCallback telling(Order order, int i, CountDownLatch left) {
        return new SendCallback() {
            @Override
            public void onSuccess(SendResult result) {
                sent(order, i, result);
                left.countDown();
            }

            @Override
            public void onException(Throwable why) {
                order.fact("refused", "number", i, "why", why.toString());
                left.countDown();
            }
        };
    }

    static void batch(Order order) throws Exception {
        var producer = producer(order);
        try {
            List<Message> messages = new ArrayList<>();
            for (int i = 0; i < order.number("count", 3); i++) {
                messages.add(Bodies.message(order, i));
            }
            sent(order, 0, producer.send(messages));
        } finally {
            producer.shutdown();
        }
    }

    static void sent(Order order, int i, SendResult result) {
        order.fact("sent", "number", i, "status", result.getSendStatus(), "msg_id", result.getMsgId(), "offset_msg_id",
            result.getOffsetMsgId(), "queue", result.getMessageQueue().getQueueId(), "offset", result.getQueueOffset(),
            "broker", result.getMessageQueue().getBrokerName(), "transaction", result.getTransactionId(),
            "at_ms", System.currentTimeMillis());
    }
}
