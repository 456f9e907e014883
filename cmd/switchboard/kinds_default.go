//go:build !scripted

package main

import "switchboard/channels"

var extraKinds channels.Kinds
