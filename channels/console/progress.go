package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"switchboard/channels"
	"switchboard/internal/words"
)

// detailWidth is how much of a task's detail is shown, in runes.
const detailWidth = 100

// planTask is one task of an event of kind plan.
type planTask struct {
	Type   string `json:"type"`
	Tool   string `json:"tool"`
	Detail string `json:"detail"`

	state, code string
	last        bool // of its plan
}

// eventData is what the events of the kinds plan, task, review and turn hold;
// whatever is missing stays empty.
type eventData struct {
	Goal     string     `json:"goal"`
	Count    int        `json:"count"`
	Tasks    []planTask `json:"tasks"`
	Position int        `json:"position"`
	State    string     `json:"state"`
	Outcome  string     `json:"outcome"`
	Code     string     `json:"code"`
	Status   string     `json:"status"`
}

func readData(e channels.SessionEvent) eventData {
	var d eventData
	_ = json.Unmarshal(e.Data, &d) // progress is for people: what cannot be read is not shown
	return d
}

// over says whether a turn in this state has ended.
func over(state string) bool {
	return slices.Contains([]string{"done", "failed", "cancelled", "merged"}, state)
}

// course is what is known of a turn that is open.
type course struct {
	goal  string
	tasks []planTask // of its newest plan
	told  bool       // nothing more is to be told of that plan, or ever was
	spoke bool       // the newest thing the turn did was to say something
	asks  bool       // it asks a person for something, and goes on when that is decided
}

// progress words the course of turns: what each is after, every step with what became of
// it, and the end of one that ends without a word. What a turn says itself is not said
// again.
type progress struct {
	said  int64 // the number of the newest message that belongs to no turn
	turns map[int64]*course
	marks map[string]string // how a task's line begins, by its state
}

var (
	signs = map[string]string{"done": "✓", "failed": "✗", "running": "▸", "pending": "·", "cancelled": "–"}
	plain = map[string]string{"done": "ok", "failed": "failed", "running": "now", "pending": "then", "cancelled": "not done"}
)

// newProgress words with signs, or with words alone.
func newProgress(marks map[string]string) *progress {
	return &progress{turns: map[int64]*course{}, marks: marks}
}

// turn is the course of a turn.
func (p *progress) turn(id int64) *course {
	c := p.turns[id]
	if c == nil {
		c = &course{told: true}
		p.turns[id] = c
	}
	return c
}

// outside follows an event of no turn, and says whether it is one. The answer to a command
// that ended a turn stands directly before that end.
func (p *progress) outside(e channels.SessionEvent) bool {
	if e.TurnID == 0 && e.Says() {
		p.said = e.N
	}
	return e.TurnID == 0
}

// note follows an event of a turn.
func (p *progress) note(e channels.SessionEvent, d eventData) {
	c := p.turn(e.TurnID)
	switch e.Kind {
	case "approval":
		c.asks = d.State == "proposed"
	case "turn":
		c.spoke = c.spoke || p.said != 0 && p.said == e.N-1
	case "message":
		c.spoke = c.spoke || e.Says()
	case "plan":
		*c = course{goal: d.Goal, tasks: d.Tasks}
		for len(c.tasks) < min(d.Count, tasksMost) { // an event has no room for a long plan
			c.tasks = append(c.tasks, planTask{})
		}
		if n := len(c.tasks); n > 0 {
			c.tasks[n-1].last = true
		}
		c.told = !slices.ContainsFunc(c.tasks, func(t planTask) bool { return t.Type != "msg" })
	case "task":
		c.spoke = false
		if d.Position >= 0 && d.Position < len(c.tasks) {
			task := &c.tasks[d.Position]
			if task.code = cmp.Or(d.Code, d.Outcome); d.State == "cancelled" && task.state == "running" {
				task.state = "interrupted"
			} else {
				task.state = d.State
			}
		}
	}
}

// tasksMost bounds what an event can make of a plan.
const tasksMost = 100

// lines words an event as it comes, for a reader who sees one line after the other; none
// for what need not be told.
func (p *progress) lines(e channels.SessionEvent) []string {
	if p.outside(e) {
		return nil
	}
	d := readData(e)
	p.note(e, d)
	c := p.turn(e.TurnID)
	switch {
	case e.Kind == "plan" && !c.told:
		return []string{c.title()}
	case e.Kind == "task" && !c.told && d.Position >= 0 && d.Position < len(c.tasks):
		if task := c.tasks[d.Position]; !task.open() && d.State != "cancelled" {
			return []string{p.line(d.Position, task)}
		}
	case e.Ends():
		delete(p.turns, e.TurnID)
		return c.last(d)
	}
	return nil
}

