package tools

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"net/netip"
	"strings"
	"time"

	"switchboard/agent/tools/host"
	"switchboard/agent/tools/workspace"
	"switchboard/internal/words"
)

//go:embed pages/*.md
var pages embed.FS

// BuiltinConfig is what the built-in tools need to know. The zero value works.
type BuiltinConfig struct {
	// AllowPrivate are networks that http.get may reach besides public
	// addresses. Empty: none.
	AllowPrivate []netip.Prefix
	// Space is what a workspace may hold. Nil: the default limits.
	Space *workspace.Space
	// FileLimit is the largest file that workspace.read and workspace.write
	// handle, in bytes. 0: 8 MiB.
	FileLimit int64
	// FetchLimit is the most http.get brings, in bytes. 0: 256 KiB.
	FetchLimit int64
	// Now is the clock of the tool time. Nil: time.Now.
	Now func() time.Time
	// Files are the attachments. Nil: there are no tools for them.
	Files Files
	// Messenger writes to others. Nil: there is no message.send.
	Messenger Messenger
	// Commander gives the admins' commands. Nil: there is no admin.*.
	Commander Commander
	// Known says that somebody is called so, for questions about them. Nil: they are asked whoever it is.
	Known func(ctx context.Context, name string) bool
	// Schedule keeps jobs. Nil: there is no schedule.*.
	Schedule Schedule
	// Memory keeps what is remembered. Nil: there is no memory.*.
	Memory Memory
	// Host says how the machine is. Nil: there is no host.info.
	Host func(ctx context.Context) (host.Reading, error)
	// Recipient says to whom a Messenger, or a job, would write now, as plain text, or why to nobody; nil: it does not say.
	Recipient func(ctx context.Context, call Call, to string) (means string, refusal *Result)
}

func (c BuiltinConfig) withDefaults() BuiltinConfig {
	c.FileLimit = cmp.Or(c.FileLimit, 8<<20)
	c.FetchLimit = cmp.Or(c.FetchLimit, 256<<10)
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Builtin returns the tools that are always there: time, workspace.list,
// workspace.read, workspace.write, workspace.remove, http.get and session.info; with Files also
// attachment.read, attachment.save and workspace.publish, with Messenger message.send, with
// Commander admin.people, admin.config, admin.channels, admin.deliveries and admin.audit, with Schedule
// schedule.add, schedule.list, schedule.change and schedule.send, with Memory memory.search, memory.remember
// and memory.forget, with Host host.info.
func Builtin(cfg BuiltinConfig) []Tool {
	cfg = cfg.withDefaults()
	files := files{space: cfg.Space, fileLimit: cfg.FileLimit}
	list := []Tool{
		declared("time", with(clock(cfg.Now).run)),
		declared("workspace.list", with(files.list)),
		declared("workspace.read", with(files.read)),
		declared("workspace.write", with(files.write)),
		declared("workspace.remove", with(files.remove)),
		declared("http.get", with(newFetcher(cfg.AllowPrivate, cfg.FetchLimit).run)),
		declared("session.info", sessionInfo),
	}
	if cfg.Files != nil {
		a := attachments{files, cfg.Files}
		list = append(list, declared("attachment.read", with(a.readAttachment)), declared("attachment.save", with(a.save)),
			declared("workspace.publish", with(a.publish)))
	}
	if cfg.Commander != nil {
		list = append(list, cfg.adminTools()...)
	}
	if cfg.Schedule != nil {
		list = append(list, scheduleTools(cfg.Schedule)...)
	}
	if cfg.Memory != nil {
		list = append(list, memoryTools(cfg.Memory)...)
	}
	if cfg.Host != nil {
		list = append(list, declared("host.info", hostInfo(cfg.Host).run))
	}
	if cfg.Messenger != nil {
		list = append(list, declared("message.send", with(cfg.Messenger.send)))
	}
	for i, tool := range list {
		if cfg.Recipient != nil && (tool.Name == "message.send" || tool.Name == "schedule.send") {
			list[i].Means = func(ctx context.Context, call Call) string {
				means, _ := cfg.recipient(ctx, call)
				return means
			}
			list[i].Describe = func(ctx context.Context, call Call) Deed {
				_, refusal := cfg.recipient(ctx, call)
				return Deed{Refused: refusal}
			}
		}
	}
	return list
}

// recipient is Recipient of the argument "to".
func (c *BuiltinConfig) recipient(ctx context.Context, call Call) (means string, refusal *Result) {
	var args messageArgs
	_ = json.Unmarshal(call.Args, &args) // checked against the schema
	return c.Recipient(ctx, call, strings.TrimSpace(args.To))
}

// declared is a tool as its page in the embedded folder declares it: in its first lines, each "name: value", what
// the tool is and takes; behind them how to use it.
func declared(name string, run func(context.Context, Call) Result) Tool {
	page, _ := pages.ReadFile("pages/" + name + ".md") // NewRegistry refuses a tool without a page
	t := Tool{Name: name, Page: string(page), Run: run}
	var arguments []string
	for {
		line, rest, _ := strings.Cut(t.Page, "\n")
		key, value, _ := strings.Cut(line, ": ")
		switch key {
		case "summary":
			t.Summary = value
		case "effect":
			t.Effect = Effect(value)
		case "taints":
			t.Taints = value == "true"
		case "sends":
			t.Sends = value
		case "timeout":
			t.Timeout, _ = time.ParseDuration(value) // checked by a test
		case "argument":
			arguments = append(arguments, value)
		case "words":
			t.Words = words.Beginnings(value)
		case "note":
			t.Note = value
		default:
			t.Schema = object(arguments...)
			return t
		}
		t.Page = rest
	}
}
