package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"switchboard/agent"
	"switchboard/channels/console"
	"switchboard/configs"
	"switchboard/internal/api"
)

// promptCmd looks after the prompts of the roles. An engine reads them when it starts.
type promptCmd struct {
	List  promptListCmd  `cmd:"" help:"The prompt of each role: the built-in one, or your own in data_dir/roles."`
	Diff  promptDiffCmd  `cmd:"" help:"How your own prompts differ from the built-in ones."`
	Reset promptResetCmd `cmd:"" help:"Go back to a built-in prompt; your own is kept beside it."`
}

type promptListCmd struct{ jsonFlag }

// promptView is a prompt for people to read.
type promptView struct {
	Role   string `json:"role"`
	Prompt string `json:"prompt"` // built-in | own | empty
	Path   string `json:"path"`   // where one's own stands, or would
	Lines  int    `json:"lines"`
}

// Run implements the command.
func (c *promptListCmd) Run(a *app, settings *configs.Settings) error {
	prompts, err := a.prompts(settings, "", true)
	if err != nil {
		return err
	}
	var views []promptView
	for _, p := range prompts {
		v := promptView{Role: p.Role, Prompt: "built-in", Path: p.Path, Lines: len(lines(p.Builtin))}
		if p.Own != "" {
			v.Prompt, v.Lines = "own", len(lines(p.Own))
		} else if p.Empty {
			v.Prompt, v.Lines = "empty", 0
		}
		views = append(views, v)
	}
	return printRows(a.out, c.JSON, "ROLE\tPROMPT\tLINES\tFILE", views, func(v promptView) []any { return []any{v.Role, v.Prompt, v.Lines, v.Path} })
}

type promptDiffCmd struct {
	Role string `arg:"" optional:"" help:"Only this role."`
}

// Run implements the command.
func (c *promptDiffCmd) Run(a *app, settings *configs.Settings) error {
	prompts, err := a.prompts(settings, c.Role, c.Role == "")
	if err != nil {
		return err
	}
	own := 0
	for _, p := range prompts {
		if p.Own == "" {
			continue
		}
		own++
		changes := diff(lines(p.Builtin), lines(p.Own))
		if len(changes) == 0 {
			fmt.Fprintf(a.err, "switchboard: the prompt of the %s in %s is the built-in one\n", p.Role, p.Path)
			continue
		}
		fmt.Fprintf(a.out, "--- %s, built-in\n+++ %s\n", p.Role, p.Path)
		for _, line := range changes {
			fmt.Fprintln(a.out, console.Printable(line))
		}
	}
	if own == 0 {
		fmt.Fprintln(a.err, "switchboard: there is no prompt of your own")
	}
	return nil
}

type promptResetCmd struct {
	Role string `arg:"" help:"The role, e.g. planner."`
}

// Run implements the command.
func (c *promptResetCmd) Run(a *app, settings *configs.Settings) error {
	prompts, err := a.prompts(settings, c.Role, false)
	if err != nil {
		return err
	}
	p := prompts[0]
	if _, err := os.Lstat(p.Path); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(a.out, "the prompt of the %s is the built-in one already\n", p.Role)
		return nil
	}
	kept := p.Path + time.Now().Format(".20060102-150405.000")
	if err := os.Rename(p.Path, kept); err != nil {
		return fmt.Errorf("take the prompt of the %s out of use: %w", p.Role, err)
	}
	fmt.Fprintf(a.out, "the %s has the built-in prompt again; yours is kept in %s\n", p.Role, kept)
	if api.Alive(a.ctx, settings.DataDir) == nil {
		fmt.Fprintln(a.err, "switchboard: the engine that runs goes on with yours until it is started again")
	}
	return nil
}

// prompts reads the prompts of the data folder, of one role or of all, and says what is
// wrong with them; no engine is needed for it.
func (a *app) prompts(settings *configs.Settings, role string, all bool) ([]agent.Prompt, error) {
	faults, err := agent.PromptFaults(settings.DataDir)
	if err != nil {
		return nil, err
	}
	for _, f := range faults {
		fmt.Fprintln(a.err, "switchboard: warning:", console.Printable(f.String()))
	}
	prompts, err := agent.Prompts(settings.DataDir)
	if err != nil || all {
		return prompts, err
	}
	var names []string
	for i, p := range prompts {
		if names = append(names, p.Role); p.Role == role {
			return prompts[i : i+1], nil
		}
	}
	return nil, configs.Usage(fmt.Errorf("there is no role %q; the roles are %s", role, strings.Join(names, ", ")))
}

func lines(text string) []string {
	return strings.Split(strings.TrimRight(text, "\n"), "\n")
}

// around is how many lines that did not change stand around those that did.
const around = 3

// diff lists what changed from one text to another: "-" for a line that is gone, "+" for
// a new one, with some lines around them; nothing when they are the same.
func diff(before, after []string) (out []string) {
	// longest[i][j] is how many lines before[i:] and after[j:] have in common, in order.
	longest := make([][]int, len(before)+1)
	for i := range longest {
		longest[i] = make([]int, len(after)+1)
	}
	for i := len(before) - 1; i >= 0; i-- {
		for j := len(after) - 1; j >= 0; j-- {
			if longest[i][j] = max(longest[i+1][j], longest[i][j+1]); before[i] == after[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			}
		}
	}
	var all []string
	for i, j := 0, 0; i < len(before) || j < len(after); {
		switch {
		case i < len(before) && j < len(after) && before[i] == after[j]:
			all = append(all, " "+before[i])
			i, j = i+1, j+1
		case j == len(after) || i < len(before) && longest[i+1][j] >= longest[i][j+1]:
			all = append(all, "-"+before[i])
			i++
		default:
			all = append(all, "+"+after[j])
			j++
		}
	}
	last := -1 // the last line told
	for i, line := range all {
		near := slices.ContainsFunc(all[max(i-around, 0):min(i+around+1, len(all))], func(l string) bool { return l[0] != ' ' })
		if !near {
			continue
		}
		if last != i-1 && last >= 0 {
			out = append(out, "…")
		}
		out, last = append(out, line), i
	}
	return out
}
