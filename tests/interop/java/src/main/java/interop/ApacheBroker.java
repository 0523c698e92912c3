package interop;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/**
 * Apache's own name server and broker in this process, to see what is right (`script/test interop --against apache`).
 *
 * Arguments: a directory, the store's, the name server's port, the broker's port, and lines for the broker's
 * configuration.  By reflection, because the clients are built without them; 4.9 and 5.3 start alike.
 */
public final class ApacheBroker {
    private ApacheBroker() {
    }

    public static void main(String[] args) throws Exception {
        var home = Path.of(args[0]);
        var store = Path.of(args[1]);
        int namesrvPort = Integer.parseInt(args[2]);
        var silent = "<configuration><root level=\"OFF\"/></configuration>";
        Files.createDirectories(home.resolve("conf"));
        for (var name : new String[] {"namesrv", "broker"}) {
            Files.writeString(home.resolve("conf/logback_" + name + ".xml"), silent);
        }
        var namesrv = Map.of("rocketmqHome", home, "listenPort", namesrvPort, "kvConfigPath", home.resolve("kv.json"),
            "configStorePath", home.resolve("namesrv.properties"));
        var broker = Map.of("rocketmqHome", home, "listenPort", args[3], "namesrvAddr", "127.0.0.1:" + namesrvPort,
            "brokerIP1", "127.0.0.1", "brokerIP2", "127.0.0.1", "storePathRootDir", store,
            "storePathCommitLog", store.resolve("commitlog"));
        start("org.apache.rocketmq.namesrv.NamesrvStartup", file(home, "namesrv.conf", namesrv, ""));
        start("org.apache.rocketmq.broker.BrokerStartup", file(home, "broker.conf", broker, args[4]));
        System.out.println("ready");
        while (System.in.read() >= 0) { // until the tests are gone
        }
        System.exit(0);
    }

    private static String file(Path home, String name, Map<String, ?> settings, String more) throws Exception {
        var text = new StringBuilder(more).append('\n');
        settings.forEach((key, value) -> text.append(key).append('=').append(value).append('\n'));
        return Files.writeString(home.resolve(name), text).toString();
    }

    private static void start(String name, String file) throws Exception {
        Class.forName(name).getMethod("main", String[].class).invoke(null, (Object) new String[] {"-c", file});
    }
}
