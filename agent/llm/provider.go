package llm

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"switchboard/internal/secrets"
)

const (
	kindOpenAI = "openai"

	openAIBase     = "https://api.openai.com/v1"
	openAIHost     = "api.openai.com"
	offlineURL     = "http://offline.invalid/v1/chat/completions"
	offlineVectors = "http://offline.invalid/v1/embeddings" // which it does not have

	defaultTimeout = 2 * time.Minute
)

// A provider is one server.
type provider struct {
	name, kind string
	timeout    time.Duration
	keyFrom    string
	address    string            // scheme and host, without credentials
	named      map[string]string // as Config.Named
	noKey      bool              // it needs a key and has none
	absent     bool              // not in this build
	local      bool              // on this machine or in a network of one's own
	// ownTokens: the server wants max_completion_tokens in place of max_tokens,
	// the name that every compatible server knows.
	ownTokens bool
	client    *http.Client
	endpoint  string      // where questions go
	vectors   string      // where texts go that are to be embedded
	header    http.Header // of every question
	log       *slog.Logger
	mask      *secrets.Masker // of its own credentials

	framing sync.Mutex
	frames  []*frame // the latest made last

	first    mode // of a model of which nothing is known yet
	learning sync.Mutex
	modes    map[string]mode // by a model's ID; see learn

	lengths lengths
}

// newProvider takes a valid cfg.
func newProvider(name string, cfg Provider, pool, offline http.RoundTripper, log *slog.Logger) *provider {
	p := &provider{name: name, kind: cfg.Kind, timeout: cfg.Timeout, keyFrom: cfg.KeyFrom, log: log, modes: map[string]mode{}}
	p.header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}, "User-Agent": {"switchboard"}}
	if cfg.Kind == Offline {
		p.absent = offline == nil
		p.client, p.endpoint, p.vectors = &http.Client{Transport: offline}, offlineURL, offlineVectors
		return p
	}
	base, err := url.Parse(cmp.Or(cfg.BaseURL, openAIBase))
	if cfg.Kind != kindOpenAI || err != nil {
		p.absent = true
		return p
	}
	p.address = base.Scheme + "://" + base.Host
	p.ownTokens = base.Hostname() == openAIHost
	if base.Hostname() == anthropicHost {
		p.first.format = promptOnly
	}
	p.noKey = cfg.APIKey == "" && !isLoopback(base.Hostname())
	p.local = isLocal(base.Hostname())
	p.client = &http.Client{Transport: pool, CheckRedirect: sameServer}
	p.lengths = lengths{asked: map[string]time.Time{}, client: p.client, cfg: cfg}
	p.mask = maskOf(cfg)
	folder := *base
	if !strings.HasSuffix(folder.Path, "/") {
		folder.Path += "/"
	}
	p.endpoint = folder.ResolveReference(&url.URL{Path: "chat/completions"}).String()
	p.vectors = folder.ResolveReference(&url.URL{Path: "embeddings"}).String()
	if hasKey(cfg) {
		p.header.Set("Authorization", "Bearer "+cfg.APIKey.Reveal())
		if base.Scheme == "http" && !isLoopback(base.Hostname()) {
			log.Warn("the provider's key travels unencrypted; use an https base_url", slog.String("provider", name))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(cfg.Headers)) {
		p.header.Set(key, cfg.Headers[key])
	}
	return p
}

// sameServer is an http.Client's CheckRedirect: neither key nor prompt goes to another
// server than the settings name.
func sameServer(req *http.Request, via []*http.Request) error {
	switch {
	case origin(req.URL) != origin(via[0].URL):
		return errors.New("it redirects to another server")
	case len(via) >= 10: // as net/http
		return errors.New("it redirects too often")
	}
	return nil
}

// origin is the server of an address, its port always written.
func origin(u *url.URL) string {
	return strings.ToLower(u.Scheme + "://" + u.Hostname() + ":" + cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]))
}

// usable says why a role cannot use the provider.
func (p *provider) usable() error {
	switch {
	case p.absent:
		return setup(fmt.Sprintf("the provider %q is of a kind that this build does not have", p.name),
			fmt.Sprintf("choose the kind %q in llm.providers.%s.kind, or another model", kindOpenAI, p.name),
			fmt.Errorf("provider %q: kind %q is %w", p.name, p.kind, ErrNotAvailable))
	case p.noKey:
		fix := p.setKey()
		if p.keyFrom == "" {
			fix = fmt.Sprintf(`set llm.providers.%s.api_key, for example api_key = "env:%s_API_KEY", or api_key = %q for a server that wants none`,
				p.name, strings.ToUpper(strings.ReplaceAll(p.name, "-", "_")), NoKey.Reveal())
		}
		return setup(fmt.Sprintf("there is no key for %q", p.name), fix, ErrNoKey)
	}
	return nil
}

// maskOf masks the provider's credentials: a server may repeat them in what it says is
// wrong.
func maskOf(cfg Provider) *secrets.Masker { return secrets.NewMasker(cfg.Credentials()...) }

// Credentials are the provider's key and what its headers say that has the name of a
// credential.
func (p Provider) Credentials() (list []secrets.Secret) {
	if hasKey(p) {
		list = append(list, p.APIKey)
	}
	if at, err := url.Parse(p.BaseURL); err == nil {
		if password, ok := at.User.Password(); ok {
			list = append(list, secrets.Secret(password))
		}
	}
	for name, value := range p.Headers {
		name = strings.ToLower(name)
		if anyOf(name, []string{"auth", "key", "token", "secret", "cookie"}) {
			_, word, _ := strings.Cut(value, " ") // behind "Bearer"
			list = append(list, secrets.Secret(value), secrets.Secret(word))
		}
	}
	return list
}

func hasKey(cfg Provider) bool { return cfg.APIKey != "" && cfg.APIKey != NoKey }

func isLoopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// isLocal says that a host is on this machine or in a network of one's own.
func isLocal(host string) bool {
	if isLoopback(host) {
		return true
	}
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	return !strings.Contains(host, ".") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal")
}

// newPool is good for some hundred calls at once to one provider: each keeps its
// connection for the next.
func newPool() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		MaxIdleConnsPerHost:   256,
		IdleConnTimeout:       90 * time.Second,
		// A question is some 35 KB; what does not fit in here is copied through 32 KB more, made for it alone.
		WriteBufferSize: 64 << 10,
	}
}
