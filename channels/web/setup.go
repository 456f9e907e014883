package web

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"switchboard/channels"
	"switchboard/internal/words"
	"switchboard/router/core"
)

// A Setup has what a first start needs tried, and says what there is.
type Setup interface {
	State() SetupState
	// Servers are those that have models, those that were found on this machine first.
	Servers(ctx context.Context) []ModelServer
	TryModel(ctx context.Context, a ModelAnswer) Tried
	TryChannel(ctx context.Context, kind string, keys map[string]string) Tried
	// Secret keeps a secret, or takes one away that nothing uses, which has no value.
	Secret(ctx context.Context, name, value string, by core.Actor) error
	// Claim makes a code that makes the account which sends it to the bot that of the admin who asks.
	Claim(ctx context.Context, by core.Actor) (code string, err error)
	// PeopleChange is closed once the people are others.
	PeopleChange() <-chan struct{}
}

// A SetupState says what is set up.
type SetupState struct {
	Model       string // empty: the built-in one
	Channels    []SetupChannel
	TimeZone    string
	TimeZoneSet bool // somebody chose it
	Platforms   []SetupPlatform
}

// Needed says that nothing is set up.
func (s *SetupState) Needed() bool { return s.Model == "" && len(s.Channels) == 0 }

// Reached says that people can write on a channel, or soon can.
func (s *SetupState) Reached() bool {
	return slices.ContainsFunc(s.Channels, func(c SetupChannel) bool { return c.Trouble == "" })
}

// A SetupPlatform is one of which there can be channels.
type SetupPlatform struct {
	channels.Kind
	AddressKey string // of the setting that names a server of the person's own; empty: it has none
	Address    string // that one as it is set
}

// A SetupChannel is a channel that is there.
type SetupChannel struct {
	Name, Title string
	Command     string // what stands before a code there
	Claimed     bool   // an admin can write there
	Link        string // opens a direct chat, and takes a code at its end; empty: there is none
	Connected   bool
	Trouble     string // why it is not; empty: it may be so soon
}

// A ModelServer has models.
type ModelServer struct {
	Name, Title string
	Keys        string   // where it gives keys; empty: it has an address of the person's
	Address     string   // one that it may have
	Models      []string // it was found, with these
}

// A ModelAnswer is what somebody says about the model; the address is of a server of their own.
type ModelAnswer struct{ Server, Address, Key, Model string }

// Tried is what a trial brought: it is good if everything found is OK. Set and Secrets are the settings that keep it.
type Tried struct {
	Found        []channels.Finding
	Models       []string // that there are to choose from
	Kept         string   // where it goes on, once it is kept
	Set, Secrets map[string]string
}

// The steps of the setup, each a page of that name.
const (
	stepModel   = "model"
	stepChannel = "channel"
	stepZone    = "zone"
	stepFirst   = "first"
)

var setupSteps = []string{stepModel, stepChannel, stepZone, stepFirst}

func (s *Site) setupPages() {
	if s.Setup == nil {
		return
	}
	s.forAll("GET /setup", s.setup)
	s.onlyAdmins("GET /setup/{step}", s.setupStep)
	s.onlyAdmins("GET /setup/live", s.streaming(s.claimed))
	s.onlyAdmins("POST /setup/model", s.setUpModel)
	s.onlyAdmins("POST /setup/channel", s.setUpChannel)
	s.onlyAdmins("POST /setup/claim", s.newClaim)
	s.onlyAdmins("POST /setup/zone", s.setUpZone)
}

// setup leads to the first step that is not done yet.
func (s *Site) setup(w http.ResponseWriter, r *http.Request) error {
	st := s.Setup.State()
	step := stepFirst
	switch {
	case !visitorOf(r).admin():
		return s.led(w, r, "/", nil)
	case st.Model == "":
		step = stepModel
	case !st.Reached():
		step = stepChannel
	case !st.TimeZoneSet:
		step = stepZone
	}
	return s.led(w, r, "/setup/"+step, nil)
}

// A setupBody is the page of a step.
type setupBody struct {
	SetupState
	Step    string
	Steps   []setupEntry
	Next    string // the step behind it; empty: it is the last
	Done    bool
	Servers []ModelServer
	Tried   Tried
	Typed   map[string]string // what is no secret of it
	Channel *SetupChannel     // that has no admin yet, or the last
	Code    string            // to claim it with; empty: none was made
}

