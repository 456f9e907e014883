// Package configs reads and checks the settings: it composes the Config structs
// that other packages own, layers default < file < run-time changes < environment,
// resolves secrets, and reports every fault at once with file and line.
package configs

import (
	"cmp"
	"maps"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"time"

	"switchboard/agent"
	"switchboard/agent/llm"
	"switchboard/agent/memory"
	"switchboard/channels"
	"switchboard/internal/secrets"
	"switchboard/internal/secrets/vault"
	"switchboard/router"
	"switchboard/router/core"
	"switchboard/router/money"
	"switchboard/store/database"
)

// Settings is everything an operator sets, checked. It is read-only once loaded.
type Settings struct {
	// DataDir is where everything lives that is not in the database: absolute, and
	// not necessarily there yet (see MakeDataDir). Default: the OS data folder.
	DataDir string `toml:"data_dir"`

	Server        Server              `toml:"server"`
	Store         database.Config     `toml:"store"`
	Log           Log                 `toml:"log"`
	LLM           llm.Config          `toml:"llm"`
	Agent         agent.Config        `toml:"agent"`
	Router        router.Config       `toml:"router"`
	Channels      map[string]Channel  `toml:"channels"` // by name; those of a kind not in this build are left out
	People        []Person            `toml:"people"`
	Policy        router.PolicyConfig `toml:"policy"`
	Approvals     Approvals           `toml:"approvals"`
	Scheduler     Scheduler           `toml:"scheduler"`
	Heartbeat     Heartbeat           `toml:"heartbeat"`
	Budget        Budget              `toml:"budget"`
	Memory        memory.Config       `toml:"memory"`
	Embeddings    Embeddings          `toml:"embeddings"`
	Transcription Transcription       `toml:"transcription"`
	Files         Files               `toml:"files"`
	Notify        map[string][]string `toml:"notify"` // kind of notice → "channel:conversation" or a person; empty: each admin's last used direct chat
	Retention     Retention           `toml:"retention"`

	// Mask knows every credential of the settings, and what else is secret. It is never nil.
	Mask *secrets.Masker `toml:"-"`

	// Vault has the key of the secrets that are set at run time.
	Vault *vault.Vault `toml:"-"`

	// File is the file that was read; empty when there was none.
	File string `toml:"-"`

	sources map[string]source // where each key came from; absent: the default
	notes   map[string]string // what Show adds to a key's source
	refs    map[string]string // where credentials are kept: "env:NAME", "file:PATH", absolute, "secret:NAME"
	opts    Options           // what they were loaded with
	text    []byte            // of the file
}

// Server is the table [server].
type Server struct {
	// Listen is HOST:PORT of the HTTP server; anything but loopback needs at least
	// one token, of these or made by command, when it starts. Default 127.0.0.1:8484.
	Listen string `toml:"listen"`
	// PublicURL is how the outside reaches the server, for webhooks and links.
	PublicURL string `toml:"public_url"`
	// WebhookSecret signs outgoing webhooks; empty: made at first start and stored.
	WebhookSecret secrets.Secret `toml:"webhook_secret"`
	// InternalToken opens /internal; empty: closed.
	InternalToken secrets.Secret `toml:"internal_token"`
	// AllowPrivate are CIDRs that webhooks and http.get may reach besides public
	// addresses. Default none.
	AllowPrivate []string `toml:"allow_private"`
	// TrustedProxies are CIDRs of the proxies whose X-Forwarded-For counts.
	// Default none.
	TrustedProxies []string `toml:"trusted_proxies"`
	// PProf serves /debug/pprof where Listen is on loopback. Default false.
	PProf bool `toml:"pprof"`
	// Tokens open the HTTP API, besides those made by command.
	Tokens []Token `toml:"tokens"`
}

// A Token is one entry of [[server.tokens]].
type Token struct {
	// Name is written beside what the token did; unique.
	Name string `toml:"name"`
	// Value is the token itself.
	Value secrets.Secret `toml:"value"`
	// Scopes: messages | read | send | admin. Default ["messages"].
	Scopes []string `toml:"scopes"`
	// People it may speak for; empty: any of role user. An admin must be named.
	People []string `toml:"people"`
}

// Log is the table [log].
type Log struct {
	// Level is debug | info | warn | error. Default info.
	Level string `toml:"level"`
	// Format is auto (text on a terminal, json elsewhere) | text | json. Default
	// auto.
	Format string `toml:"format"`
}

// A Channel is one table [channels.NAME]: the router's part, and the adapter's.
type Channel struct {
	router.ChannelConfig
	// Adapter is what the kind's Config made, filled; nil where the kind has no keys of
	// its own.
	Adapter any
}

