package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/admin"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

var statuses = map[primitive.SendStatus]string{
	primitive.SendOK: "SEND_OK", primitive.SendFlushDiskTimeout: "FLUSH_DISK_TIMEOUT",
	primitive.SendFlushSlaveTimeout: "FLUSH_SLAVE_TIMEOUT", primitive.SendSlaveNotAvailable: "SLAVE_NOT_AVAILABLE",
}

func options(o *order) []producer.Option {
	made := []producer.Option{
		producer.WithNsResolver(primitive.NewPassthroughResolver([]string{o.get("namesrv", "")})),
		producer.WithGroupName(o.get("group", "senders")),
		producer.WithInstanceName(o.instance("sender")),
		producer.WithSendMsgTimeout(time.Duration(o.int("timeout_ms", 10_000)) * time.Millisecond),
		producer.WithCompressMsgBodyOverHowmuch(o.int("compress_over", 4096)),
	}
	if o.has("access_key") {
		made = append(made, producer.WithCredentials(keys(o)))
	}
	if o.get("how", "") == "selector" {
		made = append(made, producer.WithQueueSelector(producer.NewHashQueueSelector()))
	}
	return made
}

func keys(o *order) primitive.Credentials {
	return primitive.Credentials{AccessKey: o.get("access_key", ""), SecretKey: o.get("secret_key", "")}
}

func started(o *order) (rocketmq.Producer, error) {
	made, err := rocketmq.NewProducer(options(o)...)
	if err != nil {
		return nil, err
	}
	return made, made.Start()
}

// how: sync, async, oneway, selector (queue by the hash of a key).
func send(o *order) error {
	sender, err := started(o)
	if err != nil {
		return err
	}
	defer sender.Shutdown()
	var left sync.WaitGroup
	for i := 0; i < o.int("count", 1); i++ {
		if err := one(o, sender, i, &left); err != nil {
			return err
		}
		if o.has("every_ms") && o.isStoppedWithin(time.Duration(o.int("every_ms", 0))*time.Millisecond) {
			return nil
		}
	}
	left.Wait()
	if o.get("how", "") == "oneway" {
		return askOnTheSameConnection(o, sender)
	}
	if o.has("queues") {
		return queues(o)
	}
	return nil
}

func one(o *order, sender rocketmq.Producer, i int, left *sync.WaitGroup) error {
	made := message(o, i)
	switch o.get("how", "sync") {
	case "async":
		left.Add(1)
		return sender.SendAsync(context.Background(), func(_ context.Context, result *primitive.SendResult, err error) {
			defer left.Done()
			if err != nil {
				o.fact("refused", facts{"number": i, "why": fmt.Sprint(err)})
			} else {
				sent(o, i, result)
			}
		}, made)
	case "oneway":
		return sender.SendOneWay(context.Background(), made)
	case "selector":
		key := o.get("key", "k") + strconv.Itoa(i%o.int("keys", 3))
		made.WithKeys([]string{key}).WithShardingKey(key)
	}
	result, err := sender.SendSync(context.Background(), made)
	if err != nil {
		return err
	}
	sent(o, i, result)
	return nil
}

// Wait until the broker has read what was sent before: a connection that is closed with an unread answer is reset, and
// what the other side has not read yet is lost.
func askOnTheSameConnection(o *order, sender rocketmq.Producer) error {
	_, err := sender.SendSync(context.Background(), primitive.NewMessage(o.get("topic", "")+"-last", []byte("last")))
	return err
}

func queues(o *order) error {
	tools, err := admin.NewAdmin(admin.WithResolver(primitive.NewPassthroughResolver([]string{o.get("namesrv", "")})))
	if err != nil {
		return err
	}
	defer tools.Close()
	found, err := tools.FetchPublishMessageQueues(context.Background(), o.get("topic", ""))
	o.fact("queues", facts{"count": len(found)})
	return err
}

func batch(o *order) error {
	sender, err := started(o)
	if err != nil {
		return err
	}
	defer sender.Shutdown()
	var messages []*primitive.Message
	for i := 0; i < o.int("count", 3); i++ {
		messages = append(messages, message(o, i))
	}
	result, err := sender.SendSync(context.Background(), messages...)
	if err != nil {
		return err
	}
	sent(o, 0, result)
	return nil
}

func sent(o *order, i int, result *primitive.SendResult) {
	o.fact("sent", facts{"number": i, "status": statuses[result.Status], "msg_id": result.MsgID,
		"offset_msg_id": result.OffsetMsgID, "queue": result.MessageQueue.QueueId, "offset": result.QueueOffset,
		"broker": result.MessageQueue.BrokerName, "transaction": result.TransactionID, "at_ms": nowMs()})
}
