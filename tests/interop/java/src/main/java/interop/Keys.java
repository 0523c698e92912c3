package interop;

import org.apache.rocketmq.acl.common.AclClientRPCHook;
import org.apache.rocketmq.acl.common.SessionCredentials;
import org.apache.rocketmq.remoting.RPCHook;

/** What an order signs with. */
final class Keys {
    private Keys() {
    }

    /** Null where the order names no keys. */
    static RPCHook of(Order order) {
        return order.has("access_key")
            ? new AclClientRPCHook(new SessionCredentials(order.get("access_key"), order.get("secret_key"))) : null;
    }
}
