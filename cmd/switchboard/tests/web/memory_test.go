//go:build linux

package web_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"switchboard/agent/memory"
	web "switchboard/channels/api"
	"switchboard/channels/channelstest/scripted"
	"switchboard/cmd/switchboard/programtest"
	routermemory "switchboard/router/memory"
)

// Every token asks in every way for everybody's memories, and reads and changes those alone that are theirs for whom it speaks; to an
// admin's with the scope admin others' are shown too, which is noted.
func TestMemoryOverHTTP(t *testing.T) {
	t.Parallel()
	tokens := programtest.Token("all", allScopes, "root", "ada") + programtest.Token("users", []string{"read", "admin", "messages"}) + programtest.Token("reader", []string{"read"})
	eachShop(t, tokens, func(t *testing.T, s *shop) {
		said := func(body web.NewMemory, token string, want int) (got web.MemorySaid) {
			t.Helper()
			s.web(token).Call(t, http.MethodPost, "/v1/memory", body, want, &got)
			return got
		}
		ids := map[string]int64{}
		for _, name := range []string{"ada", "bob", "root"} {
			got := said(web.NewMemory{Text: "secret of " + name}, name, http.StatusCreated)
			if e := got.Memories[0]; e.Scope != memory.OfPerson(name) || e.Person != name || !e.Kept || !strings.Contains(got.Said, "secret of "+name) {
				t.Errorf("%+v", got)
			}
			ids[name] = got.Memories[0].ID
		}
		ids["global"] = said(web.NewMemory{Person: "global", Text: "secret of global", Kind: "rule"}, "all", http.StatusCreated).Memories[0].ID
		s.Platform.Write(scripted.Message{Conversation: "g1", Kind: "group", User: "ada", Text: "/remember secret of group"})
		s.Await("the group's", 20*time.Second, func() bool { return len(s.Platform.SentIn("g1")) == 1 })
		var list web.MemoryList
		if err := s.local().Do(t.Context(), localGet("/v1/memory?all=true"), &list); err != nil || len(list.Memories) != 5 {
			t.Fatalf("%+v, %v", list, err)
		}
		ids["group"] = list.Memories[0].ID

		// Who reads whose: by the token, and the person asked for.
		reads := map[string]string{
			"ada ": "ada", "ada ada": "ada", "bob ": "bob", "bob bob": "bob", "root ": "root", "root root": "root",
			"all ada": "ada", "all root": "root", "all bob": "bob", "all global": "global", "all *": "ada bob root global group",
			"users ada": "ada", "users bob": "bob", "users global": "global", "reader ada": "ada", "reader bob": "bob",
		}
		for _, token := range []string{"ada", "bob", "root", "all", "users", "reader"} {
			for _, person := range []string{"", "ada", "bob", "root", "global", "group", "*"} {
				query := "person=" + person
				if person == "*" {
					query = "all=true"
				}
				may := strings.Fields(reads[token+" "+person])
				paths := []string{"/v1/memory?" + query, "/v1/memory/export?" + query, "/v1/memory/export?format=markdown&" + query}
				for name, id := range ids {
					if person != "*" && !slices.Contains(may, name) {
						paths = append(paths, fmt.Sprintf("/v1/memory/%d?%s", id, query))
					}
				}
				for i, path := range paths {
					status, answer, _ := s.web(token).Do(t.Context(), http.MethodGet, path, nil)
					for name := range ids {
						if shows := strings.Contains(string(answer), "secret of "+name); shows != (i < 3 && slices.Contains(may, name)) {
							t.Errorf("%s reads %s: %d, of %s %v", token, path, status, name, shows)
						}
					}
					if ok := i < 3 && len(may) > 0; ok != (status == http.StatusOK) || status >= 500 {
						t.Errorf("%s reads %s: %d %s", token, path, status, answer)
					}
				}
			}
		}
		var one memory.Entry
		s.web("ada").Get(t, fmt.Sprintf("/v1/memory/%d", ids["ada"]), &one)
		if one.Text != "secret of ada" {
			t.Errorf("%+v", one)
		}

		// What is another's is not changed, whoever is named.
		writes := map[string][]string{"ada": {"ada"}, "bob": {"bob"}, "root": {"root"}, "users": {"ada", "bob"}}
		for token, may := range writes {
			for name, id := range ids {
				for _, person := range []string{"", "ada", "bob", "root", "global"} {
					if person == name && slices.Contains(may, name) || person == "" && token == name {
						continue
					}
					for _, action := range []string{"forget", "keep", "correct", "always"} {
						path := fmt.Sprintf("/v1/memory/%d/%s?person=%s", id, action, person)
						if status, answer, _ := s.web(token).Do(t.Context(), http.MethodPost, path, map[string]string{"text": "mine"}); status < 400 || status >= 500 {
							t.Errorf("%s does %s: %d %s", token, path, status, answer)
						}
					}
				}
			}
		}
		after := web.MemoryList{}
		if err := s.local().Do(t.Context(), localGet("/v1/memory?all=true"), &after); err != nil || fmt.Sprint(after) != fmt.Sprint(list) {
			t.Errorf("afterwards there are %+v, %v", after, err)
		}
		said(web.NewMemory{Person: "bob", Text: "x"}, "ada", http.StatusForbidden)
		said(web.NewMemory{Person: "global", Text: "x"}, "ada", http.StatusForbidden)
		said(web.NewMemory{Person: "global", Text: "x"}, "root", http.StatusForbidden)
		said(web.NewMemory{Person: "global", Text: "x"}, "users", http.StatusForbidden)
		said(web.NewMemory{Text: "x", Kind: "rule", Always: true}, "root", http.StatusForbidden)
		said(web.NewMemory{Text: "x"}, "users", http.StatusBadRequest)
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			s.web("users").Call(t, method, "/v1/memory/erasure?person=nobody", nil, http.StatusForbidden, nil)
			s.web("all").Call(t, method, "/v1/memory/erasure?person=nobody", nil, http.StatusNotFound, nil)
		}
		s.Prints("audit export --kind memory", 0, `"person":"root","action":"memory.look","target":"person bob","rule":"token:all"`)
		s.Prints("audit export --kind memory", 0, `"person":"root","action":"memory.look","target":"everybody","rule":"token:all"`)
		if out, _, _ := s.Command("audit", "export", "--kind", "memory"); strings.Contains(out, `"target":"person ada","rule":"token`) || strings.Contains(out, "token:users\",\"outcome\":\"done\"") {
			t.Errorf("looks that are none: %s", out)
		}
		s.ownMemory(ids)
	})
}

