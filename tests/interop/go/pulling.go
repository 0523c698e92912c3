package main

import (
	"context"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/admin"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

var found = map[primitive.PullStatus]string{
	primitive.PullFound: "FOUND", primitive.PullNoNewMsg: "NO_NEW_MSG", primitive.PullNoMsgMatched: "NO_MATCHED_MSG",
	primitive.PullOffsetIllegal: "OFFSET_ILLEGAL", primitive.PullBrokerTimeout: "BROKER_TIMEOUT",
}

// Every queue of the topic from the committed offset to its end, two at a time; commits where it stopped.  With `at` the
// one message there, in `queue`.
func pull(o *order) error {
	resolver := primitive.NewPassthroughResolver([]string{o.get("namesrv", "")})
	tools, err := admin.NewAdmin(admin.WithResolver(resolver))
	if err != nil {
		return err
	}
	defer tools.Close()
	queues, err := tools.FetchPublishMessageQueues(context.Background(), o.get("topic", ""))
	if err != nil {
		return err
	}
	puller, err := rocketmq.NewPullConsumer(consumer.WithNsResolver(resolver), consumer.WithGroupName(o.get("group", "")),
		consumer.WithInstance(o.instance("puller")))
	if err != nil {
		return err
	}
	selector := consumer.MessageSelector{Type: consumer.TAG, Expression: o.get("expression", "*")}
	if err := puller.Subscribe(o.get("topic", ""), selector); err != nil {
		return err
	}
	if err := puller.Start(); err != nil {
		return err
	}
	defer puller.Shutdown()
	if o.has("at") {
		return onlyOne(o, puller, queues)
	}
	ended := make(chan error, len(queues)) // side by side: the broker holds a pull at the end for 20 s
	for _, queue := range queues {
		go func(queue *primitive.MessageQueue) { ended <- drain(o, puller, queue) }(queue)
	}
	for range queues {
		if err := <-ended; err != nil {
			return err
		}
	}
	if err := puller.PersistOffset(context.Background(), o.get("topic", "")); err != nil || !o.has("wait") {
		return err
	}
	return held(o, puller, queues[0])
}

func onlyOne(o *order, puller rocketmq.PullConsumer, queues []*primitive.MessageQueue) error {
	for _, queue := range queues {
		if queue.QueueId == o.int("queue", 0) {
			result, err := puller.PullFrom(context.Background(), queue, int64(o.int("at", 0)), 1)
			if err != nil {
				return err
			}
			for _, came := range result.GetMessageExts() {
				received(o, came)
			}
		}
	}
	return nil
}

// For a message that comes while the pull is held.
func held(o *order, puller rocketmq.PullConsumer, queue *primitive.MessageQueue) error {
	end, err := puller.CurrentOffset(queue)
	if err != nil {
		return err
	}
	o.fact("waiting", facts{"queue": queue.QueueId})
	result, err := puller.PullFrom(context.Background(), queue, end, 1)
	if err != nil {
		return err
	}
	o.fact("woken", facts{"status": found[result.Status], "at_ms": nowMs()})
	for _, came := range result.GetMessageExts() {
		received(o, came)
	}
	return nil
}

func drain(o *order, puller rocketmq.PullConsumer, queue *primitive.MessageQueue) error {
	at, err := puller.CurrentOffset(queue)
	if err != nil {
		return err
	}
	if at < 0 {
		at = 0
	}
	for from := at; ; {
		result, err := puller.PullFrom(context.Background(), queue, at, 2)
		if err != nil {
			return err
		}
		at = result.NextBeginOffset
		if result.Status == primitive.PullFound {
			for _, came := range result.GetMessageExts() {
				received(o, came)
			}
		} else if result.Status != primitive.PullNoMsgMatched {
			o.fact("end", facts{"queue": queue.QueueId, "status": found[result.Status], "from": from, "at": at,
				"min": result.MinOffset, "max": result.MaxOffset})
			return puller.UpdateOffset(queue, at)
		}
	}
}
