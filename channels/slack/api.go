package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/slack-go/slack"

	"switchboard/channels"
	"switchboard/channels/wire"
	"switchboard/internal/secrets"
)

const platformURL = "https://slack.com/api/"

// tokens are what the bot token and the app-level one look like.
//
// Source: https://docs.slack.dev/authentication/tokens.
var tokens = wire.Tokens{
	{Setting: "bot_token", Shape: regexp.MustCompile(`^xoxb-[A-Za-z0-9-]+$`), Wrong: "it does not look like xoxb-…; it stands under OAuth & Permissions of the app"},
	{Setting: "app_token", Shape: regexp.MustCompile(`^xapp-[A-Za-z0-9-]+$`), Wrong: "it does not look like xapp-…; it stands under Basic Information, App-Level Tokens"},
}

// api is the Web API as the app calls it.
type api struct {
	*wire.Bot[*slack.Client]
	pace     pace
	paces    pacer
	self     atomic.Pointer[self]
	names    wire.Memory[string, string] // of users, by ID
	nameless atomic.Int64                // when a look-up of a name had no answer, in ns
}

func newAPI(name, address string, log *slog.Logger, settings ...*channels.Credential) *api {
	a := &api{
		Bot:  wire.NewBot[*slack.Client](kind, name, cmp.Or(address, platformURL), log, tokens, settings...),
		pace: defaultPace, paces: pacer{span: time.Minute},
	}
	a.Library = func(given []secrets.Secret) (*slack.Client, error) {
		options := []slack.Option{slack.OptionAPIURL(a.API + "/"), slack.OptionHTTPClient(a.Wire)}
		if len(given) > 1 {
			options = append(options, slack.OptionAppLevelToken(given[1].Reveal()))
		}
		return slack.New(given[0].Reveal(), options...), nil
	}
	return a
}

// self is what the platform says of the bot.
type self struct {
	Team       string `json:"team_id"`
	Enterprise string `json:"enterprise_id"`
	User       string `json:"user_id"`
	Bot        string `json:"bot_id"`
	Name       string `json:"user"`
	Workspace  string `json:"team"`
	scopes     []string
}

// account is the bot in its workspace: what every key begins with.
func (m *self) account() string { return cmp.Or(m.Enterprise, m.Team) + "/" + m.User }

// agent says whether the app is declared an agent: that adds this scope.
//
// Source: https://docs.slack.dev/ai/agent-sessions/.
func (m *self) agent() bool { return m.can("assistant:write") }

func (m *self) can(scope string) bool { return slices.Contains(m.scopes, scope) }

// meet asks the platform who the bot is, which also tells whether the token is good.
//
// Source: https://docs.slack.dev/reference/methods/auth.test.
func (a *api) meet(ctx context.Context) (*self, error) {
	me, x, err := ask[*self](ctx, a, "auth.test", wire.CallTimeout, func(ctx context.Context, lib *slack.Client) error { return wire.Err(lib.AuthTestContext(ctx)) })
	if err != nil {
		return nil, err
	}
	if me == nil || me.User == "" || me.Team == "" {
		return nil, errors.New("auth.test: the answer names no user")
	}
	for scope := range strings.SplitSeq(x.Header.Get("X-OAuth-Scopes"), ",") {
		if scope = strings.TrimSpace(scope); scope != "" {
			me.scopes = append(me.scopes, scope)
		}
	}
	a.self.Store(me)
	return me, nil
}

// known is what is known of the bot itself, asked for where nothing is yet.
func (a *api) known(ctx context.Context) (*self, error) {
	if me := a.self.Load(); me != nil {
		return me, nil
	}
	return a.meet(ctx)
}

// A call calls the platform through the library.
type call = func(ctx context.Context, lib *slack.Client) error

// call makes one call, unless its method was called too often. Errors are those of package channels.
func (a *api) call(ctx context.Context, op string, timeout time.Duration, do call) (*exchange, error) {
	x := &exchange{}
	if err := a.Call(ctx, op, timeout, &x.Exchange, func() error { return a.paces.take(op) }, do); err != nil {
		return x, err
	}
	x.read()
	err := a.outcome(op, x)
	a.paces.ended(op, err)
	return x, err
}

