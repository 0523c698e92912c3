package main

import (
	"context"
	"errors"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// What a local transaction says first, and what it says when asked again.
type ends struct {
	o     *order
	asked chan struct{}
}

func (e *ends) ExecuteLocalTransaction(*primitive.Message) primitive.LocalTransactionState {
	return state(e.o.get("first", ""))
}

func (e *ends) CheckLocalTransaction(half *primitive.MessageExt) primitive.LocalTransactionState {
	e.o.fact("checked", facts{"msg_id": half.MsgId, "topic": half.Topic, "transaction": half.TransactionId,
		"body": string(half.Body), "offset": half.QueueOffset, "at_ms": nowMs()})
	select {
	case e.asked <- struct{}{}:
	default:
	}
	return state(e.o.get("later", ""))
}

func state(word string) primitive.LocalTransactionState {
	switch word {
	case "commit":
		return primitive.CommitMessageState
	case "rollback":
		return primitive.RollbackMessageState
	}
	return primitive.UnknowState
}

func transact(o *order) error {
	listener := &ends{o, make(chan struct{}, 1)}
	sender, err := rocketmq.NewTransactionProducer(listener, options(o)...)
	if err != nil {
		return err
	}
	if err := sender.Start(); err != nil {
		return err
	}
	defer sender.Shutdown()
	result, err := sender.SendMessageInTransaction(context.Background(), message(o, 0))
	if err != nil {
		return err
	}
	sent(o, 0, result.SendResult)
	if o.has("later") {
		select {
		case <-listener.asked:
		case <-time.After(time.Duration(o.int("patience_s", 60)) * time.Second):
			return errors.New("nobody asked how the transaction ended")
		}
	}
	o.isStoppedWithin(500 * time.Millisecond) // the last word is one-way
	return nil
}
