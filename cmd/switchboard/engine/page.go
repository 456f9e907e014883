package engine

import (
	"context"
	"errors"
	"maps"
	"slices"

	web "switchboard/channels/api"
	page "switchboard/channels/web"
	"switchboard/configs"
	"switchboard/router/core"
	"switchboard/router/jobs"
	"switchboard/router/money"
	"switchboard/router/settings"
	"switchboard/store"
	"switchboard/store/audit"
)

// site is the page.
func (e *Engine) site(publicURL string, visits web.Visits) *page.Site {
	of := e.db.Router()
	return page.New(page.Deps{
		Log: e.log, Channel: e.page, People: e.router.Roster, PublicURL: publicURL, Visits: visits,
		Browsers: e.browsers, Tokens: e.tokens, Chats: of, Turns: of, Approvals: of, Changer: e.router, Writer: e.router, Files: e.files,
		Models:   func() []string { return slices.Sorted(maps.Keys(e.settings.Now().LLM.Models)) },
		Commands: e.router.Offered,
		Program:  e.program(of),
		Currency: func() string { return e.settings.Now().Budget.Currency },
		Mode:     func() string { return e.settings.Now().Router.DefaultMode },
		Model:    func() string { return e.settings.Now().Agent.Planner },
		Jobs:     e.jobs, JobReader: of, Memory: e.memory, Money: e.db, Budget: func() money.Budget { return e.settings.Now().Limits() },
		Register: of, Asking: e.router.Asking, Judge: e.settings.JudgePerson, Named: e.named, Usable: usedTools{e}.Usable, BrowserList: of, SignInLink: e.SignInLink,
		SecretList: of, Secrets: e.settings, TokenKeeper: e.tokens, AuditLog: of, Verify: e.verify,
		Settings: e.settings.Changes(), Setup: setup{e}, OpenClaim: of.OpenClaim,
		About: func(key string) (means, fixed string) { return e.settings.Now().Meaning(key), configs.Changeable(key) },
		Filed: func() bool { return e.settings.Now().File != "" },
		SaveSettings: func(ctx context.Context) (page.SavedSettings, *settings.Change, error) {
			saved, change, err := e.settings.Changes().Save(ctx)
			return page.SavedSettings(saved), change, err
		},
	})
}

// program says how this engine is, for admins.
func (e *Engine) program(of *store.Router) page.Program {
	return page.Program{
		Activity: &e.router.Connections.Activity, Statuses: e.statuses, Deliveries: of, Queue: of.Queue,
		Trouble: func(ctx context.Context) ([]string, error) {
			seen, err := of.News(ctx, 0, "", nil)
			return append(e.missing(), jobs.NotWell(seen.Health)...), err
		},
		Examine: e.examine,
	}
}

// named is the settings file, and whom it names so.
func (e *Engine) named(name string) (file string, as *core.Person) {
	s := e.settings.Now()
	list := s.Directory()
	if i := slices.IndexFunc(list, func(p core.Person) bool { return p.Name == name }); i >= 0 {
		as = &list[i]
	}
	return s.FileName(), as
}

// verify holds the audit log to its seals.
func (e *Engine) verify(ctx context.Context) (says string, good bool, err error) {
	v, err := e.db.VerifyAudit(ctx, nil)
	if tampered, is := errors.AsType[*audit.TamperedError](err); is {
		return tampered.Error(), false, nil
	}
	return v.Words(), true, err
}

// changer is the router, which is made after what makes changes by it.
type changer struct{ *Engine }

// Change implements browsers.Changer.
func (c changer) Change(ctx context.Context, change core.Change, by core.Actor) error {
	return c.router.Change(ctx, change, by)
}
