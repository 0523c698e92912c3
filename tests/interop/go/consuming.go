package main

import (
	"context"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// What a listener returned is counted a moment later, and a client that shuts down does not wait for it.
const lastAcks = 300 * time.Millisecond

type listener func(context.Context, ...*primitive.MessageExt) (consumer.ConsumeResult, error)

// fail: first (each message fails once), always.
func consume(o *order) error {
	return listen(o, func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		fails, result := o.get("fail", "never"), consumer.ConsumeSuccess
		for _, came := range messages {
			received(o, came)
			if fails == "always" || fails == "first" && came.ReconsumeTimes == 0 {
				result = consumer.ConsumeRetryLater
				if o.has("orderly") {
					result = consumer.SuspendCurrentQueueAMoment
				}
			}
		}
		return result, nil
	})
}

// A push consumer until it is told to stop.
func listen(o *order, heard listener) error {
	options := []consumer.Option{
		consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{o.get("namesrv", "")})),
		consumer.WithGroupName(o.get("group", "")),
		consumer.WithInstance(o.instance(o.get("name", "consumer"))),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
		consumer.WithConsumerOrder(o.has("orderly")),
		consumer.WithConsumeGoroutineNums(4),
	}
	if o.has("access_key") {
		options = append(options, consumer.WithCredentials(keys(o)))
	}
	if o.get("model", "") == "broadcasting" {
		options = append(options, consumer.WithConsumerModel(consumer.BroadCasting))
	}
	if o.has("max_reconsume") {
		options = append(options, consumer.WithMaxReconsumeTimes(int32(o.int("max_reconsume", 16))))
	}
	made, err := rocketmq.NewPushConsumer(options...)
	if err != nil {
		return err
	}
	selector := consumer.MessageSelector{Type: consumer.TAG, Expression: o.get("expression", "*")}
	if o.has("sql") {
		selector = consumer.MessageSelector{Type: consumer.SQL92, Expression: o.get("sql", "")}
	}
	if err := made.Subscribe(o.get("topic", ""), selector, heard); err != nil {
		return err
	}
	if err := made.Start(); err != nil {
		return err
	}
	o.fact("started", facts{"at_ms": nowMs()})
	<-o.stopped
	time.Sleep(lastAcks)
	return made.Shutdown()
}