// A Person is one entry of [[people]].
type Person struct {
	// Name is how commands and logs speak of the person; unique.
	Name string `toml:"name"`
	// Role is admin | user. Default user.
	Role string `toml:"role"`
	// Identities are "kind:id" or "channel:id" with the platform's stable ID.
	Identities []string `toml:"identities"`
	// Tools are patterns of what the person may use; empty: nothing. Default ["*"].
	Tools []string `toml:"tools"`
	// TimeZone is an IANA name; empty: that of [scheduler].
	TimeZone string `toml:"timezone"`
}

// Approvals is the table [approvals].
type Approvals struct {
	// Deadline is how long a question waits for its answer. Default 10m.
	Deadline time.Duration `toml:"deadline"`
}

// Scheduler is the table [scheduler].
type Scheduler struct {
	// Enabled false starts no jobs. Default true.
	Enabled bool `toml:"enabled"`
	// TimeZone is the IANA zone of people and jobs that name none. Default UTC.
	TimeZone string `toml:"timezone"`
	// Misfire says what becomes of slots that passed unseen: skip | once | all.
	// Default once.
	Misfire string `toml:"misfire"`
	// MisfireGrace is the lateness up to which a slot still runs as if on time.
	// Default 1h.
	MisfireGrace time.Duration `toml:"misfire_grace"`
}

// Heartbeat is the table [heartbeat].
type Heartbeat struct {
	// Enabled lets the bot look around by itself, where something has changed. Default false.
	Enabled bool `toml:"enabled"`
	// Every is the time between two of them, whole seconds and at least a minute. Default 30m.
	Every time.Duration `toml:"every"`
	// ActiveHours is HH:MM-HH:MM in the scheduler's zone; empty: always. Default
	// 08:00-22:00.
	ActiveHours string `toml:"active_hours"`
	// DeliverTo is channel:conversation; empty: the last used direct chat of an admin. Default empty.
	DeliverTo string `toml:"deliver_to"`
}

// Budget is the table [budget]. Limits are in Currency; 0: no limit, the default.
type Budget struct {
	// Currency is an ISO 4217 code, for what prices and limits are in. Default USD.
	Currency     string  `toml:"currency"`
	PerDay       float64 `toml:"per_day"`
	PerPersonDay float64 `toml:"per_person_day"`
	PerSession   float64 `toml:"per_session_day"`
	PerJobRun    float64 `toml:"per_job_run"`
}

// Embeddings is the table [embeddings].
type Embeddings struct {
	// Model is an alias or provider/model that makes vectors of texts, so that what means the same is found; empty: what is remembered
	// is found by its words alone, the default.
	Model string `toml:"model"`
}

// Transcription is the table [transcription], which has no effect yet.
type Transcription struct {
	// Model is an alias or provider/model; empty: voice is not transcribed.
	Model string `toml:"model"`
}

// Files is the table [files].
type Files struct {
	// MaxSize is the largest attachment taken, in bytes. Default 25MB.
	MaxSize int64 `toml:"max_size" unit:"size"`
	// MaxPerMessage is how many attachments of one message are taken. Default 10.
	MaxPerMessage int `toml:"max_per_message"`
	// ScanCommand judges a file (its path is the last argument) by its exit status;
	// empty: none. Default empty.
	ScanCommand string `toml:"scan_command"`
}

// Retention is the table [retention]: how long finished rows are kept.
type Retention struct {
	// Turns is for finished turns and events. Default 744h (31 days), likewise
	// Strangers and Runs.
	Turns     time.Duration `toml:"turns"`
	Strangers time.Duration `toml:"strangers"` // messages of strangers, rejected input
	Runs      time.Duration `toml:"runs"`      // runs of jobs
	// Prompts is for the exact requests and answers of models. Default 168h (7 days).
	Prompts time.Duration `toml:"prompts"`
	// Audit is for the audit log. Default 8760h (a year).
	Audit time.Duration `toml:"audit"`
	// Sessions is for sessions after their last message, with their conversations and
	// workspaces, and for people let in by an open policy. Default 8760h (a year).
	Sessions time.Duration `toml:"sessions"`
}

