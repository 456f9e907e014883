package tools

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"time"

	"switchboard/agent/tools/host"
	"switchboard/agent/tools/workspace"
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
// schedule.add, schedule.list, schedule.change and schedule.send, with Host host.info.
func Builtin(cfg BuiltinConfig) []Tool {
	cfg = cfg.withDefaults()
	files := files{space: cfg.Space, fileLimit: cfg.FileLimit}
	list := []Tool{
		{
			Name: "time", Summary: "The date and time now, in any time zone.",
			Effect: EffectRead, Schema: timeSchema, Run: with(clock(cfg.Now).run),
		},
		{
			Name: "workspace.list", Summary: "The files in the session's workspace.",
			Effect: EffectRead, Schema: listSchema, Run: with(files.list),
		},
		{
			Name: "workspace.read", Summary: "Text of a file in the workspace, whole or some lines of it.",
			Effect: EffectRead, Schema: readSchema, Run: with(files.read),
		},
		{
			Name: "workspace.write", Summary: "Create, replace or append to a text file in the workspace.",
			Effect: EffectWrite, Schema: writeSchema, Run: with(files.write),
		},
		{
			Name: "workspace.remove", Summary: "Remove a file or a folder from the workspace.",
			Effect: EffectWrite, Schema: removeSchema, Run: with(files.remove),
		},
		{
			Name: "http.get", Summary: "The text at a public web address.",
			Effect: EffectRead, Taints: true, Sends: "url", Schema: fetchSchema,
			Run: with(newFetcher(cfg.AllowPrivate, cfg.FetchLimit).run),
		},
		{
			Name: "session.info", Summary: "Who and where this session is: person, role, channel, mode, time zone, model.",
			Effect: EffectRead, Schema: infoSchema, Run: sessionInfo,
		},
	}
	if cfg.Files != nil {
		list = append(list, attachments{files, cfg.Files}.tools()...)
	}
	if cfg.Commander != nil {
		list = append(list, cfg.adminTools()...)
	}
	if cfg.Schedule != nil {
		list = append(list, scheduleTools(cfg.Schedule)...)
	}
	if cfg.Host != nil {
		list = append(list, Tool{
			Name: "host.info", Summary: "How the machine is that the bot runs on: processors, memory, disk.",
			Effect: EffectRead, Schema: infoSchema, Run: hostInfo(cfg.Host).run,
		})
	}
	if cfg.Messenger != nil {
		list = append(list, Tool{
			Name: "message.send", Summary: "Write to a known person, or to another conversation.",
			Effect: EffectOutside, Schema: messageSchema, Run: with(cfg.Messenger.send),
		})
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
	return withPages(list)
}

// recipient is Recipient of the argument "to".
func (c *BuiltinConfig) recipient(ctx context.Context, call Call) (means string, refusal *Result) {
	var args messageArgs
	_ = json.Unmarshal(call.Args, &args) // checked against the schema
	return c.Recipient(ctx, call, strings.TrimSpace(args.To))
}

// withPages gives each tool its page from the embedded folder, and what the page's first lines say of Words and Note.
func withPages(tools []Tool) []Tool {
	for i := range tools {
		page, err := pages.ReadFile("pages/" + tools[i].Name + ".md")
		if err != nil {
			continue // NewRegistry refuses a tool without a page
		}
		head, text := headOf(string(page))
		tools[i].Page, tools[i].Note = text, head["note"]
		if words := head["words"]; words != "" {
			tools[i].Words = wordsOf(words)
		}
	}
	return tools
}

// headOf cuts the lines "words: …" and "note: …" off the beginning of a page.
func headOf(page string) (head map[string]string, text string) {
	head = map[string]string{}
	for {
		line, rest, _ := strings.Cut(page, "\n")
		name, value, is := strings.Cut(line, ": ")
		if !is || name != "words" && name != "note" {
			return head, page
		}
		head[name], page = value, rest
	}
}

// wordsOf finds words that begin like one of the list, in small or large letters. It is compiled at first use.
func wordsOf(list string) func(string) bool {
	pattern := sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:^|\PL)(?i:` + strings.Join(strings.Fields(list), "|") + `)`)
	})
	return func(text string) bool { return pattern().MatchString(text) }
}
