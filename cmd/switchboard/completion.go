package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// completionCmd prints a script for a shell. It holds all commands and flags, so that a key press starts no
// program.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh" help:"bash or zsh."`
}

// Help implements kong.HelpProvider.
func (completionCmd) Help() string {
	return "bash: source <(switchboard completion bash), in ~/.bashrc. zsh: source <(switchboard completion zsh), in ~/.zshrc after compinit."
}

// Run implements the command.
func (c completionCmd) Run(a *app, k *kong.Context) error {
	var known, offered strings.Builder
	var walk func(n *kong.Node, path string)
	walk = func(n *kong.Node, path string) {
		var words []string
		for _, child := range n.Children {
			if child.Hidden || child.Type != kong.CommandNode {
				continue
			}
			words = append(words, child.Name)
			fmt.Fprintf(&known, "%q|", path+" "+child.Name)
			walk(child, path+" "+child.Name)
		}
		for _, p := range n.Positional {
			switch { // what it may be, if not anything
			case p.Enum != "":
				words = append(words, p.EnumSlice()...)
			case p.Tag.Has("askable"):
				words = append(words, askable()...)
			}
		}
		for _, group := range n.AllFlags(true) {
			for _, f := range group {
				words = append(words, "--"+f.Name)
			}
		}
		fmt.Fprintf(&offered, "    %q) words=%q ;;\n", path, strings.Join(words, " "))
	}
	walk(k.Model.Node, "")
	if c.Shell == "zsh" {
		fmt.Fprintln(a.out, "autoload -U +X bashcompinit && bashcompinit")
	}
	_, err := fmt.Fprintf(a.out, `_switchboard() {
  local cur="${COMP_WORDS[COMP_CWORD]}" at="" words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at ${COMP_WORDS[i]}" in
    %s) at="$at ${COMP_WORDS[i]}" ;;
    esac
  done
  case "$at" in
%s  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _switchboard switchboard
`, strings.TrimSuffix(known.String(), "|"), offered.String())
	return err
}
