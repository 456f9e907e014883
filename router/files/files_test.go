package files_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"switchboard/agent"
	"switchboard/agent/tools"
	"switchboard/channels"
	"switchboard/channels/channelstest/scripted"
)

// A file goes in with a message, is read by its session alone, and a file goes out.
func TestFilesAreReadByTheirSessionAloneAndSent(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Script.Files = 2
		files := r.Filed()
		r.Files = files
		var mu sync.Mutex
		var came []agent.Attachment
		read := func(turn agent.Turn, id string) (tools.File, string, error) {
			file, bytes, err := files.Open(t.Context(), tools.Session{ID: turn.Session.Key}, id)
			if err != nil {
				return file, "", err
			}
			defer bytes.Close()
			text, err := io.ReadAll(bytes)
			return file, string(text), err
		}
		r.Brain.Think = func(ctx context.Context, turn agent.Turn) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			switch turn.Message.Text {
			case "here":
				came = turn.Message.Attachments
				file, text, err := read(turn, came[0].ID)
				if err != nil || text != "a,b\n" || file.Type != "text/csv" || file.Taint != "file" {
					return "", fmt.Errorf("read %+v, %q, %w", file, text, err)
				}
				out, err := files.Publish(ctx, tools.Session{ID: turn.Session.Key}, "out.txt", tools.Clean, strings.NewReader("made here"))
				if err != nil {
					return "", err
				}
				return fmt.Sprintf("Take [it](attachment:%s), and [yours](attachment:%s) back.", out.ID, came[0].ID), nil
			case "give me theirs":
				_, _, err := read(turn, came[0].ID)
				if !errors.Is(err, tools.ErrNoFile) {
					return "", fmt.Errorf("read another session's file: %w", err)
				}
				return fmt.Sprintf("Not [this](attachment:%s).", came[0].ID), nil
			}
			return "", errors.New("what?")
		}
		r.Start()
		table := r.Platform.Upload(channels.Attachment{Kind: channels.Document, Name: "table.csv", Type: "application/x-lie"}, []byte("a,b\n"))
		r.Platform.Write(scripted.Message{Conversation: "c1", User: "ada", Text: "here", Attachments: []channels.Attachment{table}})
		sent := r.Await(2)
		var names []string
		for _, s := range sent {
			for _, f := range s.Files {
				names = append(names, f.Name+": "+string(f.Data))
			}
		}
		if want := []string{"out.txt: made here", "table.csv: a,b\n"}; !slices.Equal(names, want) {
			t.Errorf("sent the files %q, want %q; all: %+v", names, want, sent)
		}
		r.Platform.Say("c2", "bob", "give me theirs")
		sent = r.Await(len(sent) + 1)
		if last := sent[len(sent)-1]; len(last.Files) > 0 || !strings.Contains(last.Text, "(file not available)") {
			t.Errorf("another session's file: sent %+v", last)
		}
	})
}