// ask makes one call and reads its answer.
func ask[T any](ctx context.Context, a *api, op string, timeout time.Duration, do call) (answer T, x *exchange, err error) {
	if x, err = a.call(ctx, op, timeout, do); err == nil {
		answer, err = wire.Answer[T](op, x.Body)
	}
	return answer, x, err
}

// A reply is what every answer of the Web API has.
//
// Source: https://docs.slack.dev/apis/web-api/ "Evaluating responses".
type reply struct {
	OK       *bool  `json:"ok"`
	Error    string `json:"error"`
	Needed   string `json:"needed"`
	Metadata struct {
		Messages []string `json:"messages"`
	} `json:"response_metadata"`
}

// An exchange is what is known of one call.
type exchange struct {
	wire.Exchange
	reply *reply // nil: no answer, or none of the Web API
}

// read looks for the platform's reply in what was answered.
func (x *exchange) read() {
	var r reply
	if x.Status != 0 && json.Unmarshal(x.Body, &r) == nil && r.OK != nil {
		x.reply = &r
	}
}

// refused reports whether the platform refused with one of these codes.
func (x *exchange) refused(codes ...string) bool {
	return x != nil && x.reply != nil && slices.Contains(codes, x.reply.Error)
}

// mayTrust says whether an address is one of the platform: what goes there may hold a
// secret.
func (a *api) mayTrust(u *url.URL) bool {
	own, err := url.Parse(a.API)
	if err != nil {
		return false
	}
	safe := u.Scheme == "https" || u.Scheme == "wss"
	if u.Host == own.Host && (safe || own.Scheme == "http") {
		return true
	}
	host := u.Hostname()
	return safe && u.Port() == "" &&
		(host == "slack.com" || strings.HasSuffix(host, ".slack.com") || strings.HasSuffix(host, ".slack-msgs.com"))
}

// nameWithin bounds the look-up of a name, which holds back what comes; after one without an
// answer none is made for restNames.
const nameWithin, restNames = 2 * time.Second, time.Minute

// name is what a user is called; their ID where that cannot be told now.
//
// Source: https://docs.slack.dev/reference/methods/users.info.
func (a *api) nameOf(ctx context.Context, user string) string {
	if name, known := a.names.Get(user); known {
		return name
	}
	if time.Since(time.Unix(0, a.nameless.Load())) < restNames {
		return user
	}
	type info struct {
		User struct {
			Name    string `json:"name"`
			Real    string `json:"real_name"`
			Profile struct {
				Display string `json:"display_name"`
			} `json:"profile"`
		} `json:"user"`
	}
	answer, x, err := ask[info](ctx, a, "users.info", nameWithin, func(ctx context.Context, lib *slack.Client) error { return wire.Err(lib.GetUserInfoContext(ctx, user)) })
	if err != nil && x.reply == nil {
		a.nameless.Store(time.Now().UnixNano())
		return user // it is asked again
	}
	name := cmp.Or(answer.User.Profile.Display, answer.User.Real, answer.User.Name, user)
	a.names.Put(user, name)
	return name
}

// fileInfo asks for what is known of a file.
//
// Source: https://docs.slack.dev/reference/methods/files.info.
func (a *api) fileInfo(ctx context.Context, id string) (*wireFile, error) {
	known, _, err := ask[struct{ File wireFile }](ctx, a, "files.info", nameWithin, func(ctx context.Context, lib *slack.Client) error {
		return wire.Err(lib.GetFileInfoContext(ctx, id, 1, 1))
	})
	return &known.File, err
}

// isIn says whether the bot is in a channel; where nobody knows, it is. Commands come from
// direct conversations of two people, too: those it does not know.
//
// Source: https://docs.slack.dev/reference/methods/conversations.info.
func (a *api) isIn(ctx context.Context, channel string) bool {
	type info struct {
		Channel struct {
			In    *bool `json:"is_member"`
			Group bool  `json:"is_mpim"`
		} `json:"channel"`
	}
	answer, x, err := ask[info](ctx, a, "conversations.info", nameWithin,
		wire.With((*slack.Client).GetConversationInfoContext, &slack.GetConversationInfoInput{ChannelID: channel}))
	if err != nil || answer.Channel.In == nil || answer.Channel.Group || isDirect(channel) {
		return !x.refused("channel_not_found")
	}
	return *answer.Channel.In
}
