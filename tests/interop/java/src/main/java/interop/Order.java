package interop;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** One order with its arguments, and where its facts go. */
final class Order {
    final String number;
    final String verb;
    private final Map<String, String> arguments = new HashMap<>();
    private final CountDownLatch stopped = new CountDownLatch(1);

    Order(String[] words) {
        number = words[0];
        verb = words[1];
        for (int i = 2; i < words.length; i++) {
            int cut = words[i].indexOf('=');
            arguments.put(words[i].substring(0, cut), words[i].substring(cut + 1));
        }
    }

    String get(String name) {
        var value = arguments.get(name);
        if (value == null) {
            throw new IllegalArgumentException(verb + " needs " + name);
        }
        return value;
    }

    String get(String name, String otherwise) {
        return arguments.getOrDefault(name, otherwise);
    }

    int number(String name, int otherwise) {
        return Integer.parseInt(get(name, String.valueOf(otherwise)));
    }

    boolean has(String name) {
        return arguments.containsKey(name);
    }

    void stop() {
        stopped.countDown();
    }

    /** Wait for "stop"; without it the peer's end is the end. */
    void untilStopped() throws InterruptedException {
        stopped.await();
    }

    boolean isStoppedWithin(long ms) throws InterruptedException {
        return stopped.await(ms, TimeUnit.MILLISECONDS);
    }

    /** Names and values by turns; a value is a number, a boolean, null or a text. */
    void fact(String kind, Object... namesAndValues) {
        var line = new StringBuilder("{\"order\":").append(quoted(number)).append(",\"fact\":").append(quoted(kind));
        for (int i = 0; i < namesAndValues.length; i += 2) {
            line.append(',').append(quoted((String) namesAndValues[i])).append(':');
            var value = namesAndValues[i + 1];
            line.append(value == null || value instanceof Number || value instanceof Boolean ? value : quoted(value.toString()));
        }
        synchronized (Main.FACTS) {
            Main.FACTS.println(line.append('}'));
        }
    }

    private static String quoted(String text) {
        var out = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ' || c > '~') {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        return out.append('"').toString();
    }
}
