package agent

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"switchboard/agent/memory"
)

// The roles of a turn; those of memory are its own.
const (
	rolePlanner  = "planner"
	roleReviewer = "reviewer"
	roleWorker   = "worker"
)

var allRoles = []string{memory.RoleCurator, memory.RoleParaphraser, rolePlanner, roleReviewer, memory.RoleSummarizer, roleWorker}

//go:embed roles/*.md
var builtinRoles embed.FS

// roles are the prompts by role.
type roles map[string]string

// loadRoles reads the built-in prompts and those of dataDir/roles that replace them.
func loadRoles(dataDir string) (roles, error) {
	all := make(roles, len(allRoles))
	var faults []error
	for _, role := range allRoles {
		p, err := readPrompt(dataDir, role)
		if p.Empty {
			err = fmt.Errorf("prompt of the %s: %s is empty; write the prompt into it, or remove it to use the built-in one", role, p.Path)
		}
		faults = append(faults, err)
		all[role] = tidy(strings.TrimSpace(cmp.Or(p.Own, p.Builtin))) + "\n"
	}
	return all, errors.Join(faults...)
}

// A Prompt tells the model of one role what to do: the built-in one, or the operator's
// own in its place.
type Prompt struct {
	Role    string
	Builtin string
	Own     string // as it stands in Path; empty: there is none, or Empty
	Empty   bool   // Path is a file with nothing in it, with which no engine starts
	Path    string // of the file that replaces the built-in prompt
}

// readPrompt reads the prompt of a role; with no dataDir only the built-in one.
func readPrompt(dataDir, role string) (p Prompt, err error) {
	builtin, err := builtinRoles.ReadFile("roles/" + role + ".md")
	p.Role, p.Builtin = role, string(builtin)
	if err == nil && dataDir != "" {
		var own []byte
		p.Path = filepath.Join(dataDir, "roles", role+".md")
		own, err = os.ReadFile(p.Path)
		p.Empty = err == nil && blankText(string(own))
		if !p.Empty {
			p.Own = string(own)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		err = fmt.Errorf("prompt of the %s: %w", role, err)
	}
	return p, err
}

// Prompts lists the prompts of all roles, as an engine that starts now would find them in
// dataDir.
func Prompts(dataDir string) ([]Prompt, error) {
	list := make([]Prompt, len(allRoles))
	for i, role := range allRoles {
		var err error
		if list[i], err = readPrompt(dataDir, role); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// A PromptFault is a file among the operator's prompts that does not do what it seems to.
type PromptFault struct {
	Path  string
	Text  string // what is wrong, without the path
	Fix   string // what to do
	Fatal bool   // no engine starts with it; otherwise nobody reads the file
}

// String is the whole of it, for people.
func (f PromptFault) String() string { return f.Path + " " + f.Text + "; " + f.Fix }

// PromptFaults lists what is wrong with the prompts in dataDir, by their paths: files that
// are no role's, which are ignored, and empty ones. A folder that is not there is fine, and
// so is what an editor or "prompt reset" leaves behind.
func PromptFaults(dataDir string) ([]PromptFault, error) {
	folder := filepath.Join(dataDir, "roles")
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("look at the prompts: %w", err)
	}
	var faults []PromptFault
	for _, entry := range entries {
		name := entry.Name()
		f := PromptFault{Path: filepath.Join(folder, name)}
		role, isPrompt := strings.CutSuffix(name, ".md")
		switch {
		case isPrompt && slices.Contains(allRoles, role):
			if text, err := os.ReadFile(f.Path); err != nil || !blankText(string(text)) {
				continue // one that cannot be read has an error of its own
			}
			f.Fatal = true
			f.Text, f.Fix = "is empty, and nothing starts with it", "write the prompt of the "+role+" into it, or remove it to use the built-in one"
		case leftBehind(name):
			continue
		default:
			f.Text = "is no role's prompt, so nobody reads it"
			f.Fix = "name it after its role (" + strings.Join(allRoles, ", ") + ") with .md, or remove it"
		}
		faults = append(faults, f)
	}
	return faults, nil
}

// leftBehind says that a file is an editor's, or was kept of a role's by "prompt reset".
func leftBehind(name string) bool {
	role, _, kept := strings.Cut(name, ".md.")
	return kept && slices.Contains(allRoles, role) || strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~")
}
