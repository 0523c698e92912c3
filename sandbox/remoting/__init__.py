"""RocketMQ's wire protocol (remoting), independent of a transport."""
