//go:build scripted

package main

import (
	"switchboard/channels"
	"switchboard/channels/channelstest/scripted"
)

// extraKinds lets tests of the real binary play the platform.
var extraKinds = channels.Kinds{
	scripted.Kind,
}
