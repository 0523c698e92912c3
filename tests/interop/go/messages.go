package main

import (
	"bytes"
	"hash/crc32"
	"math/rand"
	"strconv"
	"strings"

	"github.com/apache/rocketmq-client-go/v2/primitive"
)

const longBytes = 1000 // bodies beyond are told by their size and CRC alone

// The order's message number i: keys "{key}{i}", tags in turn, body "{body}{i}"; or `size` bytes that are all the same or
// drawn by lot.
func message(o *order, i int) *primitive.Message {
	made := primitive.NewMessage(o.get("topic", ""), body(o, i))
	tags := strings.Split(o.get("tags", ""), ",")
	if tag := tags[i%len(tags)]; tag != "" {
		made.WithTag(tag)
	}
	made.WithKeys([]string{o.get("key", "k") + strconv.Itoa(i)})
	if o.has("level") {
		made.WithDelayTimeLevel(o.int("level", 0))
	}
	if o.has("property") {
		made.WithProperty("note", o.get("property", ""))
	}
	made.WithProperty("number", strconv.Itoa(i))
	return made
}

func body(o *order, i int) []byte {
	if !o.has("size") {
		return []byte(o.get("body", "body ") + strconv.Itoa(i))
	}
	size := o.int("size", 0)
	if o.get("fill", "same") != "random" {
		return bytes.Repeat([]byte("x"), size)
	}
	drawn := make([]byte, size)
	rand.New(rand.NewSource(int64(i))).Read(drawn)
	return drawn
}

func received(o *order, came *primitive.MessageExt) {
	text := ""
	if len(came.Body) <= longBytes {
		text = string(came.Body)
	}
	o.fact("received", facts{"topic": came.Topic, "queue": came.Queue.QueueId, "offset": came.QueueOffset,
		"msg_id": came.MsgId, "tag": orNull(came.GetTags()), "keys": strings.TrimSpace(came.GetKeys()),
		"number": came.GetProperty("number"), "note": orNull(came.GetProperty("note")), "reconsume": came.ReconsumeTimes,
		"body": text, "size": len(came.Body), "crc": crc32.ChecksumIEEE(came.Body), "sys_flag": came.SysFlag,
		"born_ms": came.BornTimestamp, "stored_ms": came.StoreTimestamp, "at_ms": nowMs()})
}

func orNull(text string) interface{} {
	if text == "" {
		return nil
	}
	return text
}
