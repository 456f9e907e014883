package admin_test

import (
	"strings"
	"testing"

	"switchboard/cmd/switchboard/programtest"
)

func TestAuditIsExportedAndVerified(t *testing.T) {
	t.Parallel()
	r := programtest.NewRig(t, []string{"u1"}, "[agent]\nplanner = \"fake/model\"\n")
	if out, errs, code := r.Command("person", "add", "eve", "scripted:9"); code != 0 {
		t.Fatalf("%s%s", out, errs)
	}
	out, errs, code := r.Command("audit", "export", "--kind", "person")
	if code != 0 || strings.Count(out, "\n") != 1 || !strings.Contains(out, `"action":"person.add","target":"person eve","rule":"machine"`) {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if out, errs, code := r.Command("audit", "verify"); code != 0 || !strings.Contains(out, "nothing is sealed yet\n1 row since ") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if out, errs, code := r.Command("audit", "verify", "--since", strings.Repeat("ab", 32)); code != 1 || !strings.Contains(errs, "has the hash abab") {
		t.Errorf("a seal that is not there: exit %d: %s%s", code, out, errs)
	}
	if out, errs, code := r.Command("audit", "verify", "--since", "the last"); code != 2 || !strings.Contains(errs, "is no hash") {
		t.Errorf("no hash: exit %d: %s%s", code, out, errs)
	}
}
