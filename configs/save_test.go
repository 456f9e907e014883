package configs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const edited = `# mine
[router]   # the router
workers = 7 # enough
stop_words = [
  "stop", # a comment within
  'halt',
]

# where it is quiet
[agent]
[channels.pigeon]
  kind = "pigeon" # birds
  # their roof
  token = "env:BIRD"
[llm.providers."a.b"]
base_url = "http://127.0.0.1:1/v1"
[files]
"max_size" = """5MB""" # big
[log]
level = "info"`

func TestChangesAreSavedAndCommentsStay(t *testing.T) {
	t.Parallel()
	for _, crlf := range []bool{false, true} {
		text := edited
		if crlf {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		s := must(t, text, "BIRD=feather-feather", "XDG_DATA_HOME="+t.TempDir())
		if err := os.Chmod(s.File, 0o640); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(t.TempDir(), "link.toml")
		if err := os.Symlink(s.File, link); err != nil {
			t.Fatal(err)
		}
		stored(t, s, "other")
		p, err := s.Propose(map[string]string{
			"router.workers": "9", "router.stop_words": "stop, \"genug\"", "router.idle_timeout": "90s", "agent.fallback": "offline",
			"channels.pigeon.token": "secret:other", "channels.pigeon.weight": "2KB", "llm.providers.a.b.timeout": "4s",
			"files.max_size": "6MB", "log.format": "text", "llm.models.m.model": "a.b/x", "llm.models.m.price_in": "0.5", "budget.currency": "EUR",
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		p.Settings.File = link
		saved, err := p.Settings.Save()
		if err != nil {
			t.Fatal(err)
		}
		want := strings.NewReplacer(
			"workers = 7 #", "workers = 9 #",
			"[\n  \"stop\", # a comment within\n  'halt',\n]\n", `["stop", "\"genug\""]`+"\nidle_timeout = \"1m30s\"\n",
			"[agent]\n", "[agent]\nfallback = [\"offline\"]\n",
			`"env:BIRD"`+"\n", `"secret:other"`+"\n  weight = \"2KB\"\n",
			"127.0.0.1:1/v1\"\n", "127.0.0.1:1/v1\"\ntimeout = \"4s\"\n",
			`"""5MB"""`, `"6MB"`,
			"level = \"info\"", "level = \"info\"\nformat = \"text\"\n",
		).Replace(edited)
		if crlf {
			want = strings.ReplaceAll(want, "\n", "\r\n")
		}
		got, _ := os.ReadFile(s.File)
		if string(got) != want {
			t.Errorf("saved as\n%s\nwant\n%s", got, want)
		}
		if want := "[budget]\ncurrency = \"EUR\"\n\n[llm.models.m]\nmodel = \"a.b/x\"\nprice_in = 0.5\n"; saved.Paste != want {
			t.Errorf("to paste:\n%s\nwant\n%s", saved.Paste, want)
		}
		if len(saved.Keys) != 9 || slices.Contains(saved.Keys, "budget.currency") {
			t.Errorf("saved %v", saved.Keys)
		}
		if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Error("the link was replaced:", err)
		}
		info, err := os.Stat(s.File)
		if err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("the mode is %v, %v", info.Mode(), err)
		}
		if there, _ := os.ReadDir(filepath.Dir(s.File)); len(there) != 1 {
			t.Errorf("something was left beside the file: %v", there)
		}
		pasted, _, err := Parse(p.Settings.options(nil), string(got)+saved.Paste)
		if err != nil {
			t.Fatal("what is pasted is no TOML:", err)
		}
		for _, d := range Diff(p.Settings, pasted) {
			if d.Key != "data_dir" {
				t.Errorf("after save and paste %+v", d)
			}
		}
	}
}

func TestDottedKeysAreSavedBesideTheirLike(t *testing.T) {
	t.Parallel()
	s := must(t, "router.workers = 7\n[channels]\npigeon.kind = \"pigeon\" # one\n[log]\n")
	p, err := s.Propose(map[string]string{"router.max_parts": "3", "channels.pigeon.dm": "open"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Settings.Save(); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(s.File)
	if want := "router.workers = 7\nrouter.max_parts = 3\n[channels]\npigeon.kind = \"pigeon\" # one\npigeon.dm = \"open\"\n[log]\n"; string(got) != want {
		t.Errorf("saved as\n%s", got)
	}
}

func TestNothingIsSavedIntoABrokenFile(t *testing.T) {
	t.Parallel()
	s := must(t, "[router]\nworkers = 7\n")
	p, err := s.Propose(map[string]string{"router.workers": "8"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const broken = "[router]\nworkers = 7\nbusy = \"maybe\"\n"
	if err := os.WriteFile(s.File, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Settings.Save(); err == nil || !strings.Contains(err.Error(), "router.busy") {
		t.Errorf("saved: %v", err)
	}
	if got, _ := os.ReadFile(s.File); string(got) != broken {
		t.Errorf("the file is %q", got)
	}
	if err := overwrite(s.File, []byte("else"), []byte("new")); err == nil || !strings.Contains(err.Error(), "changed meanwhile") {
		t.Errorf("a file that was changed: %v", err)
	}
	if there, _ := os.ReadDir(filepath.Dir(s.File)); len(there) != 1 {
		t.Errorf("something was left beside the file: %v", there)
	}
	none, _, err := Load(Options{Dir: t.TempDir(), Env: []string{"HOME=" + t.TempDir()}, Changes: map[string]string{"router.workers": "8"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := none.Save(); err == nil || !strings.Contains(err.Error(), "switchboard init") {
		t.Errorf("with no file: %v", err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
