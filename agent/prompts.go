package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// A Prompt tells the model of one role what to do: the built-in one, or the operator's
// own in its place.
type Prompt struct {
	Role    string
	Builtin string
	Own     string // as it stands in Path; empty: there is none
	Path    string // of the file that replaces the built-in prompt
}

// Prompts lists the prompts of all roles, as an engine that starts now would find them in
// dataDir.
func Prompts(dataDir string) ([]Prompt, error) {
	list := make([]Prompt, 0, len(allRoles))
	for _, role := range slices.Sorted(slices.Values(allRoles)) {
		p := Prompt{Role: role, Path: filepath.Join(dataDir, "roles", role+".md")}
		builtin, err := builtinRoles.ReadFile("roles/" + role + ".md")
		if err != nil {
			return nil, fmt.Errorf("built-in prompt of the %s: %w", role, err)
		}
		own, err := os.ReadFile(p.Path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("prompt of the %s: %w", role, err)
		}
		p.Builtin, p.Own = string(builtin), string(own)
		list = append(list, p)
	}
	return list, nil
}
