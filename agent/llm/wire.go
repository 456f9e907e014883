package llm

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"
)

// maxBody is the longest answer that is read, in bytes.
const maxBody = 8 << 20

// A wire keeps what one call received.
type wire struct {
	status int // of the answer; 0: there was none
	header http.Header
	body   []byte
	whole  bool  // the body was read to its end
	err    error // why there is no answer or not all of it; nil when the time was over

	follower *follower // of an answer that is wanted as a stream; nil: as one
	events   *events   // the answer, where it is a stream; nil: body holds it
}

// ask sends a question, reads its answer, and keeps why there is none, unless its time was over.
func (w *wire) ask(client *http.Client, req *http.Request) {
	res, err := client.Do(req)
	if err == nil {
		defer res.Body.Close()
		w.status, w.header = res.StatusCode, res.Header
		if w.follower != nil && res.StatusCode/100 == 2 {
			err = w.follow(res.Body)
		} else {
			w.body, err = readBody(res.Body, res.ContentLength)
		}
		w.whole = err == nil
	}
	if req.Context().Err() == nil {
		w.err = err
	}
}

func readBody(from io.Reader, size int64) ([]byte, error) {
	if size > 0 && size <= maxBody {
		body := make([]byte, size)
		n, err := io.ReadFull(from, body)
		return body[:n], err
	}
	body, err := io.ReadAll(io.LimitReader(from, maxBody+1))
	if len(body) > maxBody {
		return body[:maxBody], errTooLong(maxBody)
	}
	return body, err
}

func errTooLong(limit int) error { return fmt.Errorf("longer than %d MB", limit>>20) }

// complaint is the body of an error answer: all of the answer, or, in a stream, the
// event that broke it off.
func (w *wire) complaint(fault []byte) []byte {
	if w.events == nil {
		return w.body
	}
	return slices.Concat([]byte(`{"error":`), fault, []byte("}"))
}

// duration is n units, at most a day: nobody waits longer, and it cannot overflow.
func duration(n float64, unit time.Duration) time.Duration {
	const day = 24 * time.Hour
	if n > float64(day/unit) {
		return day
	}
	return time.Duration(n * float64(unit))
}