// A setupEntry is a step in the list.
type setupEntry struct {
	Name, Title string
	Done, Here  bool
}

func (s *Site) setupOf(ctx context.Context, v *visitor, step string) *setupBody {
	b := &setupBody{SetupState: s.Setup.State(), Step: step}
	done := map[string]bool{stepModel: b.Model != "", stepChannel: b.Reached(), stepZone: b.TimeZoneSet}
	titles := []string{"Model", "Channel", "Time zone", "First message"}
	for i, name := range setupSteps {
		b.Steps = append(b.Steps, setupEntry{name, titles[i], done[name], name == step})
		b.Done = b.Done || name == step && done[name]
		if name == step && i+1 < len(setupSteps) {
			b.Next = setupSteps[i+1]
		}
	}
	for i := range b.Channels {
		if b.Channel == nil || b.Channel.Claimed {
			b.Channel = &b.Channels[i]
		}
	}
	switch step {
	case stepModel:
		b.Servers = s.Setup.Servers(ctx)
	case stepChannel:
		b.Code = s.goodClaim(ctx, v)
	}
	return b
}

func (s *Site) setupStep(w http.ResponseWriter, r *http.Request) error {
	step := r.PathValue("step")
	if !slices.Contains(setupSteps, step) {
		return errNoPage
	}
	return s.show(w, r, "setup", "Setup", "setup", s.setupOf(r.Context(), visitorOf(r), step))
}

// setUpModel tries a model, and keeps it if it is good.
func (s *Site) setUpModel(w http.ResponseWriter, r *http.Request) error {
	server, address, _ := strings.Cut(r.PostFormValue("server"), " ") // of one that was found
	a := ModelAnswer{Server: server, Address: cmp.Or(address, r.PostFormValue("address")), Key: r.PostFormValue("key"), Model: r.PostFormValue("model")}
	return s.keepTried(w, r, stepModel, s.Setup.TryModel(r.Context(), a), map[string]string{"server": r.PostFormValue("server"), "address": a.Address, "model": a.Model}, nil)
}

// setUpChannel tries a channel, keeps it if it is good, and makes a code to claim it with.
func (s *Site) setUpChannel(w http.ResponseWriter, r *http.Request) error {
	kind, keys := r.PostFormValue("kind"), map[string]string{}
	typed := map[string]string{"kind": kind}
	for _, k := range s.Setup.State().Platforms {
		if k.Name != kind {
			continue
		}
		for _, a := range k.Asks {
			keys[a.Key] = r.PostFormValue(kind + "." + a.Key)
		}
		if k.AddressKey != "" {
			keys[k.AddressKey] = strings.TrimSpace(r.PostFormValue(kind + "." + k.AddressKey))
			typed["address"] = keys[k.AddressKey]
		}
	}
	return s.keepTried(w, r, stepChannel, s.Setup.TryChannel(r.Context(), kind, keys), typed, s.makeClaim)
}

// keepTried keeps what was tried, or says why it is not good.
func (s *Site) keepTried(w http.ResponseWriter, r *http.Request, step string, t Tried, typed map[string]string, then func(context.Context, *visitor) error) error {
	v := visitorOf(r)
	var faults []string
	var err error
	status := http.StatusUnprocessableEntity
	if !slices.ContainsFunc(t.Found, func(f channels.Finding) bool { return !f.OK }) {
		if faults, err = s.keep(r.Context(), v, t); err == nil && len(faults) == 0 {
			status, t.Kept = http.StatusOK, step
		}
	}
	if t.Kept != "" && then != nil {
		err = then(r.Context(), v)
	}
	if err != nil {
		_, fault := s.wrong(r, err)
		faults = append(faults, fault)
	}
	for _, fault := range faults {
		t.Found = append(t.Found, channels.Finding{Text: fault})
	}
	for i, f := range t.Found { // what is to be done stands once, at the last that needs it
		if slices.ContainsFunc(t.Found[i+1:], func(later channels.Finding) bool { return later.Fix == f.Fix }) {
			t.Found[i].Fix = ""
		}
	}
	if t.Kept != "" && step != stepChannel { // where the code is shown
		t.Kept = setupSteps[slices.Index(setupSteps, step)+1]
	}
	if t.Kept != "" && !slices.ContainsFunc(t.Found, func(f channels.Finding) bool { return f.Warn || !f.OK }) {
		return s.led(w, r, "/setup/"+t.Kept, nil)
	}
	if isPart(r) {
		s.write(w, r, status, "setup-tried", t)
		return nil
	}
	b := s.setupOf(r.Context(), v, step)
	b.Tried, b.Typed = t, typed
	return s.showAs(w, r, status, "setup", "Setup", "setup", b)
}

