package configs

import (
	"reflect"
	"time"

	"switchboard/agent"
	"switchboard/agent/llm"
	"switchboard/router"
)

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
		Memory:    Memory{Learning: true, MinConfidence: 0.5},
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
