package interop;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyContext;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.RequestCallback;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/** Request and reply. */
final class Requests {
    private Requests() {
    }

    /** With a callback: 5.3.3's waiting form gives up as soon as the request is stored. */
    static void request(Order order) throws Exception {
        var producer = Sending.producer(order);
        var reply = new CompletableFuture<Message>();
        try {
            producer.request(Bodies.message(order, 0), new RequestCallback() {
                @Override
                public void onSuccess(Message message) {
                    if (message != null) { // it is also called, with nothing, when the request is stored
                        reply.complete(message);
                    }
                }

                @Override
                public void onException(Throwable why) {
                    reply.completeExceptionally(why);
                }
            }, order.number("patience_ms", 20_000));
            var message = reply.get(30, TimeUnit.SECONDS);
            order.fact("replied", "body", Bodies.text(message.getBody()), "correlation",
                message.getProperty("CORRELATION_ID"), "at_ms", System.currentTimeMillis());
            order.isStoppedWithin(500); // the broker, and through it who replied, wait to hear that the reply came
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
                    Sending.sent(order, 0, producer.send(reply, 10_000));
                } catch (Throwable why) {
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
