package main

import (
	"cmp"
	"fmt"
	"runtime/debug"

	"github.com/alecthomas/kong"
)

// versionCmd prints the version.
type versionCmd struct{}

// Run implements the command.
func (versionCmd) Run(a *app) error {
	fmt.Fprintln(a.out, version())
	return nil
}

// versionFlag is --version.
type versionFlag bool

// BeforeReset prints the version and ends the command line.
func (versionFlag) BeforeReset(k *kong.Kong) error {
	fmt.Fprintln(k.Stdout, version())
	k.Exit(exitDone)
	return nil
}

// built is what the build says the version is; empty: nothing.
var built string

func version() string {
	version, revision := cmp.Or(built, "development"), ""
	if info, ok := debug.ReadBuildInfo(); ok {
		if built == "" && info.Main.Version != "" && info.Main.Version != "(devel)" {
			version = info.Main.Version
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = " " + s.Value
			}
		}
		version += revision + " " + info.GoVersion
	}
	return "switchboard " + version
}
