package page_test

import (
	"net/http"
	"strings"
	"testing"
)

// What is for admins is refused to users, strangers are led to where they can sign in, and no other page may send a form.
func TestPagesOfAdminsAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, "sqlite", "")
	ada, root, nobody := s.visitor("ada"), s.visitor("root"), s.visitor("")
	for _, path := range []string{"/people", "/people/bob", "/people/bob/remove", "/secrets", "/tokens", "/audit", "/me"} {
		mine := path == "/me"
		if status, header, _ := nobody.does("GET", path, ""); status != http.StatusSeeOther || header.Get("Location") != "/signin" {
			t.Errorf("a stranger opens %s: %d, %s", path, status, header.Get("Location"))
		}
		if status, _, page := ada.does("GET", path, ""); mine != (status == http.StatusOK) || !mine && status != http.StatusForbidden {
			t.Errorf("a user opens %s: %d %s", path, status, page)
		}
	}
	before := s.rows("SELECT count(*) FROM audit")[0][0]
	for _, path := range []string{
		"/people/allow", "/people/refuse", "/people/claim", "/people/unlink", "/people/signout", "/people/add", "/people/role", "/people/tools", "/people/link", "/people/remove",
		"/secrets/set", "/secrets/remove", "/tokens", "/tokens/revoke", "/audit/verify", "/me/timezone", "/me/end",
	} {
		const form = "name=bob&role=admin&identity=scripted:x&tools=*&value=long+enough+a+value&all=yes&days=1&scope=admin&timezone=Rome&since=2026-01-01T00:00:00Z"
		if status, _, _ := nobody.does("POST", path, form); status != http.StatusUnauthorized {
			t.Errorf("a stranger sends to %s: %d", path, status)
		}
		if status, _, page := ada.does("POST", path, form); status != http.StatusForbidden && !strings.HasPrefix(path, "/me/") {
			t.Errorf("a user sends to %s: %d %s", path, status, page)
		}
		for name, value := range map[string]string{"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"} {
			if status, _, page := root.does("POST", path, form, name, value); status != http.StatusForbidden {
				t.Errorf("another page sends to %s: %d %s", path, status, page)
			}
		}
		if strings.HasPrefix(path, "/me/") {
			ada = s.visitor("ada") // who ended it
		}
	}
	if status, _, _ := ada.does("POST", "/people/role", "name=ada&role=admin", "HX-Request", "true"); status != http.StatusForbidden {
		t.Errorf("a user asks for the role by script: %d", status)
	}
	if n := s.rows("SELECT count(*) FROM audit WHERE action NOT LIKE 'browser.%' AND action <> 'session.timezone'"); n[0][0] != "0" {
		t.Errorf("%s rows of changes are in the audit log, which had %s", n[0][0], before)
	}
}

// What cannot be read is answered with a sentence, and changes nothing.
func TestBadInputOfAdmins(t *testing.T) {
	t.Parallel()
	s := newSite(t, "sqlite", "")
	root := s.visitor("root")
	if status, header, page := root.does("POST", "/people/add", "name=eve&role=user&tools=*"); status != http.StatusSeeOther || header.Get("Location") != "/people/eve" {
		t.Fatalf("add eve: %d %s", status, page)
	}
	since := s.rows("SELECT created_at FROM people WHERE name = 'eve'")[0][0]
	for _, c := range []struct {
		path, form string
		status     int
		says       string
	}{
		{"/people/role", "name=eve&role=king", 400, "A role is user or admin."},
		{"/people/role", "name=nobody&role=user", 404, "There is no such thing"},
		{"/people/role", "name=ada&role=admin", 409, "which decides: change it there"},
		{"/people/role", "name=owner&role=user", 409, "always an admin with all tools"},
		{"/people/tools", "name=eve&tools=%5B", 409, "Nothing was changed:"},
		{"/people/add", "name=eve&role=user", 409, "eve is there already"},
		{"/people/add", "name=&role=user", 409, "the name is missing"},
		{"/people/add", "name=x&role=user&identity=nowhere", 409, "is not of the form"},
		{"/people/add", "name=x&role=user&timezone=Nowhere", 409, "Nothing was changed:"},
		{"/people/link", "name=eve&identity=", 400, "Write the account to add:"},
		{"/people/link", "name=eve&identity=scripted:ada", 409, "change it there"},
		{"/people/unlink", "name=eve&identity=scripted:none", 409, ""},
		{"/people/remove", "name=eve", 400, "Load the page again."},
		{"/people/remove", "name=eve&since=2026-01-01T00:00:00Z", 409, "somebody else now"},
		{"/people/remove", "name=ada&since=2026-01-01T00:00:00Z", 409, "change it there"},
		{"/people/allow", "identity=scripted:nobody", 409, "no stranger any more"},
		{"/people/refuse", "identity=scripted:nobody", 409, "no stranger any more"},
		{"/people/signout", "name=eve&id=x", 404, ""},
		{"/people/signout", "name=eve&id=7000", 404, ""},
		{"/secrets/set", "name=a+b&value=a-long-value-1", 400, "is no name of a secret"},
		{"/secrets/set", "name=ok&value=x", 400, "a secret has at least"},
		{"/secrets/set", "name=ok", 400, "a secret has at least"},
		{"/secrets/remove", "name=none", 409, "There is no secret of that name."},
		{"/tokens", "name=ok&days=x&scope=read", 400, "for how many days"},
		{"/tokens", "name=ok&days=1", 400, "a token needs a scope"},
		{"/tokens", "name=ok&days=1&scope=all", 400, "there is no scope"},
		{"/tokens", "name=a+b&days=1&scope=read", 400, "is no name of a token"},
		{"/tokens", "name=ok&days=1&scope=read&person=nobody", 409, "nobody"},
		{"/tokens/revoke", "name=none", 409, "There is no token of that name."},
		{"/me/timezone", "timezone=", 409, ""},
		{"/me/end", "id=x", 404, ""},
		{"/me/end", "id=7000", 404, ""},
	} {
		status, _, page := root.does("POST", c.path, c.form)
		if status != c.status || !strings.Contains(page, c.says) {
			t.Errorf("%s %s: %d, want %d and %q:\n%s", c.path, c.form, status, c.status, c.says, page)
		}
		if strings.Contains(page, "a-long-value-1") {
			t.Errorf("%s shows the value", c.path)
		}
	}
	for path, want := range map[string]int{
		"/people/nobody": 404, "/people/nobody/remove": 404, "/people/ada/remove": 409, "/audit?before=x": 400, "/audit?turn=-1": 400, "/audit?day=today": 400,
		"/audit?turn=99&person=%00&kind=%27": 200, "/people/": 404,
	} {
		if status, _, page := root.does("GET", path, ""); status != want {
			t.Errorf("%s: %d, want %d:\n%s", path, status, want, page)
		}
	}
	if now := s.rows("SELECT created_at FROM people WHERE name = 'eve' AND role = 'user' AND tools = '[\"*\"]'"); len(now) != 1 || now[0][0] != since {
		t.Errorf("eve is %v, was made at %s", now, since)
	}
	if n := s.rows("SELECT (SELECT count(*) FROM secrets) + (SELECT count(*) FROM tokens) + (SELECT count(*) FROM people WHERE name = 'x')"); n[0][0] != "0" {
		t.Errorf("%s things were made", n[0][0])
	}
	if strings.Contains(s.Log.String(), "a-long-value-1") {
		t.Error("the value is in the log")
	}
}
