package store_test

import (
	"errors"
	"testing"

	"switchboard/router/core"
	"switchboard/router/intake"
)

// Whose fault an error is decides whether an event is held back, rejected, or tried
// alone. The errors are made where an event is written.
func TestWhoseFaultAnErrorIs(t *testing.T) {
	type kind string
	const (
		nobodys kind = "nobody's"
		its     kind = "the event's"
		unclear kind = "not known"
	)
	whose := func(err error) kind {
		switch {
		case errors.Is(err, core.ErrNotNow):
			return nobodys
		case errors.Is(err, core.ErrRefused):
			return its
		}
		return unclear
	}
	each(t, func(t *testing.T, h *house) {
		accept := func(text string) error {
			e := entry("c", "k-"+text, text)
			_, err := h.Router.Accept(h.Ctx, h.owner(), []intake.Entry{e})
			return err
		}
		want := map[string]kind{}
		if h.DB.Kind() == "sqlite" {
			want = map[string]kind{"constraint": unclear, "overflow": unclear, "too big": its, "mismatch": its}
			h.write(`CREATE TABLE odd (n INTEGER PRIMARY KEY)`,
				`CREATE TRIGGER boom BEFORE INSERT ON messages BEGIN
					SELECT RAISE(ABORT, 'boom') WHERE NEW.text = 'constraint';
					SELECT abs(-9223372036854775807 - 1) WHERE NEW.text = 'overflow';
					SELECT zeroblob(2000000000) WHERE NEW.text = 'too big';
					INSERT INTO odd SELECT 'a' WHERE NEW.text = 'mismatch';
				END`)
		} else {
			for code, kind := range map[string]kind{
				"08006": nobodys, "25006": nobodys, "40001": nobodys, "42501": nobodys, "42P01": nobodys, "53100": nobodys,
				"53200": nobodys, "55P03": nobodys, "57P03": nobodys, "58030": nobodys,
				"22003": its, "22P05": its, "54000": its,
				"23505": unclear, "23514": unclear, "57014": unclear, "XX000": unclear, "P0001": unclear,
			} {
				want["raise "+code] = kind
			}
			h.write(`CREATE FUNCTION boom() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
					IF NEW.text LIKE 'raise %' THEN RAISE EXCEPTION 'boom' USING ERRCODE = substr(NEW.text, 7); END IF;
					RETURN NEW;
				END $$`, `CREATE TRIGGER boom BEFORE INSERT ON messages FOR EACH ROW EXECUTE FUNCTION boom()`)
		}
		for text, kind := range want {
			if err := accept(text); err == nil || whose(err) != kind {
				t.Errorf("%s: %v is %s fault, want %s", text, err, whose(err), kind)
			}
		}
		if err := accept("fine"); err != nil {
			t.Error(err)
		}
		if h.DB.Kind() == "sqlite" {
			h.write(`PRAGMA query_only = 1`)
			if err := accept("read-only"); whose(err) != nobodys {
				t.Errorf("a read-only database: %v", err)
			}
			h.write(`PRAGMA query_only = 0`)
		}
	})
}

func TestKnownNamesTheKeysThatWereTaken(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		one, other := entry("c", "1", "a"), entry("c", "2", "b")
		h.Accept(one)
		known, err := h.Router.Known(h.Ctx, [][]byte{one.Key, other.Key})
		if err != nil || len(known) != 1 || !known[string(one.Key)] {
			t.Errorf("%v, %v", known, err)
		}
	})
}

func (h *house) write(statements ...string) {
	h.Helper()
	if err := h.DB.WriteText(h.Ctx, true, statements...); err != nil {
		h.Fatal(err)
	}
}
