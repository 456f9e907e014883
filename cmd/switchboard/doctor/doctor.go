// Package doctor checks what the program needs, and says how to fix what is not well. It changes nothing.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"switchboard/agent/tools/sandbox"
	"switchboard/agent/tools/workspace"
	"switchboard/cmd/switchboard/access"
	"switchboard/cmd/switchboard/live"
	"switchboard/configs"
	"switchboard/internal/api"
	"switchboard/store"
	"switchboard/store/database"
)

// A Finding is one line of the doctor's report.
type Finding struct {
	Check string `json:"check"`
	OK    bool   `json:"ok"`
	Warn  bool   `json:"warn,omitempty"` // fine, but worth a second look
	Text  string `json:"text"`
	Fix   string `json:"mend,omitempty"` // what to do when it is not OK, or worth a second look
}

// Title is the check as people read it.
func (f Finding) Title() string {
	if f.Check == "ledger" {
		return "queue"
	}
	return f.Check
}

// Mark is how the finding's line begins.
func (f Finding) Mark() string {
	switch {
	case !f.OK:
		return "FAIL"
	case f.Warn:
		return "WARN"
	}
	return "ok  "
}

// ToDo is Fix where there is something to do; empty: nothing.
func (f Finding) ToDo() string {
	if f.OK && !f.Warn {
		return ""
	}
	return f.Fix
}

// A report gathers findings.
type report struct {
	ctx      context.Context
	settings *configs.Settings
	findings []Finding
}

func (r *report) add(f Finding) { r.findings = append(r.findings, f) }

func (r *report) ok(check, format string, args ...any) {
	r.add(Finding{Check: check, OK: true, Text: fmt.Sprintf(format, args...)})
}

func (r *report) warn(check, fix, text string) {
	r.add(Finding{Check: check, OK: true, Warn: true, Text: text, Fix: fix})
}

func (r *report) fail(check, fix, text string) { r.add(Finding{Check: check, Text: text, Fix: fix}) }

// noAnswer says that the database did not answer a question.
func (r *report) noAnswer(check string, err error) {
	r.fail(check, "see what the database's log says", err.Error())
}

// Settings says whether the settings could be read, and what they warn of.
func Settings(settings *configs.Settings, warnings []configs.Warning, err error) []Finding {
	var r report
	if err != nil {
		r.fail("settings", "correct what is named; \"switchboard config check\" says it again", err.Error())
		return r.findings
	}
	r.ok("settings", "%s", cmp.Or(settings.File, "defaults, no file"))
	for _, w := range warnings {
		r.warn("settings", "", w.String())
	}
	return r.findings
}

// Examine checks everything that valid settings let it check.
func Examine(ctx context.Context, settings *configs.Settings) []Finding {
	r := &report{ctx: ctx, settings: settings}
	engine := r.engine()
	r.disk()
	db := r.database()
	r.add(engine)
	if db != nil {
		defer db.Close()
		r.ledger(db, engine.Text == engineRuns)
	}
	r.running()
	r.port(engine.Text == engineRuns)
	r.models()
	r.budget()
	r.prompts()
	r.sandbox()
	r.scanner()
	r.policy()
	people := r.people()
	r.ok("people", "%s", joined(access.Names(people)))
	r.channels()
	r.statuses(r.platforms(people))
	return r.findings
}

func (r *report) disk() {
	f := Finding{Check: "data", Fix: "make room, or choose another folder with --data or data_dir"}
	defer func() { r.add(f) }()
	dir, there := Nearest(r.settings.DataDir)
	probe, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		f.Text = err.Error()
		return
	}
	probe.Close()
	os.Remove(probe.Name())
	free, _ := workspace.DiskSpace(dir)
	f.Text = fmt.Sprintf("%s, %d MB free", r.settings.DataDir, free>>20)
	low := (*workspace.Space)(nil).CheckDisk(r.ctx, dir)
	if f.OK = low == nil; !f.OK {
		f.Text += ": " + low.Error()
	} else if !there {
		f.Text += "; the first start makes it"
	}
}

