package configs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"switchboard/channels"
)

// owls loads settings with one more kind, whose IDs mean somebody in one workspace.
func owls(t *testing.T, text string) (*Settings, error) {
	t.Helper()
	dir, all := t.TempDir(), append(kinds(), channels.Kind{Name: "owl", LocalIDs: true})
	if err := os.WriteFile(filepath.Join(dir, "s.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _, err := Load(Options{File: "s.toml", Dir: dir, Env: []string{"HOME=" + dir}, Kinds: all})
	return s, err
}

const twoOwls = "[channels.home]\nkind = \"owl\"\n[channels.work]\nkind = \"owl\"\n"

func TestAnIDOfOneWorkspaceNamesNobodyWhereThereAreTwo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ channels, identity, want string }{
		{twoOwls + "enabled = false\n", "owl:1", ""},
		{twoOwls, "owl:1", `"owl:1" may be somebody else in each of [channels.home], [channels.work]; write "owl:WORKSPACE/1"`},
		{twoOwls, "owl:T/1", ""},
		{twoOwls, "home:1", ""},
		{strings.ReplaceAll(twoOwls, "owl", "pigeon"), "pigeon:1", ""},
	} {
		_, err := owls(t, tt.channels+"[[people]]\nname = \"a\"\nidentities = [\""+tt.identity+"\"]\n")
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), "people[0].identities[0]: "+tt.want)) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

// Who is let in at run time is judged as who is named in the file.
func TestPeopleAtRunTimeAreJudgedLikeThoseOfTheFile(t *testing.T) {
	t.Parallel()
	s, err := owls(t, twoOwls)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, identity, tool, zone, want string }{
		{"ann", "pigeon:1", "web", "Europe/Rome", ""},
		{"ann", "home:1", "*", "", ""},
		{" ", "pigeon:1", "*", "", "the name is missing"},
		{"pigeon:1", "pigeon:1", "*", "", "holds a colon"},
		{"a\u200bnn", "pigeon:1", "*", "", "holds the character U+200B"},
		{"ann", "crow:1", "*", "", "neither a kind of channel"},
		{"ann", "pigeon:@ann", "*", "", "a name can change hands"},
		{"ann", "owl:1", "*", "", "may be somebody else"},
		{"ann", "pigeon", "*", "", "is not of the form"},
		{"ann", "pigeon:1", "*", "Mars", "is not a time zone"},
		{"ann", "pigeon:1", "web.*", "", `"web.*" names no tool`},
	} {
		err := s.CheckPerson(tt.name, []string{tt.identity}, []string{tt.tool}, tt.zone)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}
