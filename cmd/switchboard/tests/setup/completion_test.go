package setup_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"switchboard/cmd/switchboard/programtest"
	"switchboard/internal/testkit"
)

// What bash completes is asked of bash, and of zsh where there is one.
func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh"} {
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("%s is missing: completion there is NOT tried", shell)
			continue
		}
		file := filepath.Join(t.TempDir(), "completion")
		testkit.Write(t, file, ran(t, t.TempDir(), "completion", shell))
		for line, want := range map[string]string{
			"switchboard ser":                   "serve",
			"switchboard job ":                  "list add show edit run pause resume skip remove history",
			"switchboard --config x.toml job l": "list",
			"switchboard init tel":              "telegram",
			"switchboard turn list --st":        "--state",
			"switchboard completion ":           "bash zsh",
		} {
			words := strings.Split(line, " ")
			script := "source " + file + "\nCOMP_WORDS=(switchboard)\nCOMP_WORDS=(\"$@\")\nCOMP_CWORD=$(($# - 1))\n_switchboard\necho \"${COMPREPLY[@]}\"\n"
			if shell == "zsh" { // whose arrays begin at 1, but for what bashcompinit runs
				script = "autoload -Uz compinit && compinit -u -D\n" + strings.Replace(script, "\n_switchboard\n", "\nsetopt ksharrays shwordsplit\n_switchboard\n", 1)
			}
			out, err := exec.Command(path, append([]string{"-c", script, shell}, words...)...).CombinedOutput()
			got := strings.Fields(string(out))
			for _, w := range strings.Fields(want) {
				if err != nil || !slices.Contains(got, w) || strings.HasPrefix(want, "--") != strings.HasPrefix(got[0], "--") {
					t.Errorf("%s: %q completes to %q, %v; want %q", shell, line, out, err, want)
					break
				}
			}
		}
	}
}

// A command alone prints its help, a group's too.
func TestCommandAlonePrintsItsHelp(t *testing.T) {
	t.Parallel()
	r := programtest.Bare(t)
	for line, want := range map[string]string{
		"job": "Usage: switchboard job <command>", "job add": "Usage: switchboard job add <when> <text>", "turn show": "Usage: switchboard turn show <id>",
		"completion": "Usage: switchboard completion <shell>", "config --help": "Usage: switchboard config <command>",
	} {
		out, errs, code := r.Command(strings.Fields(line)...)
		if !strings.HasPrefix(out, want) || errs != "" || code != 2 && !strings.Contains(line, "--") {
			t.Errorf("%s: exit %d, stdout %q, stderr %q", line, code, out, errs)
		}
	}
}

// A list of nothing says what to try, beside its head.
func TestEmptyListsSayWhatToTry(t *testing.T) {
	t.Parallel()
	r := programtest.Bare(t)
	r.Up()
	for line, want := range map[string]string{
		"job list": "job list --all", "turn list": "switchboard chat", "delivery list --state dead": "without --state",
		"secret list": "secret set NAME", "config diff": "config set KEY VALUE",
	} {
		out, errs, code := r.Command(strings.Fields(line)...)
		if strings.Count(out, "\n") != 1 || !strings.Contains(errs, want) || code != 0 {
			t.Errorf("%s: exit %d, stdout %q, stderr %q", line, code, out, errs)
		}
	}
}
