package admin_test

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"switchboard/cmd/switchboard/programtest"
	"switchboard/router/tokens"
	"switchboard/store/storetest"
)

// Tokens are made, listed and revoked with no engine, and the secret stands on stdout alone.
func TestTokensAreMadeOnTheCommandLine(t *testing.T) {
	t.Parallel()
	r := programtest.Bare(t)
	r.Refuses("token list", 1, "there is nothing in")
	r.Append("[[server.tokens]]\nname = \"file\"\nvalue = \"value-in-the-file\"\nscopes = [\"read\", \"send\"]\n")
	r.Prints("person add Ann telegram:5", 0, "can write now")

	out, errs, code := r.Command(strings.Fields("token create ci --scope messages --scope read --person ann --expires 30d")...)
	secret := strings.TrimSuffix(out, "\n")
	if code != 0 || !regexp.MustCompile(`^sb_[a-z2-7]{52}$`).MatchString(secret) || strings.Contains(errs, secret) {
		t.Fatalf("exit %d, stdout %q, stderr %q", code, out, errs)
	}
	if !strings.HasPrefix(errs, "ci may make calls of messages, read, for Ann; it is good until ") || !strings.HasSuffix(errs, ". Keep it now: it is not shown again.\n") {
		t.Errorf("stderr %q", errs)
	}
	if _, errs, code := r.Command("token", "create", "plain"); code != 0 || errs != "plain may make calls of messages (the default; --scope read adds reading), for anybody of role user; it is good until it is revoked. Keep it now: it is not shown again.\n" {
		t.Errorf("exit %d, %q", code, errs)
	}
	for line, want := range map[string]string{
		"token create ci":             "token create ci: ci is taken",
		"token create file":           "token create file: file is the name of a token in [[server.tokens]]",
		"token create a/b":            `"a/b" is no name of a token`,
		"token create x --person bob": `token create x: There is nobody called "bob".`,
		"token create x --expires 1h --person ann --person eve": `There is nobody called "eve".`,
		"token revoke file": "file is in the settings",
		"token revoke none": `token revoke none: there is no token called "none"; "switchboard token list" shows those there are`,
	} {
		r.Refuses(line, 1, want)
	}
	r.Refuses("token create x --scope all", 2, `--scope must be one of "messages","read","send","admin" but got "all"`)
	r.Refuses("token create x --expires=-1h", 2, "say days, weeks, hours or minutes, as in 30d, 4w, 12h or 30m")
	r.Refuses("token create x --expires soon", 2, "as in 30d, 4w")
	r.Refuses("token create x --expires 99999w", 2, "as in 30d, 4w")

	r.Prints("doctor", 0, `ok    tokens     3 tokens for the HTTP API`)
	r.Prints("token revoke ci", 0, "ci is revoked: it opens nothing any more")
	r.Refuses("token revoke ci", 1, "ci is revoked already.")
	table, _, _ := r.Command("token", "list")
	for _, row := range []string{
		`file +read, send +anybody of role user +settings +- +- +while it is in the settings`,
		`ci +messages, read +Ann +made +\d.* +- +no, revoked \d`,
		`plain +messages +anybody of role user +made +\d.* +- +until it is revoked`,
	} {
		if !programtest.Says(table, row) {
			t.Errorf("no row is %s:\n%s", row, table)
		}
	}
	r.Prints("token create brief --expires 2h", 0, "sb_")
	if out, _, _ := r.Command("doctor"); !programtest.Says(out, `WARN  tokens     expired, or expiring within a week: brief \(`) {
		t.Errorf("no token is about to expire:\n%s", out)
	}
	out, _, _ = r.Command("token", "list", "--json")
	var list []tokens.Token
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) != 4 || list[0].Source != tokens.FromSettings || list[2].RevokedAt.IsZero() || list[2].Name != "ci" {
		t.Errorf("%v: %s", err, out)
	}
	r.Prints("audit export", 0, `"action":"token.create","target":"token ci"`)
	if written := storetest.Files(t, filepath.Join(r.Dir, "data")); strings.Contains(written, secret[3:]) || strings.Contains(out, secret[3:]) {
		t.Error("the secret is in the data folder, or in the list")
	}
}

// Beside a running engine it is the same, and those of the settings count as the file has them now.
func TestTokensBesideARunningEngine(t *testing.T) {
	t.Parallel()
	r := programtest.Bare(t)
	r.Ready()
	out, errs, code := r.Command("token", "create", "ci", "--scope", "admin", "--person", "owner")
	if code != 0 || !strings.HasPrefix(out, tokens.Prefix) {
		t.Fatalf("exit %d, %q", code, errs)
	}
	r.Append("[[server.tokens]]\nname = \"file\"\nvalue = \"value-in-the-file\"\n")
	r.Await("the token of the file counts", 20*time.Second, func() bool {
		out, _, _ := r.Command("token", "list")
		return strings.Contains(out, "file") && strings.Contains(out, "ci")
	})
	if r.Log.Has("count from the next start on") || r.Log.Has("not available in this build") {
		t.Error(r.Log.String())
	}
	r.Prints("token revoke ci", 0, "ci is revoked")
	log := r.Log.String()
	r.Stop(20 * time.Second)
	secret := strings.TrimSpace(out)[len(tokens.Prefix):]
	if written := storetest.Files(t, filepath.Join(r.Dir, "data")); strings.Contains(written+log, secret) || strings.Contains(written+log, "value-in-the-file") {
		t.Error("a secret is in the data folder or in the log")
	}
}
