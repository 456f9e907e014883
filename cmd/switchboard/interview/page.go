package interview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"switchboard/agent/llm"
	"switchboard/channels"
	"switchboard/configs"
	"switchboard/internal/words"
)

// What the page asks, which tries the same as the terminal.

// A Server speaks for models.
type Server struct {
	Name, Title string
	Keys        string // where it gives keys; empty: it has an address of the person's
	Base        string
}

// Servers are those that init offers; the last is any other, by its address.
func Servers() []Server {
	list := make([]Server, len(modelServers))
	for i, s := range modelServers {
		list[i] = Server{s.name, strings.ToUpper(s.title[:1]) + s.title[1:], s.keys, s.base}
	}
	return list
}

// localServers are where programs for models listen on this machine.
//
// Source: https://github.com/ollama/ollama/blob/main/docs/faq.md, https://lmstudio.ai/docs/app/api,
// https://github.com/ggml-org/llama.cpp/tree/master/tools/server.
var localServers = []string{"http://127.0.0.1:11434/v1", "http://127.0.0.1:1234/v1", "http://127.0.0.1:8080/v1"}

// localWithin is how long a server on this machine may take to say which models it has.
const localWithin = time.Second

// Local are the servers that run on this machine, by address, with their models.
func Local(ctx context.Context) map[string][]string {
	ctx, stop := context.WithTimeout(ctx, localWithin)
	defer stop()
	type answer struct {
		address string
		models  []string
	}
	answers := make(chan answer, len(localServers))
	for _, address := range localServers {
		go func() {
			list, _ := llm.List(ctx, llm.Provider{BaseURL: address, APIKey: llm.NoKey})
			answers <- answer{address, slices.DeleteFunc(list, otherThanChat.MatchString)}
		}()
	}
	found := map[string][]string{}
	for range localServers {
		if a := <-answers; len(a.models) > 0 {
			found[a.address] = a.models
		}
	}
	return found
}

// elsewhere says why what was typed is no credential itself.
func elsewhere(value string) string {
	switch {
	case value == "":
		return "Nothing was typed."
	case strings.HasPrefix(value, "env:"), strings.HasPrefix(value, "file:"), strings.HasPrefix(value, "secret:"):
		return "Type it here itself. What a variable or a file has is named in the settings file."
	case strings.ContainsAny(value, " \t\r\n"):
		return "It has no spaces in it."
	}
	return ""
}

// A TriedModel is a model that was tried.
type TriedModel struct {
	Provider configs.AnsweredProvider
	Model    string
	Found    []channels.Finding // one that is not OK: it cannot be used
	Models   []string           // those that the server has
}

// TryServer tries the model of a server, the one to begin with where none is named. The address is of a server of the person's own.
func (q *Interview) TryServer(ctx context.Context, name, address, key, model string) (t TriedModel) {
	i := slices.IndexFunc(modelServers, func(s modelServer) bool { return s.name == name })
	fails := func(fix, format string, args ...any) TriedModel {
		t.Found = append(t.Found, channels.Finding{Text: fmt.Sprintf(format, args...), Fix: fix})
		return t
	}
	if i < 0 {
		return fails("", "Choose who has the model.")
	}
	s := modelServers[i]
	t.Provider = configs.AnsweredProvider{Name: s.name, BaseURL: s.base, APIKey: pasted(key)}
	reach := "is it running, and can this machine reach it?"
	switch why := elsewhere(t.Provider.APIKey); {
	case s.keys == "" && address != "" && addressOf(pasted(address)) == "":
		return fails("", "That is not an address. An address looks like this: %s", s.base)
	case s.keys == "" && t.Provider.APIKey == "":
		t.Provider.APIKey = llm.NoKey.Reveal()
	case why != "":
		return fails("keys are at "+cmp.Or(s.keys, "that server"), "The key: %s", why)
	}
	if s.keys == "" {
		t.Provider.BaseURL = cmp.Or(addressOf(pasted(address)), s.base)
	}
	settings, err := q.Settings(q.with(t.Provider, "any"))
	if err != nil {
		return fails("", "%s", faultTexts(err))
	}
	if t.Models, err = llm.List(ctx, settings.LLM.Providers[s.name]); errors.Is(err, llm.ErrUnauthorized) {
		return fails("", "%v", err)
	} else if err != nil {
		if lost, ok := errors.AsType[*net.OpError](err); ok {
			err = fmt.Errorf("nothing answers at %s (%w)", t.Provider.BaseURL, lost.Err)
		}
		return fails(reach, "%s", words.Upper(err.Error()))
	}
	switch t.Model = cmp.Or(pasted(model), firstOf(s, t.Models)); {
	case t.Model == "":
		return fails("write the name of a model, as that server calls it", "It does not say which models it has.")
	case len(t.Models) > 0 && !slices.Contains(t.Models, t.Model):
		return fails("choose one of those it has", "It has no model called %q.", t.Model)
	}
	remarks, err := q.TryModel(ctx, t.Provider, t.Model)
	if err != nil {
		return fails("", "%s: %s", t.Model, reason(err))
	}
	for _, seen := range remarks {
		t.Found = append(t.Found, channels.Finding{OK: !seen.Fails, Warn: true, Text: t.Model + " " + seen.Text, Fix: seen.Fix})
	}
	return t
}

// A TriedChannel is a channel of a platform that was tried.
type TriedChannel struct {
	Keys    map[string]string // of its table
	Secrets map[string]string // those of them that are credentials
	Found   []channels.Finding
}

// TryPlatform tries a channel of a kind.
func (q *Interview) TryPlatform(ctx context.Context, kind string, keys map[string]string) (t TriedChannel) {
	k, known := q.Options.Kinds.Find(kind)
	if !known || len(k.Asks) == 0 {
		t.Found = []channels.Finding{{Text: "Choose a platform."}}
		return t
	}
	ch := configs.AnsweredChannel{Kind: kind, Keys: map[string]string{}}
	for _, a := range k.Asks {
		ch.Keys[a.Key] = pasted(keys[a.Key])
		if why := elsewhere(ch.Keys[a.Key]); why != "" {
			t.Found = append(t.Found, channels.Finding{Text: a.Title + ": " + why})
		}
	}
	if len(t.Found) > 0 {
		return t
	}
	if own := strings.TrimSpace(keys[configs.AddressKey]); own != "" {
		ch.Keys[configs.AddressKey] = own
	}
	made, found, err := q.TryChannel(ctx, ch)
	if err != nil {
		t.Found = []channels.Finding{{Text: faultTexts(err)}}
		return t
	}
	t.Keys, t.Secrets, t.Found = map[string]string{"kind": kind}, map[string]string{}, found
	credentials := made.Credentials()
	for key, value := range ch.Keys {
		if _, secret := credentials[key]; secret {
			t.Secrets[key] = value
		} else {
			t.Keys[key] = value
		}
	}
	return t
}
