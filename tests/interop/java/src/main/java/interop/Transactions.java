package interop;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/** One transactional send: what the local transaction says first, and what it says when asked again. */
final class Transactions {
    private Transactions() {
    }

    static void transact(Order order) throws Exception {
        var asked = new CountDownLatch(order.has("later") ? 1 : 0);
        var producer = new TransactionMQProducer(order.get("group"));
        producer.setNamesrvAddr(order.get("namesrv"));
        producer.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
                return state(order.get("first"));
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                order.fact("checked", "msg_id", message.getMsgId(), "topic", message.getTopic(), "transaction",
                    message.getTransactionId(), "body", Bodies.text(message.getBody()), "offset", message.getQueueOffset(),
                    "at_ms", System.currentTimeMillis());
                asked.countDown();
                return state(order.get("later"));
            }
        });
        producer.start();
        try {
            Sending.sent(order, 0, producer.sendMessageInTransaction(Bodies.message(order, 0), null));
            if (!asked.await(order.number("patience_s", 60), TimeUnit.SECONDS)) {
                throw new IllegalStateException("nobody asked how the transaction ended");
            }
            order.isStoppedWithin(500); // the last word is one-way
        } finally {
            producer.shutdown();
        }
    }

    private static LocalTransactionState state(String word) {
        switch (word) {
            case "commit":
                return LocalTransactionState.COMMIT_MESSAGE;
            case "rollback":
                return LocalTransactionState.ROLLBACK_MESSAGE;
            default:
                return LocalTransactionState.UNKNOW;
        }
    }
}