// keep has the settings say what was tried, with its credentials in the secret store. Faults: nothing was kept.
func (s *Site) keep(ctx context.Context, v *visitor, t Tried) (faults []string, err error) {
	set := maps.Clone(t.Set)
	var names []string
	for key, value := range t.Secrets {
		parts := strings.Split(key, ".")
		name := strings.Join(parts[len(parts)-2:], "_")
		if err := s.Setup.Secret(ctx, name, value, v.actor()); err != nil {
			return nil, err
		}
		names, set[key] = append(names, name), "secret:"+name
	}
	plan, err := s.Settings.PlanSettings(ctx, s.changesAt(v), set)
	if err == nil {
		err = s.makeChange(ctx, v, plan)
	}
	if err == nil {
		faults = plan.Faults
	}
	for _, name := range names {
		if err != nil || len(faults) > 0 {
			err = errors.Join(err, s.Setup.Secret(ctx, name, "", v.actor()))
		}
	}
	return faults, err
}

// A claimCode is one to claim a channel with, whose account that makes, and until when it is good.
type claimCode struct {
	code, person string
	until        time.Time
}

// goodClaim is the code that was made last here, as long as it is good; empty: there is none of theirs.
func (s *Site) goodClaim(ctx context.Context, v *visitor) string {
	if made := s.claims.Load(); made != nil && made.person == v.person.Name {
		if _, until, err := s.OpenClaim(ctx); err == nil && until.Equal(made.until) {
			return made.code
		}
	}
	return ""
}

func (s *Site) makeClaim(ctx context.Context, v *visitor) error {
	code, err := s.Setup.Claim(ctx, v.actor())
	if err != nil {
		return err
	}
	_, until, err := s.OpenClaim(ctx)
	s.claims.Store(&claimCode{code, v.person.Name, until})
	return err
}

func (s *Site) newClaim(w http.ResponseWriter, r *http.Request) error {
	return s.led(w, r, "/setup/channel", s.makeClaim(r.Context(), visitorOf(r)))
}

// claimed streams that somebody has claimed the channel, once.
func (s *Site) claimed(w http.ResponseWriter, r *http.Request) error {
	v, out := visitorOf(r), newStream(w)
	for {
		change, b := s.Setup.PeopleChange(), s.setupOf(r.Context(), v, stepChannel)
		if b.Channel != nil && b.Channel.Claimed {
			if part, err := s.fragment(v, "setup-claim-live", b); err != nil {
				s.Log.ErrorContext(r.Context(), "a part of a page could not be made", "error", err)
			} else {
				_ = out.Write(func() error { return out.part(0, part) }) // the client left
			}
			return nil
		}
		if out.Ping() != nil || b.Channel == nil {
			return nil
		}
		select {
		case <-change:
		case <-time.After(pingEvery):
		case <-r.Context().Done():
			return nil
		}
		if s.stillAdmin(r.Context(), v) != nil {
			return nil
		}
	}
}

func (s *Site) setUpZone(w http.ResponseWriter, r *http.Request) error {
	typed := strings.TrimSpace(r.PostFormValue("zone"))
	zone, err := words.Zone(typed)
	t := Tried{Set: map[string]string{"scheduler.timezone": zone}}
	if err != nil {
		t.Found = []channels.Finding{{Text: sentence(err.Error(), "")}}
	} else if place, err := time.LoadLocation(zone); err == nil && zone != typed {
		t.Found = []channels.Finding{{OK: true, Warn: true, Text: "I take that for " + zone + ": it is " + time.Now().In(place).Format("15:04") + " there."}}
	}
	if st := s.Setup.State(); err == nil && st.TimeZoneSet && st.TimeZone == zone {
		return s.led(w, r, "/setup/first", nil)
	}
	return s.keepTried(w, r, stepZone, t, map[string]string{"zone": typed}, nil)
}