// settled words what an event makes final, to stand above what it says: the list of a plan
// that is over, which until then is seen in ahead, and the end of a turn.
func (p *progress) settled(e channels.SessionEvent) (list, end []string) {
	if p.outside(e) {
		return nil, nil
	}
	d := readData(e)
	c := p.turn(e.TurnID)
	// What a turn says behind its last step ends its plan; so does a notice, by which it
	// ends early or begins again.
	if e.Kind == "plan" || e.Kind == "review" && d.Status == "replan" || e.Ends() ||
		e.Says() && (e.Message.Notice && !c.asks || !slices.ContainsFunc(c.tasks, planTask.open)) {
		list = p.list(c)
		c.told = true
	}
	p.note(e, d)
	if e.Ends() {
		delete(p.turns, e.TurnID)
		end = c.last(d)
	}
	return list, end
}

// list is a plan that is over, whole; none if there is nothing to tell of it.
func (p *progress) list(c *course) []string {
	if c.told {
		return nil
	}
	lines := []string{c.title()}
	for i, task := range c.tasks {
		switch task.state {
		case "running":
			task.state = "interrupted"
		case "", "pending":
			task.state = "cancelled"
		}
		lines = append(lines, p.line(i, task))
	}
	return lines
}

// stepsMost is how many steps are told of a plan that is not over.
const stepsMost = 8

// ahead words the plans that are not over: what was done, is done now, and will be.
func (p *progress) ahead() (lines []string) {
	for _, turn := range slices.Sorted(maps.Keys(p.turns)) {
		c := p.turns[turn]
		if c.told || c.asks {
			continue
		}
		lines = append(lines, c.title())
		at := max(0, slices.IndexFunc(c.tasks, planTask.open))
		from := max(0, min(at-stepsMost/2, len(c.tasks)-stepsMost))
		to := min(from+stepsMost, len(c.tasks))
		if from > 0 {
			lines = append(lines, fmt.Sprintf("(%d before)", from))
		}
		for i := from; i < to; i++ {
			lines = append(lines, p.line(i, c.tasks[i]))
		}
		if more := len(c.tasks) - to; more > 0 {
			lines = append(lines, fmt.Sprintf("(%d more)", more))
		}
	}
	return lines
}

// line is a step with its number and its state.
func (p *progress) line(i int, task planTask) string {
	line := fmt.Sprintf(" %d. %s", i+1, task.words())
	mark, failed := p.marks[cmp.Or(task.state, "pending")], p.marks["failed"]
	switch {
	case mark != "" && mark != failed:
		return mark + line
	case task.state == "interrupted":
		return failed + line + ": stopped midway"
	}
	return failed + line + ": " + inWords(cmp.Or(task.code, "error"))
}

func (c *course) title() string { return "goal: " + oneLine(c.goal, 4*detailWidth) }

// last words the end of a turn that ended badly without a word.
func (c *course) last(d eventData) []string {
	switch {
	case c.spoke:
	case d.State == "cancelled":
		return []string{"Cancelled."}
	case d.State == "failed" && d.Outcome != "" && d.Outcome != d.State:
		return []string{"It failed (" + inWords(d.Outcome) + "); /why says more."}
	case d.State == "failed":
		return []string{"It failed; /why says more."}
	}
	return nil
}

// open says that a task is not over.
func (t planTask) open() bool { return t.state == "" || t.state == "pending" || t.state == "running" }

// words says what a task does.
func (t planTask) words() string {
	name := cmp.Or(t.Tool, t.Type, "step")
	switch {
	case t.Type == "msg" && t.last:
		return "write the answer"
	case t.Type == "msg":
		return "send a message"
	case t.Type == "exec":
		name = "run a command"
	}
	detail := oneLine(t.Detail, detailWidth)
	switch {
	case detail == "":
		return oneLine(name, detailWidth)
	case t.Type == "exec":
		return name + ": " + detail
	}
	return strings.TrimSuffix(detail, ".")
}

// inWords is a code for people.
func inWords(code string) string { return oneLine(words.Code(code), detailWidth) }
