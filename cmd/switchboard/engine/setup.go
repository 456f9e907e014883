package engine

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"switchboard/agent/llm"
	"switchboard/channels"
	page "switchboard/channels/web"
	"switchboard/cmd/switchboard/access"
	"switchboard/cmd/switchboard/interview"
	"switchboard/configs"
	"switchboard/internal/secrets"
	"switchboard/internal/words"
	"switchboard/router/core"
	"switchboard/router/settings"
)

// setup implements page.Setup.
type setup struct{ *Engine }

// State says what is set up.
func (s setup) State() page.SetupState {
	now, people := s.settings.Now(), s.People()
	st := page.SetupState{TimeZone: now.Scheduler.TimeZone, TimeZoneSet: now.Place("scheduler.timezone") != ""}
	if now.Agent.Planner != llm.Offline {
		st.Model = now.Agent.Planner
	}
	states := map[string]channels.Status{}
	for _, is := range s.statuses() {
		states[is.Name] = is
	}
	for _, at := range s.platforms() {
		k, _ := now.Kinds().Find(at.Channel.Kind())
		is := states[at.Name()]
		ch := page.SetupChannel{
			Name: at.Name(), Title: k.Title, Connected: is.State == channels.StateConnected, Claimed: access.NoAdmin(people, at.Name(), at.Config) == "",
			Command: s.router.Connections.Connection(at.Name()).Command(channels.Conversation{Channel: at.Name(), Kind: channels.Direct}) + "claim ",
		}
		if l, ok := at.Channel.(channels.Linker); ok {
			ch.Link = l.Link()
		}
		if access.InTrouble(is) {
			ch.Trouble = cmp.Or(is.Reason, string(is.State))
		}
		st.Channels = append(st.Channels, ch)
	}
	for _, k := range now.Kinds() {
		if len(k.Asks) == 0 {
			continue
		}
		p := page.SetupPlatform{Kind: k}
		if _, settable := configs.AddressIn(k.Config()); settable {
			p.AddressKey = configs.AddressKey
			if ch, ok := now.Channels[k.Name]; ok && ch.Kind == k.Name {
				p.Address = ch.Address()
			}
		}
		st.Platforms = append(st.Platforms, p)
	}
	return st
}

// Servers are those that have models.
func (s setup) Servers(ctx context.Context) (list []page.ModelServer) {
	found := interview.Local(ctx)
	servers := interview.Servers()
	for _, address := range slices.Sorted(maps.Keys(found)) {
		list = append(list, page.ModelServer{Name: servers[len(servers)-1].Name, Address: address, Models: found[address]})
	}
	for _, one := range servers {
		m := page.ModelServer{Name: one.Name, Title: one.Title, Keys: one.Keys}
		if one.Keys == "" {
			m.Address = one.Base
		}
		list = append(list, m)
	}
	return list
}

// trial tries answers as init does, beside the settings that count.
func (s setup) trial() *interview.Interview {
	now := s.settings.Now()
	return &interview.Interview{
		Options: configs.Options{DataDir: now.DataDir, Kinds: now.Kinds(), Mask: now.Mask},
		Answers: configs.Answers{Existing: []byte{}},
	}
}

// TryModel tries a model.
func (s setup) TryModel(ctx context.Context, a page.ModelAnswer) page.Tried {
	t := s.trial().TryServer(ctx, a.Server, a.Address, a.Key, a.Model)
	of := "llm.providers." + t.Provider.Name + "."
	tried := page.Tried{
		Found: t.Found, Models: t.Models,
		Set: map[string]string{"agent.planner": t.Provider.Name + "/" + t.Model}, Secrets: map[string]string{},
	}
	if key := t.Provider.APIKey; key == llm.NoKey.Reveal() {
		tried.Set[of+"api_key"] = key
	} else {
		tried.Secrets[of+"api_key"] = key
	}
	if s.settings.Now().LLM.Providers[t.Provider.Name].BaseURL != t.Provider.BaseURL {
		tried.Set[of+"base_url"] = t.Provider.BaseURL
	}
	return tried
}

// TryChannel tries a channel of a kind.
func (s setup) TryChannel(ctx context.Context, kind string, keys map[string]string) page.Tried {
	t := s.trial().TryPlatform(ctx, kind, keys)
	tried := page.Tried{Found: t.Found, Set: map[string]string{}, Secrets: map[string]string{}}
	for key, value := range t.Keys {
		tried.Set["channels."+kind+"."+key] = value
	}
	if ch, ok := s.settings.Now().Channels[kind]; ok && ch.Address() != "" && keys[configs.AddressKey] == "" {
		tried.Set["channels."+kind+"."+configs.AddressKey] = "" // the platform's own was tried
	}
	for key, value := range t.Secrets {
		tried.Secrets["channels."+kind+"."+key] = value
	}
	return tried
}

// Secret keeps a secret, or takes one away that nothing uses.
func (s setup) Secret(ctx context.Context, name, value string, by core.Actor) error {
	change := &settings.SecretChange{Kind: settings.RemoveSecret, Name: name}
	if value == "" && len(s.settings.UsedBy(name)) > 0 {
		return nil
	}
	if value != "" {
		sealed, err := s.settings.Seal(secrets.Secret(value))
		if err != nil {
			return &core.StateError{Sentence: words.Upper(err.Error()) + "."}
		}
		change.Kind, change.Ciphertext = settings.SetSecret, sealed
	}
	if err := s.router.Change(ctx, change, by); err != nil {
		return err
	}
	return s.settings.Changed(ctx)
}

// Claim makes a code: the account that sends it to the bot becomes the asking admin's.
func (s setup) Claim(ctx context.Context, by core.Actor) (string, error) {
	return s.router.Asking.NewClaim(ctx, by.Person, by)
}

// PeopleChange is closed once the people are others.
func (s setup) PeopleChange() <-chan struct{} { return s.router.Roster.Change() }
