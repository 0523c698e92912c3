package interop;

import java.nio.charset.StandardCharsets;
import java.util.Random;
import java.util.zip.CRC32;
import org.apache.rocketmq.common.message.Message;

/** What messages are made of, and what is told of those that came. */
final class Bodies {
    private Bodies() {
    }

    /**
     * The order's message number i: keys "{key}{i}", tags in turn, body "{body}{i}"; or `size` bytes that are all the same
     * (fill=same) or drawn by lot (fill=random).
     */
    static Message message(Order order, int i) {
        var tags = order.get("tags", "").split(",", -1);
        var tag = tags[i % tags.length];
        var message = new Message(order.get("topic"), tag, order.get("key", "k") + i, body(order, i));
        if (tag.isEmpty()) {
            message.setTags(null);
        }
        if (order.has("level")) {
            message.setDelayTimeLevel(order.number("level", 0));
        }
        if (order.has("property")) {
            message.putUserProperty("note", order.get("property"));
        }
        message.putUserProperty("number", String.valueOf(i));
        return message;
    }

    private static byte[] body(Order order, int i) {
        if (!order.has("size")) {
            return (order.get("body", "body ") + i).getBytes(StandardCharsets.UTF_8);
        }
        var bytes = new byte[order.number("size", 0)];
        if (order.get("fill", "same").equals("random")) {
            new Random(i).nextBytes(bytes);
        } else {
            java.util.Arrays.fill(bytes, (byte) 'x');
        }
        return bytes;
    }

    static long crc(byte[] bytes) {
        var crc = new CRC32();
        crc.update(bytes);
        return crc.getValue();
    }

    /** Short bodies as text; of all the size and the CRC-32. */
    static String text(byte[] bytes) {
        return bytes.length > 1000 ? "" : new String(bytes, StandardCharsets.UTF_8);
    }
}
