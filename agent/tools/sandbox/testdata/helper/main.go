// Command helper is what keeps a command, and nothing else: the helper of tests that
// are built with the race detector, under which each start takes seconds.
package main

import "switchboard/agent/tools/sandbox"

func main() { sandbox.RunHelper() }