// Nearest is the folder, or where it is not there the one that it would be made in:
// the doctor makes nothing that it is asked to look at.
func Nearest(dir string) (existing string, there bool) {
	existing, err := filepath.Abs(dir)
	if err != nil {
		return dir, false
	}
	there = true
	for {
		if _, err := os.Stat(existing); !errors.Is(err, fs.ErrNotExist) || existing == filepath.Dir(existing) {
			return existing, there
		}
		existing, there = filepath.Dir(existing), false
	}
}

// database says whether the database can be opened, and returns one in which there is something to read.
func (r *report) database() *store.DB {
	if err := r.settings.Stored(); err != nil {
		r.ok("database", "none yet; the first start makes it")
		return nil
	}
	ctx, cancel := context.WithTimeout(r.ctx, 10*time.Second)
	defer cancel()
	db, err := store.Open(ctx, r.settings.Store, r.settings.DataDir, slog.New(slog.DiscardHandler))
	waiting := 0
	if err == nil {
		var list []database.MigrationStatus
		list, err = db.MigrationStatus(ctx)
		for _, m := range list {
			if !m.Applied {
				waiting++
			}
		}
	}
	switch {
	case err != nil:
		text := err.Error()
		if database.Unwritable(err) && r.canRead(ctx) {
			text += "; stored messages can be read"
		}
		r.fail("database", cmp.Or(database.Fix(err), "see [store] url, and what the database's log says"), text)
	case waiting > 0:
		r.ok("database", "%s, %d migrations to come at the next start", db.Kind(), waiting)
	default:
		r.ok("database", "%s", db.Kind())
		return db
	}
	if db != nil {
		db.Close()
	}
	return nil
}

// canRead says whether a database that cannot be written can be read.
func (r *report) canRead(ctx context.Context) bool {
	db, err := live.Open(ctx, r.settings)
	if err != nil {
		return false
	}
	defer db.Close()
	_, err = db.Facts(ctx)
	return err == nil
}

// engineRuns is what is said of an engine that answers.
const engineRuns = "running"

func (r *report) engine() Finding {
	err := api.Alive(r.ctx, r.settings.DataDir)
	switch {
	case err == nil:
		return Finding{Check: "engine", OK: true, Text: engineRuns}
	case errors.Is(err, api.ErrNoEngine):
		return Finding{Check: "engine", OK: true, Text: "not running"}
	}
	return Finding{Check: "engine", Text: err.Error(), Fix: "see whether its process still lives"}
}

// port says that the HTTP API cannot have its port. Nothing where it can, or has it.
func (r *report) port(runs bool) {
	address := r.settings.Server.Listen
	if address == "" {
		return
	}
	listener, err := net.Listen("tcp", address)
	if err == nil {
		listener.Close()
		return
	}
	if runs && answers(r.ctx, address) {
		return
	}
	r.warn("http", "end the program that has the port, or set server.listen to another one, such as \"127.0.0.1:8485\"; then start the bot again",
		fmt.Sprintf("the HTTP API cannot have %s: %v", address, err))
}

// answers says whether what listens at an address refuses who has no token as a Switchboard does.
func answers(ctx context.Context, address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/v1/openapi.json", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusUnauthorized && resp.Header.Get("X-Request-Id") != ""
}

// sandbox says which layers work, and where the settings lift them.
func (r *report) sandbox() {
	for _, layer := range sandbox.New(sandbox.Config{}).Layers(r.ctx) {
		r.add(Finding{Check: "sandbox", OK: layer.Works, Text: layer.Name + ": " + layer.Detail, Fix: layer.Fix})
	}
	if why := r.settings.Unconfined(); why != "" {
		r.warn("sandbox", "", "commands of admins are NOT confined: "+why)
	}
}