// Defaults is what the program runs with when nothing is set: no people, no
// channels, and one provider that stays inert without its key. DataDir is empty;
// Load fills it.
func Defaults() *Settings {
	return &Settings{
		Server: Server{Listen: "127.0.0.1:8484"},
		Log:    Log{Level: "info", Format: "auto"},
		LLM: llm.Config{
			Providers: map[string]llm.Provider{
				openRouter: {Kind: "openai", BaseURL: "https://openrouter.ai/api/v1"},
			},
		},
		Agent:     agent.DefaultConfig(),
		Router:    router.DefaultConfig(),
		Policy:    router.DefaultPolicyConfig(),
		Approvals: Approvals{Deadline: 10 * time.Minute},
		Scheduler: Scheduler{Enabled: true, TimeZone: "UTC", Misfire: "once", MisfireGrace: time.Hour},
		Heartbeat: Heartbeat{Every: 30 * time.Minute, ActiveHours: "08:00-22:00"},
		Budget:    Budget{Currency: "USD"},
		Memory:    memory.DefaultConfig(),
		Files:     Files{MaxSize: 25 << 20, MaxPerMessage: 10},
		Retention: Retention{
			Turns: 744 * time.Hour, Strangers: 744 * time.Hour, Runs: 744 * time.Hour,
			Prompts: 168 * time.Hour, Audit: 8760 * time.Hour, Sessions: 8760 * time.Hour,
		},
	}
}

// The provider that needs nothing but its key in the environment.
const (
	openRouter    = "openrouter"
	openRouterKey = "env:OPENROUTER_API_KEY"
)

// fresh is a new entry of a map or list of tables with nothing set.
func fresh(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch p := v.Addr().Interface().(type) {
	case *llm.Provider:
		*p = llm.DefaultProvider()
	case *llm.Model:
		*p = llm.DefaultModel()
	case *Person:
		*p = Person{Role: "user", Tools: []string{"*"}}
	case *Token:
		*p = Token{Scopes: []string{"messages"}}
	}
	return v
}

// Names says that a setting names a conversation of a channel, by the platform's ID.
func (s *Settings) Names(channel, conversation string) bool {
	name := channel + ":" + conversation
	if s.Heartbeat.DeliverTo == name || slices.Contains(s.Channels[channel].AllowConversations, conversation) {
		return true
	}
	for _, targets := range s.Notify {
		if slices.Contains(targets, name) {
			return true
		}
	}
	return false
}

// Unconfined says which setting lets commands of admins run with no sandbox; empty: none.
func (s *Settings) Unconfined() string {
	switch {
	case s.Agent.Sandbox == "off":
		return `agent.sandbox = "off"`
	case s.Agent.AdminUnconfined:
		return "agent.admin_unconfined = true"
	}
	return ""
}

// Kinds are the kinds of channel in this build.
func (s *Settings) Kinds() channels.Kinds { return s.opts.Kinds }

// Directory is the people as the router knows them.
func (s *Settings) Directory() []core.Person {
	people := make([]core.Person, 0, len(s.People))
	for _, p := range s.People {
		people = append(people, core.Person{
			Name: p.Name, Role: p.Role, Identities: p.Identities,
			Tools: p.Tools, TimeZone: p.TimeZone, Source: core.FromSettings,
		})
	}
	return people
}

// Limits are [budget] as the router goes by it; days are those of [scheduler] timezone.
func (s *Settings) Limits() money.Budget {
	zone, err := time.LoadLocation(s.Scheduler.TimeZone)
	if err != nil { // these settings were not taken
		zone = time.UTC
	}
	b := &s.Budget
	return money.Budget{Currency: b.Currency, Zone: zone, PerDay: b.PerDay, PerPersonDay: b.PerPersonDay, PerSessionDay: b.PerSession, PerRun: b.PerJobRun}
}

// Unpriced says of each model that may be asked, and of which nobody knows what it costs, what
// to fix: those of roles and fallbacks, and the aliases, which sessions may choose.
func (s *Settings) Unpriced() (faults []string) {
	models := slices.Concat(slices.Collect(maps.Values(s.Agent.Roles())), slices.Collect(maps.Keys(s.LLM.Models)))
	if s.Embeddings.Model != "" {
		models = append(models, s.Embeddings.Model)
	}
	slices.Sort(models)
	for _, model := range slices.Compact(models) {
		if why := s.LLM.Unpriced(model); why != "" {
			faults = append(faults, why)
		}
	}
	return faults
}

// EmbeddingsModel is PROVIDER/NAME of the model of [embeddings]; empty: there is none.
func (s *Settings) EmbeddingsModel() string {
	return cmp.Or(s.LLM.Models[s.Embeddings.Model].Model, s.Embeddings.Model)
}

// FileName is what the settings were read from, for people to read.
func (s *Settings) FileName() string { return cmp.Or(s.File, "the settings") }

// SameFile says that other settings were read from the same text.
func (s *Settings) SameFile(as *Settings) bool { return string(s.text) == string(as.text) }

// Loopback says whether Listen can be reached from this machine alone.
func (s *Server) Loopback() bool {
	host, _, _ := net.SplitHostPort(s.Listen)
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
