// A peer: reads orders from standard input and prints facts, one JSON object a line (tests/interop/peer.py).
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

var verbs = map[string]func(*order) error{
	"send":     send,
	"batch":    batch,
	"transact": transact,
	"request":  request,
	"reply":    reply,
	"consume":  consume,
	"pull":     pull,
}

func main() {
	running := map[string]*order{}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Split(lines.Text(), "\t")
		if words[1] == "stop" {
			if asked := running[words[0]]; asked != nil {
				asked.stop()
			}
			continue
		}
		asked := newOrder(words)
		running[asked.number] = asked
		go carryOut(asked)
	}
}

func carryOut(asked *order) {
	verb, known := verbs[asked.verb]
	if !known {
		asked.fact("failed", facts{"why": "no verb " + asked.verb})
	} else if why := verb(asked); why != nil {
		asked.fact("failed", facts{"why": fmt.Sprint(why)})
	} else {
		asked.fact("done", nil)
	}
}
