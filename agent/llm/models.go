package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Offline is the name of the built-in model; no alias or provider may take it.
const Offline = "offline"

// Models knows every model of the settings. Its methods may be called from any
// number of goroutines; all calls share one pool of connections.
type Models struct {
	providers map[string]*provider
	aliases   map[string]Model
	named     map[string]string
	pool      *http.Transport
	log       *slog.Logger
	claims    sync.Map // models whose Usage.Claimed was logged, by provider and ID
}

// New does no I/O. Its error is Config.Validate's; what a provider or an alias
// leaves out is filled in first. The offline model answers through offline; nil leaves it out. A
// provider without a key is no fault, see Check.
func New(cfg Config, offline http.RoundTripper, log *slog.Logger) (*Models, error) {
	m := &Models{
		providers: make(map[string]*provider, len(cfg.Providers)+1),
		aliases:   make(map[string]Model, len(cfg.Models)),
		named:     cfg.Named,
		pool:      newPool(),
		log:       log,
	}
	full := Config{Providers: map[string]Provider{Offline: {Kind: Offline}}, Models: m.aliases}
	for name, p := range cfg.Providers {
		p.Kind = cmp.Or(p.Kind, DefaultProvider().Kind)
		full.Providers[name] = p
	}
	for alias, model := range cfg.Models {
		m.aliases[alias] = withDefaults(model)
	}
	if err := full.Validate(); err != nil {
		return nil, fmt.Errorf("settings of [llm]: %w", err)
	}
	for name, p := range full.Providers {
		m.providers[name] = newProvider(name, p, m.pool, offline, log)
		m.providers[name].named = cfg.Named
	}
	return m, nil
}

// withDefaults fills in what an alias does not say.
func withDefaults(m Model) Model {
	if m.MaxOutputTokens == 0 {
		m.MaxOutputTokens = DefaultModel().MaxOutputTokens
		if m.ContextTokens > 0 {
			m.MaxOutputTokens = min(m.MaxOutputTokens, max(1, m.ContextTokens/4))
		}
	}
	return m
}

// Close drops the connections kept for later calls. Calls under way go on.
func (m *Models) Close() { m.pool.CloseIdleConnections() }

// A target is a name of the settings, resolved.
type target struct {
	provider *provider
	id       string // the provider's own model ID
	alias    string // empty: it has none
	model    Model  // what the alias says, defaults filled in
}

func (m *Models) resolve(name string) (target, error) {
	model, isAlias := m.aliases[name]
	alias := name
	if !isAlias {
		alias, model = "", withDefaults(Model{Model: name})
	}
	first, id, _ := strings.Cut(model.Model, "/")
	p, known := m.providers[first]
	if !known || (id == "" && p.kind != Offline) {
		return target{}, setup(fmt.Sprintf("there is no model %q in the settings", name),
			fmt.Sprintf(`name an alias of [llm.models], "provider/model" or %q in %s`, Offline, cmp.Or(m.named[name], "[agent]")),
			fmt.Errorf("%w %q: it is no alias of [llm.models], and there is no provider %q in [llm.providers] that it could name a model of", ErrUnknownModel, name, first))
	}
	t := target{provider: p, id: cmp.Or(id, Offline), alias: alias, model: model}
	if read := p.reads(&t); read > 0 && model.ContextTokens == 0 {
		t.model.MaxOutputTokens = min(t.model.MaxOutputTokens, read/4)
	}
	return t, p.usable()
}

// Check says whether every role could be served: roles maps a role to the name
// of its model. All faults are joined, each with the role and the fix; it does
// no I/O, so a wrong key is found by the first call only.
func (m *Models) Check(roles map[string]string) error {
	var faults []error
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		if _, err := m.resolve(roles[role]); err != nil {
			faults = append(faults, fmt.Errorf("%s: model %q: %w", role, roles[role], err))
		}
	}
	return errors.Join(faults...)
}

// Complete asks the model of that name (an alias, "provider/model" or
// "offline") and blocks until it answered, ctx ended, or the time is over.
//
// When ctx ended the error is its own; every other is one of this package's
// sentinels or a *RateLimitError, and names role, provider and model. With an
// error the Response still holds the Exchange and the Usage, as far as there
// was one. A 429, a 5xx, a lost connection and an answer whose body is broken are
// tried again twice, after half a second, then one, or as the provider's Retry-After
// says; not later than 30 s after the first failure, and not what was shown in part.
func (m *Models) Complete(ctx context.Context, model string, req Request) (Response, error) {
	t, err := m.resolve(model)
	if err != nil {
		return Response{}, fmt.Errorf("%s: model %q: %w", req.Role, model, err)
	}
	resp, err := t.provider.complete(ctx, t, req)
	level := slog.LevelDebug
	if err != nil {
		err = fmt.Errorf("%s: %s/%s: %w", req.Role, t.provider.name, t.id, err)
		if ctx.Err() == nil {
			level = slog.LevelWarn
		}
	}
	m.log.LogAttrs(ctx, level, "model call",
		slog.String("role", req.Role), slog.String("provider", t.provider.name), slog.String("model", t.id),
		slog.Duration("duration", resp.Exchange.Duration),
		slog.Int64("billed_tokens", resp.Usage.In+resp.Usage.Out), slog.Any("error", err))
	if resp.Usage.Claimed > 0 {
		if _, said := m.claims.LoadOrStore(t.provider.name+"/"+t.id, true); !said {
			m.log.WarnContext(ctx, "a model says that it used more tokens than it can have; what was reserved is taken for used", "role", req.Role,
				"provider", t.provider.name, "model", t.id, "claimed_tokens", resp.Usage.Claimed, "billed_tokens", resp.Usage.In+resp.Usage.Out)
		}
	}
	return resp, err
}

// Length is how much the model of that name (as Complete takes it) reads: what the settings say, else
// what its server says, which is asked where that is not known or may have changed, for 3 s at most.
// Of a name that means nothing it is that of a model elsewhere.
func (m *Models) Length(ctx context.Context, model string) Length {
	t, err := m.resolve(model)
	if t.provider == nil {
		return Length{otherTokens, DefaultModel().MaxOutputTokens}
	}
	if t.provider.kind == Offline {
		return Length{}
	}
	if err == nil && t.model.ContextTokens == 0 {
		t.provider.lengths.ask(ctx, t.id)
		t, _ = m.resolve(model)
	}
	read := t.provider.reads(&t)
	return Length{read, min(t.model.MaxOutputTokens, read/4)}
}
