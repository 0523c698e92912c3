package main

import (
	"context"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

const firstHeartbeat = 1500 * time.Millisecond

func request(o *order) error {
	sender, err := started(o)
	if err != nil {
		return err
	}
	defer sender.Shutdown()
	// An answer finds a client that has sent a heartbeat, which comes a second after its start to the brokers it then knows.
	hello := primitive.NewMessage(o.get("topic", "")+"-hello", []byte("hello"))
	if _, err := sender.SendSync(context.Background(), hello); err != nil {
		return err
	}
	o.isStoppedWithin(firstHeartbeat)
	answer, err := sender.Request(context.Background(), 20*time.Second, message(o, 0))
	if err != nil {
		return err
	}
	o.fact("replied", facts{"body": string(answer.Body), "at_ms": nowMs()})
	o.isStoppedWithin(lastAcks) // the broker still waits to hear that the answer came
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
