package store_test

import (
	"fmt"
	"os"
	"testing"

	"switchboard/store/storetest"
)

func TestOptimizeShrinksTheLogUnlessSomebodyReads(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		for i := range 20 {
			h.WholeTurn("c", fmt.Sprint(i))
		}
		if err := h.DB.Optimize(h.Ctx); err != nil {
			t.Fatal(err)
		}
		if h.DB.Kind() != "sqlite" {
			return
		}
		if f, err := os.Stat(h.DB.Path() + "-wal"); err != nil || f.Size() != 0 {
			t.Errorf("the log: %v, %v", f, err)
		}
		h.WholeTurn("c", "more")
		end, err := storetest.OpenTransaction(h.Ctx, h.DB, "UPDATE turns SET calls = calls")
		if err != nil {
			t.Fatal(err)
		}
		if err := h.DB.Optimize(h.Ctx); err != nil {
			t.Errorf("beside somebody who writes: %v", err)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}
