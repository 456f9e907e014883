package tools

import (
	"context"
	"errors"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestLedgerKeepsAnyName(t *testing.T) {
	t.Parallel()
	workspace := newWorkspace(t)
	want := ledger{"a/b": "web", "\xff\xfe": "web", "\"\n\u2028": "quote", "ü": "file"}
	if err := changeLedger(t.Context(), workspace, func(l ledger) { maps.Copy(l, want) }); err != nil {
		t.Fatal(err)
	}
	if got := readLedger(workspace); !maps.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	info, err := os.Stat(workspace + ledgerSuffix)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the ledger: %v, %v", info, err)
	}
}

func TestLedgerIsBounded(t *testing.T) {
	t.Parallel()
	workspace := newWorkspace(t)
	err := changeLedger(t.Context(), workspace, func(l ledger) {
		for i := range 10_000 {
			l[strings.Repeat("x", 1000)+strconv.Itoa(i)] = "web"
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := readLedger(workspace); !maps.Equal(got, ledger{everything: "web"}) {
		t.Errorf("%d entries", len(got))
	}
	if err := os.Truncate(workspace+ledgerSuffix, 3<<30); err != nil {
		t.Fatal(err)
	}
	if got := readLedger(workspace); !maps.Equal(got, ledger{everything: taintLost}) {
		t.Errorf("%d entries of a file that is too long", len(got))
	}
}

func TestLedgerWaitsUnderItsContext(t *testing.T) {
	t.Parallel()
	mine, other := newWorkspace(t), newWorkspace(t)
	release, err := ledgerLocks.Take(t.Context(), ledgerFile(mine))
	if err != nil {
		t.Fatal(err)
	}
	mark := func(l ledger) { l["f"] = "web" }
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	if err := changeLedger(ctx, mine, mark); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while another holds it: %v", err)
	}
	if err := changeLedger(t.Context(), other, mark); err != nil {
		t.Errorf("another workspace: %v", err)
	}
	release()
	if err := changeLedger(t.Context(), mine, mark); err != nil {
		t.Errorf("after it was released: %v", err)
	}
	ledgerLocks.mu.Lock()
	defer ledgerLocks.mu.Unlock()
	if ledgerLocks.held[ledgerFile(mine)] != nil {
		t.Error("a lock that nobody holds is kept")
	}
}