// ownMemory is changed by its person's token, by the rules of the gate.
func (s *shop) ownMemory(ids map[string]int64) {
	t, ada := s.T, s.web("ada")
	path := func(name, does string) string { return fmt.Sprintf("/v1/memory/%d/%s", ids[name], does) }
	for _, c := range []struct {
		body       map[string]any
		status     int
		code, rule string
	}{
		{map[string]any{"text": strings.Repeat("word ", 3000)}, 400, "bad_request", "memory.size"},
		{map[string]any{"text": "  "}, 400, "bad_request", "memory.kind"},
		{map[string]any{"text": "x", "kind": "preference"}, 400, "bad_request", "memory.kind"},
		{map[string]any{"text": "x", "kind": "rule", "category": "odd"}, 400, "bad_request", "memory.kind"},
		{map[string]any{"text": "x", "kind": "learning"}, 400, "bad_request", ""},
		{map[string]any{"text": "x", "scope": "global"}, 400, "bad_request", ""},
		{map[string]any{"text": "my salary is 90000"}, 403, "forbidden", "memory.category"},
	} {
		if c.status == 403 {
			var set routermemory.Settings
			ada.Call(t, http.MethodPatch, "/v1/memory/settings", map[string]any{"denied_categories": []string{"money"}, "expire_after": 90}, http.StatusOK, &set)
			ada.Get(t, "/v1/memory/settings", &set)
			if !set.Learning || !set.Recall || set.Expire != 90 || !slices.Equal(set.Denied, []string{"money"}) {
				t.Errorf("%+v", set)
			}
		}
		var refused struct {
			Error struct{ Code, Message, Hint string }
		}
		ada.Call(t, http.MethodPost, "/v1/memory", c.body, c.status, &refused)
		if e := refused.Error; e.Code != c.code || e.Message == "" || c.rule != "" && e.Hint != "the rule is "+c.rule {
			t.Errorf("%v is refused with %+v", slices.Collect(maps.Values(c.body))[0], e)
		}
	}
	for _, bad := range []map[string]any{{"denied_categories": []string{"weather"}}, {"expire_after": -1}, {"learning": "no"}} {
		ada.Call(t, http.MethodPatch, "/v1/memory/settings", bad, http.StatusBadRequest, nil)
	}
	ada.Call(t, http.MethodPatch, "/v1/memory/settings?person=bob", map[string]any{"learning": false}, http.StatusForbidden, nil)
	ada.Call(t, http.MethodGet, "/v1/memory/settings?person=bob", nil, http.StatusNotFound, nil)

	var got web.MemorySaid
	ada.Call(t, http.MethodPost, path("ada", "correct"), map[string]string{"text": "the key rotates on Thursdays"}, http.StatusOK, &got)
	ada.Call(t, http.MethodPost, path("ada", "forget"), nil, http.StatusNotFound, nil) // it is not there any more
	ids["ada"] = got.Memories[0].ID
	ada.Call(t, http.MethodPost, "/v1/memory", map[string]string{"text": "the key rotates on Thursdays"}, http.StatusCreated, &got)
	if e := got.Memories[0]; e.ID != ids["ada"] || e.State != "active" || e.CreatedAt.IsZero() {
		t.Errorf("what is known is answered with %+v", e)
	}
	ada.Call(t, http.MethodPost, "/v1/memory", map[string]string{"text": "the printer jams"}, http.StatusCreated, &got)
	ada.Call(t, http.MethodPost, fmt.Sprintf("/v1/memory/%d/forget", got.Memories[0].ID), nil, http.StatusOK, &got)
	if e := got.Memories[0]; e.State != "forgotten" {
		t.Errorf("what is forgotten is answered with %+v", e)
	}
	s.web("root").Call(t, http.MethodPost, path("root", "always"), nil, http.StatusForbidden, nil)
	s.web("all").Call(t, http.MethodPost, path("root", "always")+"?person=root", nil, http.StatusBadRequest, nil) // it is a fact
	ada.Call(t, http.MethodPost, path("ada", "keep"), nil, http.StatusOK, nil)
	ada.Call(t, http.MethodPost, path("ada", "dance"), nil, http.StatusBadRequest, nil)
	s.web("all").Call(t, http.MethodPost, path("global", "always")+"?person=global", nil, http.StatusOK, nil)
	var rules web.MemoryList
	s.web("all").Get(t, "/v1/memory?person=global&kind=rule", &rules)
	if len(rules.Memories) != 1 || !rules.Memories[0].Always {
		t.Errorf("%+v", rules)
	}

	// What is exported is imported again, by who may.
	var archive routermemory.Archive
	s.web("all").Get(t, "/v1/memory/export?all=true", &archive)
	ada.Call(t, http.MethodPost, "/v1/memory/import", archive, http.StatusForbidden, nil)
	s.web("users").Call(t, http.MethodPost, "/v1/memory/import", archive, http.StatusForbidden, nil)
	s.web("all").Call(t, http.MethodPost, "/v1/memory/import", map[string]int{"version": 7}, http.StatusConflict, nil)
	var in routermemory.Imported
	s.web("all").Call(t, http.MethodPost, "/v1/memory/import", archive, http.StatusOK, &in)
	if len(archive.Memories) != 5 || in.Added+in.Known != 5 || len(in.Refused) != 0 {
		t.Errorf("%d: %+v", len(archive.Memories), in)
	}
}
