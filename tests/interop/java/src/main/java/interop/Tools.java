package interop;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/** One mqadmin command, and all it printed; what a command throws it prints. */
final class Tools {
    private Tools() {
    }

    static synchronized void mqadmin(Order order) throws Exception {
        var home = Path.of("tools");
        Files.createDirectories(home.resolve("conf"));
        Files.writeString(home.resolve("conf/logback_tools.xml"), "<configuration><root level=\"OFF\"/></configuration>");
        System.setProperty("rocketmq.home.dir", home.toString()); // before the tools look for it
        var printed = new ByteArrayOutputStream();
        var out = System.out;
        var err = System.err;
        var page = new PrintStream(printed, true, StandardCharsets.UTF_8);
        try {
            System.setOut(page);
            System.setErr(page);
            MQAdminStartup.main0((order.get("line") + " -n " + order.get("namesrv")).split(" "), null);
        } finally {
            System.setOut(out);
            System.setErr(err);
        }
        order.fact("printed", "text", printed.toString(StandardCharsets.UTF_8));
    }
}
