package interop;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A peer: reads orders from standard input and prints facts, one JSON object a line (tests/interop/peer.py).
 *
 * An order is "number TAB verb TAB key=value TAB ..."; the verb "stop" ends the order with that number.  Each order has a
 * thread of its own and ends with a fact "done" or "failed".
 */
public final class Main {
    static final PrintStream FACTS = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    static final Map<String, Verb> VERBS = new TreeMap<>();
    private static final Map<String, Order> RUNNING = new ConcurrentHashMap<>();

    private Main() {
    }

    public static void main(String[] args) throws Exception {
        VERBS.put("send", Sending::send);
        VERBS.put("batch", Sending::batch);
        VERBS.put("transact", Transactions::transact);
        VERBS.put("request", Requests::request);
        VERBS.put("reply", Requests::reply);
        VERBS.put("consume", Consuming::consume);
        VERBS.put("pull", Pulling::pull);
        VERBS.put("lite", LitePulling::lite);
        VERBS.put("beside", LongHeaders::beside);
        VERBS.put("query", Queries::query);
        VERBS.put("mqadmin", Tools::mqadmin);
        System.setOut(System.err); // what others print is no fact
        try (var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (var line = lines.readLine(); line != null; line = lines.readLine()) {
                take(line.split("\t"));
            }
        }
        System.exit(0); // the tests are gone
    }

    private static void take(String[] words) {
        if (words[1].equals("stop")) {
            var running = RUNNING.get(words[0]);
            if (running != null) {
                running.stop();
            }
            return;
        }
        var order = new Order(words);
        RUNNING.put(order.number, order);
        new Thread(() -> {
            try {
                VERBS.get(order.verb).carryOut(order);
                order.fact("done");
            } catch (Throwable why) {
                why.printStackTrace();
                order.fact("failed", "why", why.toString());
            }
            RUNNING.remove(order.number);
        }, "order " + order.number).start();
    }

    interface Verb {
        void carryOut(Order order) throws Exception;
    }
}
