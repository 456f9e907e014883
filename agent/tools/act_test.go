package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

const (
	secretEnv   = "SWITCHBOARD_TEST_SECRET"
	secretValue = "not-for-commands-7391"
	// engineEnv makes a test process play an engine that runs one command.
	engineEnv = "SWITCHBOARD_TEST_ENGINE"
	// dialEnv makes a copy of the test binary, inside a command, try to reach
	// the addresses it holds.
	dialEnv = "SWITCHBOARD_TEST_DIAL"
	// probeEnv makes a copy of the test binary, inside a command, do what its
	// value names.
	probeEnv = "SWITCHBOARD_TEST_PROBE"
)

// probes are what probeEnv may name.
var probes = map[string]func(){}

// An engineRole is the value of engineEnv.
type engineRole struct {
	Namespaces namespaces
	Command    Command
}

// actInstead plays one of the roles above, if this process has one, and ends.
func actInstead() {
	if text := os.Getenv(engineEnv); text != "" {
		var role engineRole
		if err := json.Unmarshal([]byte(text), &role); err != nil {
			panic(err)
		}
		e := NewExec(ExecConfig{})
		e.layers = &layers{namespaces: role.Namespaces}
		fmt.Printf("%+v\n", e.Run(context.Background(), role.Command))
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

func dial(network, address string) error {
	conn, err := net.DialTimeout(network, address, time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Write([]byte("hello from a command"))
	return err
}
