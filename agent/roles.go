package agent

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The roles. Curator, summarizer and paraphraser have their prompts but no caller
// in this package yet.
const (
	rolePlanner     = "planner"
	roleReviewer    = "reviewer"
	roleWorker      = "worker"
	roleCurator     = "curator"
	roleSummarizer  = "summarizer"
	roleParaphraser = "paraphraser"
)

var allRoles = []string{rolePlanner, roleReviewer, roleWorker, roleCurator, roleSummarizer, roleParaphraser}

//go:embed roles/*.md
var builtinRoles embed.FS

// roles are the prompts by role.
type roles map[string]string

// loadRoles reads the built-in prompts and those of dataDir/roles that replace them.
func loadRoles(dataDir string) (roles, error) {
	all := make(roles, len(allRoles))
	var faults []error
	for _, role := range allRoles {
		text, err := builtinRoles.ReadFile("roles/" + role + ".md")
		if err == nil && dataDir != "" {
			name := filepath.Join(dataDir, "roles", role+".md")
			var own []byte
			own, err = os.ReadFile(name)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				err = nil
			case err == nil && strings.TrimSpace(string(own)) == "":
				err = fmt.Errorf("%s is empty; write the prompt into it, or remove it to use the built-in one", name)
			case err == nil:
				text = own
			}
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("prompt of the %s: %w", role, err))
		}
		all[role] = tidy(strings.TrimSpace(string(text))) + "\n"
	}
	return all, errors.Join(faults...)
}
