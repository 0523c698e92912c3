"""Minimal code examples in other languages: a client that sends one message and then consumes."""

from __future__ import annotations

from typing import NamedTuple


class Snippet(NamedTuple):
    language: str
    needs: str  # what to install
    code: str


JAVA = """\
{signs}DefaultMQProducer producer = new DefaultMQProducer("my-producer"{hook});
producer.setNamesrvAddr("{servers}");
producer.start();
System.out.println(producer.send(new Message("{topic}", "hello".getBytes())));

DefaultMQPushConsumer consumer = new DefaultMQPushConsumer({constructed});
consumer.setNamesrvAddr("{servers}");
consumer.subscribe("{topic}", "*");
consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {{
    messages.forEach(System.out::println);
    return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
}});
consumer.start();
"""
PYTHON = """\
{imports}import time

from rocketmq.client import Message, Producer, PushConsumer

producer = Producer("my-producer")
producer.set_namesrv_addr("{servers}")
{producer_signs}producer.start()
message = Message("{topic}")
message.set_body("hello")
print(producer.send_sync(message).msg_id)

consumer = PushConsumer("{group}")
consumer.set_namesrv_addr("{servers}")
{consumer_signs}consumer.subscribe("{topic}", lambda message: print(message.id, message.body))
consumer.start()
time.sleep(600)
"""
GO = """\
p, _ := rocketmq.NewProducer(
    producer.WithNameServer([]string{{{quoted}}}), producer.WithGroupName("my-producer"){producer_signs})
p.Start()
fmt.Println(p.SendSync(context.Background(), primitive.NewMessage("{topic}", []byte("hello"))))

c, _ := rocketmq.NewPushConsumer(
    consumer.WithNameServer([]string{{{quoted}}}), consumer.WithGroupName("{group}"){consumer_signs})
c.Subscribe("{topic}", consumer.MessageSelector{{}},
    func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {{
        fmt.Println(messages)
        return consumer.ConsumeSuccess, nil
    }})
c.Start()
select {{}}
"""
NODE = """\
const httpclient = require("urllib");
const {{ Consumer, Message, Producer }} = require("ali-ons");

const nameSrv = "{servers}";
const producer = new Producer({{ httpclient, nameSrv, producerGroup: "my-producer"{signs} }});
producer.ready(async () => console.log(await producer.send(new Message("{topic}", "TagA", "hello"))));

const consumer = new Consumer({{ httpclient, nameSrv, consumerGroup: "{group}"{signs} }});
consumer.subscribe("{topic}", "*", async (message) => console.log(message.body.toString()));
consumer.on("error", console.error);
"""


SECRET = "ROCKETMQ_SECRET_KEY"  # the environment variable the lines take the secret from


def snippets(servers: list[str], topic: str, group: str, access_key: str | None = None) -> list[Snippet]:
    """Return the code examples with the addresses (`ip:port`) and names filled in.

    With an access key the examples sign their requests.
    """
    values = {
        "servers": ";".join(servers),
        "quoted": ", ".join(f'"{server}"' for server in servers),
        "topic": topic,
        "group": group,
    }
    java, python, go, node = _signing(access_key, group) if access_key else _unsigned(group)
    acl = " and rocketmq-acl:4.9.8" if access_key else ""
    return [
        Snippet("Java", f"org.apache.rocketmq:rocketmq-client:4.9.8{acl}", JAVA.format(**values, **java)),
        Snippet("Python", "pip install rocketmq==0.4.4", PYTHON.format(**values, **python)),
        Snippet("Go", "go get github.com/apache/rocketmq-client-go/v2", GO.format(**values, **go)),
        Snippet("Node", "npm install ali-ons urllib", NODE.format(**values, **node)),
    ]


Parts = dict[str, str]


def _unsigned(group: str) -> tuple[Parts, Parts, Parts, Parts]:
    return (
        {"signs": "", "hook": "", "constructed": f'"{group}"'},
        {"imports": "", "producer_signs": "", "consumer_signs": ""},
        {"producer_signs": "", "consumer_signs": ""},
        {"signs": ""},
    )


def _signing(key: str, group: str) -> tuple[Parts, Parts, Parts, Parts]:
    hook = f'RPCHook keys = new AclClientRPCHook(new SessionCredentials("{key}", System.getenv("{SECRET}")));\n'
    python = f'.set_session_credentials("{key}", os.environ["{SECRET}"], "ALIYUN")\n'
    go = f'WithCredentials(primitive.Credentials{{AccessKey: "{key}", SecretKey: os.Getenv("{SECRET}")}})'
    return (
        {"signs": hook, "hook": ", keys", "constructed": f'"{group}", keys, new AllocateMessageQueueAveragely()'},
        {"imports": "import os\n", "producer_signs": f"producer{python}", "consumer_signs": f"consumer{python}"},
        {"producer_signs": f",\n    producer.{go}", "consumer_signs": f",\n    consumer.{go}"},
        {"signs": f',\n  accessKey: "{key}", secretKey: process.env.{SECRET}'},
    )
