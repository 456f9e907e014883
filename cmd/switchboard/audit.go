package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"switchboard/cmd/switchboard/live"
	"switchboard/configs"
	routeraudit "switchboard/router/audit"
	"switchboard/store"
	"switchboard/store/audit"
)

// auditCmd reads the audit log.
type auditCmd struct {
	Verify auditVerifyCmd `cmd:"" help:"Check the audit log against the hashes that seal each hour."`
	Export auditExportCmd `cmd:"" help:"The audit log, one JSON object a line, the oldest first."`
}

type auditVerifyCmd struct {
	Since string `help:"A hash that was kept elsewhere: the log must hold the segment that has it." placeholder:"HASH"`
	jsonFlag
}

// Run implements the command.
func (c *auditVerifyCmd) Run(a *app) error {
	var since []byte
	if c.Since != "" {
		var err error
		if since, err = hex.DecodeString(c.Since); err != nil || len(since) != sha256.Size {
			return configs.Usage(fmt.Errorf("--since: %q is no hash; it has 64 digits, as \"audit verify\", each backup and the log's lines of seals say it", c.Since))
		}
	}
	return a.readDatabase(func(ctx context.Context, db *store.DB) error {
		v, err := db.VerifyAudit(ctx, since)
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(a.out, struct {
				audit.Verified
				Hash string `json:"hash"`
			}{v, hex.EncodeToString(v.Hash)})
		}
		_, err = fmt.Fprint(a.out, v.Words())
		return err
	})
}

type auditExportCmd struct {
	Person string        `help:"Only what this person did."`
	Kind   string        `help:"Only this action, or all of a kind: turn, person, approval, tool, delivery …"`
	Turn   int64         `help:"Only what belongs to this turn."`
	Since  time.Duration `help:"Only what is younger than that, e.g. 24h."`
}

// Run implements the command.
func (c *auditExportCmd) Run(a *app) error {
	return a.readDatabase(func(ctx context.Context, db *store.DB) error {
		f := routeraudit.Filter{Person: c.Person, Kind: c.Kind, Turn: c.Turn}
		if c.Since > 0 {
			f.Since = time.Now().Add(-c.Since)
		}
		out := bufio.NewWriter(a.out)
		enc := json.NewEncoder(out)
		if err := db.ExportAudit(ctx, f, func(r *routeraudit.Record) error { return enc.Encode(r) }); err != nil {
			return err
		}
		return out.Flush()
	})
}

// readDatabase opens the database to read, beside an engine or without one.
func (a *app) readDatabase(use func(ctx context.Context, db *store.DB) error) (err error) {
	settings, err := stored(a.settings())
	if err != nil {
		return err
	}
	db, err := live.Open(a.ctx, settings)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return use(a.ctx, db)
}
