package interop;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;

/** A push consumer until it is told to stop. */
final class Consuming {
    private Consuming() {
    }

    static DefaultMQPushConsumer consumer(Order order) throws Exception {
        var consumer = new DefaultMQPushConsumer(order.get("group"), Keys.of(order), new AllocateMessageQueueAveragely());
        consumer.setNamesrvAddr(order.get("namesrv"));
        consumer.setInstanceName(order.get("instance",
            order.get("name", "consumer") + "-" + ProcessHandle.current().pid() + "-" + order.number));
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setConsumeThreadMin(2);
        consumer.setConsumeThreadMax(4);
        if (order.get("model", "clustering").equals("broadcasting")) {
            consumer.setMessageModel(Enum.valueOf(consumer.getMessageModel().getDeclaringClass(), "BROADCASTING"));
        }
        consumer.setHeartbeatBrokerInterval(order.number("heartbeat_ms", consumer.getHeartbeatBrokerInterval()));
        if (order.has("max_reconsume")) {
            consumer.setMaxReconsumeTimes(order.number("max_reconsume", 16));
        }
        if (order.has("sql")) {
            consumer.subscribe(order.get("topic"), MessageSelector.bySql(order.get("sql")));
        } else {
            consumer.subscribe(order.get("topic"), order.get("expression", "*"));
        }
        return consumer;
    }

    /**
     * fail: first (each message fails once), always.  orderly is a listener of the same kind.  work_ms per message;
     * slow_key: a message with this key takes slow_ms instead.
     */
    static void consume(Order order) throws Exception {
        var consumer = consumer(order);
        if (order.has("orderly")) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) ->
                took(order, messages) ? ConsumeOrderlyStatus.SUCCESS : ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT);
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) ->
                took(order, messages) ? ConsumeConcurrentlyStatus.CONSUME_SUCCESS : ConsumeConcurrentlyStatus.RECONSUME_LATER);
        }
        consumer.start();
        order.fact("started", "client_id", consumer.buildMQClientId(), "at_ms", System.currentTimeMillis());
        order.untilStopped();
        consumer.shutdown();
    }

    private static boolean took(Order order, List<MessageExt> messages) {
        var fails = order.get("fail", "never");
        boolean all = true;
        for (var message : messages) {
            received(order, message);
            boolean slow = order.has("slow_key") && order.get("slow_key").equals(message.getKeys());
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(order.number(slow ? "slow_ms" : "work_ms", 0)));
            all &= !fails.equals("always") && !(fails.equals("first") && message.getReconsumeTimes() == 0);
        }
        return all;
    }

    static void received(Order order, MessageExt message) {
        order.fact("received", "topic", message.getTopic(), "queue", message.getQueueId(), "offset", message.getQueueOffset(),
            "msg_id", message.getMsgId(), "tag", message.getTags(), "keys", message.getKeys(), "number",
            message.getProperty("number"), "note", message.getProperty("note"), "reconsume", message.getReconsumeTimes(),
            "body", Bodies.text(message.getBody()), "size", message.getBody().length, "crc", Bodies.crc(message.getBody()),
            "sys_flag", message.getSysFlag(), "born_ms", message.getBornTimestamp(), "stored_ms", message.getStoreTimestamp(),
            "at_ms", System.currentTimeMillis());
    }
}
