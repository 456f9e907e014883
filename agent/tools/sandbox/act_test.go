package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"switchboard/agent/tools/sandbox/sandboxtest"
)

const (
	// dialEnv makes a copy of the test binary, inside a command, try to reach
	// the addresses it holds.
	dialEnv = "SWITCHBOARD_TEST_DIAL"
	// probeEnv makes a copy of the test binary, inside a command, do what its
	// value names.
	probeEnv = "SWITCHBOARD_TEST_PROBE"
)

// probes are what probeEnv may name.
var probes = map[string]func(){}

// An engineRole is the value of EngineEnv.
type engineRole struct {
	Command Command
	// Lease is how long the command may run since the engine last ran itself; 0: for ever.
	Lease time.Duration
}

// actInstead plays one of the roles above, if this process has one, and ends.
func actInstead() {
	if text := os.Getenv(sandboxtest.EngineEnv); text != "" {
		var role engineRole
		if err := json.Unmarshal([]byte(text), &role); err != nil {
			panic(err)
		}
		cfg := Config{}
		if role.Lease > 0 {
			cfg.SafeUntil = renewing(role.Lease)
		}
		res := run(context.Background(), New(cfg), role.Command)
		fmt.Println(res.Kind, res.Detail)
		os.Exit(0)
	}
	if probe := probes[os.Getenv(probeEnv)]; probe != nil {
		probe()
		os.Exit(0)
	}
	if list := os.Getenv(dialEnv); list != "" {
		for _, target := range strings.Split(list, ",") {
			network, address, _ := strings.Cut(target, "=")
			fmt.Printf("%s: %v\n", network, dial(network, address))
		}
		pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		fmt.Printf("pair: %v %v\n", pair[0] > 0, err)
		os.Exit(0)
	}
}

// renewing is a SafeUntil that grows as long as this process runs.
func renewing(by time.Duration) func() time.Time {
	var until atomic.Int64
	renew := func() { until.Store(time.Now().Add(by).UnixMicro()) }
	renew()
	go func() { // ends with the process
		for range time.Tick(by / 4) {
			renew()
		}
	}()
	return func() time.Time { return time.UnixMicro(until.Load()) }
}

func dial(network, address string) error {
	conn, err := net.DialTimeout(network, address, time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Write([]byte("hello from a command"))
	return err
}
