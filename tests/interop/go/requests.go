package main

import (
	"context"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

func request(o *order) error {
	sender, err := started(o)
	if err != nil {
		return err
	}
	defer sender.Shutdown()
	answer, err := sender.Request(context.Background(), 20*time.Second, message(o, 0))
	if err != nil {
		return err
	}
	o.fact("replied", facts{"body": string(answer.Body), "at_ms": nowMs()})
	return nil
}

// A push consumer that answers "re: {body}" until it is told to stop.
func reply(o *order) error {
	replies, err := rocketmq.NewProducer(append(options(o), producer.WithGroupName("repliers"))...)
	if err != nil {
		return err
	}
	if err := replies.Start(); err != nil {
		return err
	}
	defer replies.Shutdown()
	return listen(o, func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, came := range messages {
			answer, err := consumer.CreateReplyMessage(came, nil)
			if err != nil {
				return consumer.ConsumeRetryLater, err
			}
			answer.Body = append([]byte("re: "), came.Body...) // the maker takes the body for properties
			result, err := replies.SendSync(context.Background(), answer)
			if err != nil {
				return consumer.ConsumeRetryLater, err
			}
			sent(o, 0, result)
		}
		return consumer.ConsumeSuccess, nil
	})
}
