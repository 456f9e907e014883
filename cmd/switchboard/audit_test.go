package main_test

import (
	"strings"
	"testing"
)

// promise: P12.audit-chain
func TestAuditIsExportedAndVerified(t *testing.T) {
	t.Parallel()
	r := newRig(t, []string{"u1"}, "[agent]\nplanner = \"fake/model\"\n")
	if out, errs, code := r.command("person", "add", "eve", "scripted:9"); code != 0 {
		t.Fatalf("%s%s", out, errs)
	}
	out, errs, code := r.command("audit", "export", "--kind", "person")
	if code != 0 || strings.Count(out, "\n") != 1 || !strings.Contains(out, `"action":"person.add","target":"person eve","rule":"machine"`) {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if out, errs, code := r.command("audit", "verify"); code != 0 || !strings.Contains(out, "nothing is sealed yet\n1 row since ") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
}
