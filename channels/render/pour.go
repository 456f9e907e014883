package render

import "iter"

// A Gauge is an Emitter that knows how much it holds, so that a text is measured
// while it is written.
type Gauge interface {
	Emitter
	// Reset empties it.
	Reset()
	// Size is what a piece of what it was told since Reset measures, in the platform's
	// unit, if it ended here: with every span that is open closed. It is cheap.
	Size() int
}

// Pieces is Split by what g holds. Each time a piece is yielded g holds just that
// piece, so that there is no need to emit it again.
//
// A piece takes two tellings: one until g is full, which shows how far the piece may
// reach, and one up to where it is cut. Only where a piece cut there is larger than
// expected, the cut is searched for as Split does.
func (t Text) Pieces(limit int, g Gauge) iter.Seq[Text] {
	return func(yield func(Text) bool) {
		size := func(t Text) int {
			g.Reset()
			t.Emit(g)
			return g.Size()
		}
		if limit <= 0 {
			size(t)
			yield(t)
			return
		}
		s := splitter{limit: limit, size: size, gauge: g, text: t.Text, spans: t.Spans, guess: min(limit, len(t.Text))}
		if s.ahead = s.reach(); s.told == (measured{end: len(t.Text)}) {
			yield(t)
			return
		}
		s.pieces(yield)
	}
}

// poured finds a cut by means of the gauge, which then holds the piece.
func (s *splitter) poured() (cut, resume int, ok bool) {
	if s.gauge == nil {
		return 0, 0, false
	}
	last := s.ahead
	if s.ahead = 0; last == 0 || s.bare {
		last = s.reach()
	}
	if last = boundary(s.text[s.start:], last); last == 0 {
		return 0, 0, false
	}
	cut, resume = s.place(last)
	if s.told == (measured{s.start, s.start + cut, s.bare}) {
		return cut, resume, true
	}
	return cut, resume, s.fits(s.start, cut)
}

// reach tells the gauge the text from start on until it is full, and returns how many
// bytes it took without being so. It takes no more of the text at first than most
// likely fills it: the work for a piece must not grow with the text behind.
func (s *splitter) reach() int {
	text := s.text[s.start:]
	for bound := 4*min(s.limit, len(text)) + 64; ; bound *= 2 {
		bound = runeEnd(text, bound)
		s.gauge.Reset()
		p := pourer{gauge: s.gauge, limit: s.limit}
		s.piece(s.start, bound).emit(&p, &p.full)
		if p.full {
			s.told = unmeasured
			return p.held
		}
		if bound == len(text) {
			s.told = measured{s.start, len(s.text), s.bare}
			return bound
		}
	}
}

// A pourer tells a gauge a text until it is full.
type pourer struct {
	gauge Gauge
	limit int
	told  int // bytes
	held  int // of them, before it was full
	full  bool
}

func (p *pourer) check() {
	if p.full = p.full || p.gauge.Size() > p.limit; !p.full {
		p.held = p.told
	}
}

func (p *pourer) Open(s Span, in []Span) {
	p.gauge.Open(s, in)
	p.check()
}

func (p *pourer) Close(s Span, in []Span) {
	p.gauge.Close(s, in)
	p.check()
}

func (p *pourer) Line(in []Span) {
	p.gauge.Line(in)
	p.told++
	p.check()
}

// Write pours in sips, each as many bytes as there is room for: a line may be as long
// as the text.
func (p *pourer) Write(s string) {
	for s != "" && !p.full {
		n := runeEnd(s, max(p.limit-p.gauge.Size(), 1))
		p.gauge.Write(s[:n])
		p.told += n
		s = s[n:]
		p.check()
	}
}
