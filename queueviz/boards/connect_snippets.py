"""The fewest lines with which a client of another language sends one message and reads on."""

from __future__ import annotations

from typing import NamedTuple


class Snippet(NamedTuple):
    language: str
    needs: str  # what to install
    code: str


JAVA = """\
DefaultMQProducer producer = new DefaultMQProducer("my-producer");
producer.setNamesrvAddr("{servers}");
producer.start();
System.out.println(producer.send(new Message("{topic}", "hello".getBytes())));

DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("{group}");
consumer.setNamesrvAddr("{servers}");
consumer.subscribe("{topic}", "*");
consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {{
    messages.forEach(System.out::println);
    return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
}});
consumer.start();
"""
PYTHON = """\
import time

from rocketmq.client import Message, Producer, PushConsumer

producer = Producer("my-producer")
producer.set_namesrv_addr("{servers}")
producer.start()
message = Message("{topic}")
message.set_body("hello")
print(producer.send_sync(message).msg_id)

consumer = PushConsumer("{group}")
consumer.set_namesrv_addr("{servers}")
consumer.subscribe("{topic}", lambda message: print(message.id, message.body))
consumer.start()
time.sleep(600)
"""
GO = """\
p, _ := rocketmq.NewProducer(
    producer.WithNameServer([]string{{{quoted}}}), producer.WithGroupName("my-producer"))
p.Start()
fmt.Println(p.SendSync(context.Background(), primitive.NewMessage("{topic}", []byte("hello"))))

c, _ := rocketmq.NewPushConsumer(
    consumer.WithNameServer([]string{{{quoted}}}), consumer.WithGroupName("{group}"))
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
const producer = new Producer({{ httpclient, nameSrv, producerGroup: "my-producer" }});
producer.ready(async () => console.log(await producer.send(new Message("{topic}", "TagA", "hello"))));

const consumer = new Consumer({{ httpclient, nameSrv, consumerGroup: "{group}" }});
consumer.subscribe("{topic}", "*", async (message) => console.log(message.body.toString()));
consumer.on("error", console.error);
"""


def snippets(servers: list[str], topic: str, group: str) -> list[Snippet]:
    """With the addresses (`ip:port`) and names filled in."""
    values = {"servers": ";".join(servers), "quoted": ", ".join(f'"{server}"' for server in servers), "topic": topic,
              "group": group}  # fmt: skip
    return [
        Snippet("Java", "org.apache.rocketmq:rocketmq-client:4.9.8", JAVA.format(**values)),
        Snippet("Python", "pip install rocketmq==0.4.4", PYTHON.format(**values)),
        Snippet("Go", "go get github.com/apache/rocketmq-client-go/v2", GO.format(**values)),
        Snippet("Node", "npm install ali-ons urllib", NODE.format(**values)),
    ]
