package interop;

import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyContext;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.message.MessageExt;

/** Request and reply. */
final class Requests {
    private Requests() {
    }

    static void request(Order order) throws Exception {
        var producer = Sending.producer(order);
        try {
            var reply = producer.request(Bodies.message(order, 0), order.number("patience_ms", 20_000));
            order.fact("replied", "body", Bodies.text(reply.getBody()), "correlation",
                reply.getProperty("CORRELATION_ID"), "at_ms", System.currentTimeMillis());
        } finally {
            producer.shutdown();
        }
    }

    static void reply(Order order) throws Exception {
        var producer = Sending.producer(order);
        var consumer = Consuming.consumer(order);
        consumer.registerMessageListener(new MessageListenerConcurrently() {
            @Override
            public ConsumeConcurrentlyStatus consumeMessage(List<MessageExt> messages, ConsumeConcurrentlyContext context) {
                for (var message : messages) {
                    answer(message);
                }
                return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            }

            private void answer(MessageExt message) {
                try {
                    var text = "re: " + Bodies.text(message.getBody());
                    var reply = MessageUtil.createReplyMessage(message, text.getBytes(StandardCharsets.UTF_8));
                    Sending.sent(order, 0, producer.send(reply, 3_000));
                } catch (Exception why) {
                    order.fact("refused", "number", 0, "why", why.toString());
                }
            }
        });
        consumer.start();
        order.fact("started");
        order.untilStopped();
        consumer.shutdown();
        producer.shutdown();
    }
}
