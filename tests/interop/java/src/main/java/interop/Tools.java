package interop;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/** One mqadmin command, and all it printed; what a command throws it prints. */
final class Tools {
    private Tools() {
    }

    static synchronized void mqadmin(Order order) {
        var printed = new ByteArrayOutputStream();
        var out = System.out;
        var err = System.err;
        var page = new PrintStream(printed, true, StandardCharsets.UTF_8);
        try {
            System.setOut(page);
            System.setErr(page);
            MQAdminStartup.main0(order.get("line").split(" "), null);
        } finally {
            System.setOut(out);
            System.setErr(err);
        }
        order.fact("printed", "text", printed.toString(StandardCharsets.UTF_8));
    }
}
