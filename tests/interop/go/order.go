package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

type facts map[string]interface{}

// One order with its arguments, and where its facts go.
type order struct {
	number, verb string
	arguments    map[string]string
	stopped      chan struct{}
	once         sync.Once
}

var printing sync.Mutex

func newOrder(words []string) *order {
	made := &order{number: words[0], verb: words[1], arguments: map[string]string{}, stopped: make(chan struct{})}
	for _, word := range words[2:] {
		key, value, _ := strings.Cut(word, "=")
		made.arguments[key] = value
	}
	return made
}

func (o *order) has(key string) bool {
	_, given := o.arguments[key]
	return given
}

func (o *order) get(key, otherwise string) string {
	if value, given := o.arguments[key]; given {
		return value
	}
	return otherwise
}

func (o *order) int(key string, otherwise int) int {
	value, err := strconv.Atoi(o.get(key, strconv.Itoa(otherwise)))
	if err != nil {
		panic(err)
	}
	return value
}

// A name nobody else has in this process; the client keeps one connection for each.
func (o *order) instance(kind string) string {
	return fmt.Sprintf("%s-%d-%s", kind, os.Getpid(), o.number)
}

func (o *order) stop() {
	o.once.Do(func() { close(o.stopped) })
}

func (o *order) isStoppedWithin(wait time.Duration) bool {
	select {
	case <-o.stopped:
		return true
	case <-time.After(wait):
		return false
	}
}

func (o *order) fact(kind string, told facts) {
	line := facts{"order": o.number, "fact": kind}
	for key, value := range told {
		line[key] = value
	}
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	printing.Lock()
	defer printing.Unlock()
	fmt.Println(string(text))
}

func nowMs() int64 {
	return time.Now().UnixMilli()
}
